// A business's feeds in every format: whatever the bytes are, reading ends with items or with a fault of the file, in the same
// way however the bytes arrive; and what is sealed is a record that can be sealed.

import { FeedError, type FeedItem } from "../../client/feeds/feed-item.ts";
import type { FeedMapping } from "../../client/feeds/feed-mapping.ts";
import { readFeed } from "../../client/feeds/read-feed.ts";
import { productFaults } from "../../client/product-check.ts";
import { type FuzzTarget, must, mustEqual } from "./target.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const mapping: FeedMapping = {
  v: 1,
  defaults: {
    language: "en",
    countries: ["US"],
    brand: "B",
    availability: "in_stock",
    short_description: "S",
    product_url: "https://shop.example/",
    category: "books",
  },
};
const nowMs = Date.parse("2026-11-22T12:00:00Z");

const rss = `<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><language>en</language><item><g:id>1</g:id><title>T &amp; U</title><description><![CDATA[D]]></description><link>https://shop.example/1</link><g:price>5.00 USD</g:price><g:sale_price>4 USD</g:sale_price><g:gtin>4006381333931</g:gtin><g:shipping><g:country>US</g:country></g:shipping><g:google_product_category>784</g:google_product_category></item></channel></rss>`;

export const feed: FuzzTarget = {
  name: "feed",
  seeds: [
    rss,
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><entry><g:id>1</g:id><title>T</title><link href="https://shop.example/1"/><g:price>5 USD</g:price></entry></feed>',
    "id\ttitle\tprice\tshipping(country:price)\n1\tT\t5 USD\tUS:1 USD,CA:2 USD\n",
    '[{"business_product_id":"1"},{"a":[1,{"b":"]"}]}]',
    '{"business_product_id":"1"}\n{"a":1}',
    "business_product_id,price_US,price_currency_US\n1,5,USD\n",
    '{"@type":"Product","sku":"1","name":"T","offers":{"price":5,"priceCurrency":"USD","availability":"InStock"}}',
    '{\n"@graph":[\n{"@type":"Product","sku":"1","name":"T"}]}',
  ].map(utf8),
  words: [
    "<item>",
    "</item>",
    "<entry>",
    "<!DOCTYPE rss>",
    "<!ENTITY a 'b'>",
    "&a;",
    "&#x10;",
    "]]>",
    "<![CDATA[",
    "xmlns:g=",
    "\t",
    "\n",
    ",",
    '"',
    "USD",
    "[",
    "]",
    "{",
    "}",
    "\u{1f48e}",
    '"@type":"Product"',
    '"@graph":',
  ],
  check: async (input) => {
    const whole = await outcome(input, input.length);
    const slowly = await outcome(input, 3);
    // Which of several faults is found first depends on how the bytes arrive.
    mustEqual(slowly.items, whole.items, "the items of three bytes at a time");
    mustEqual(slowly.fault === null, whole.fault === null, "whether three bytes at a time are faulty");
    for (const item of whole.items) {
      must(
        (item.bytes === null) === item.notes.some(({ effect }) => effect === "item_left_out"),
        "a loss without a note",
      );
      if (whole.isMerchant && item.text !== null)
        mustEqual(productFaults(utf8(item.text)), [], "the faults of a product that was mapped");
    }
    return whole.fault === null
      ? `ok ${Math.min(3, whole.items.length)}`
      : whole.fault.replaceAll(/"[^"]*"|[0-9]+/g, "#").slice(0, 60);
  },
};

type Read = Pick<FeedItem, "bytes" | "notes" | "place"> & { readonly text: string | null };

async function outcome(input: Uint8Array, size: number) {
  const items: Read[] = [];
  let isMerchant = false;
  try {
    const { items: found, format } = await readFeed(pieces(input, Math.max(1, size)), { mapping, nowMs });
    isMerchant = format.startsWith("merchant");
    for await (const { bytes, notes, place } of found)
      items.push({ bytes, notes, place, text: bytes === null ? null : new TextDecoder().decode(bytes) });
    return { items, isMerchant, fault: null };
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    // Of a faulty file nothing is used, so how many items were read before the fault does not matter.
    return { items: [], isMerchant: false, fault: error.message };
  }
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
