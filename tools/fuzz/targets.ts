// All targets, and inputs that failed once and must never fail again.

import { type MultipartEvent, MultipartFault, MultipartReader } from "../../api/multipart.ts";
import { FeedError, type FeedItem } from "../../client/feeds/feed-item.ts";
import type { FeedMapping } from "../../client/feeds/feed-mapping.ts";
import { readFeed } from "../../client/feeds/read-feed.ts";
import { productFaults } from "../../client/product-check.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { imageMediaTypes, imageTypeOf } from "../../protocol/image-type.ts";
import { recordCharactersMax } from "../../protocol/limits.ts";
import { judgeStructure } from "../../service/ads/ad-images.ts";
import { isRefused } from "../../service/answer.ts";
import { RecordLines } from "../../service/publishing/bulk-file.ts";
import { documentTargets } from "./document-targets.ts";
import { feedFacts } from "./feed-facts-target.ts";
import { httpTargets } from "./http-targets.ts";
import { otherTargets } from "./other-targets.ts";
import { signedFileTargets } from "./signed-file-targets.ts";
import { type FuzzTarget, must, mustEqual } from "./target.ts";
import { work } from "./work-target.ts";

// What a bulk file is read with: the form that it arrives in, and its lines. Whatever the bytes are, reading ends with what they
// contain or with the first fault, and it is the same however they were split on their way. The first bytes of an input say how.

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1");

/** Number of the first bytes of an input that are the lengths of the pieces, in turn. */
const lengths = 3;
const pieced = "\u0001\u0007\u0028";
const byteByByte = "\u0000\u0000\u0000";

function split(input: Uint8Array): { readonly body: Uint8Array; readonly pieces: readonly number[] } {
  return {
    body: input.subarray(lengths),
    pieces: Array.from(input.subarray(0, lengths), (each) => each + 1),
  };
}

function* inPieces(body: Uint8Array, pieces: readonly number[]): Generator<Uint8Array> {
  let from = 0;
  for (let turn = 0; from < body.length; turn += 1) {
    const to = from + (pieces[turn % pieces.length] ?? body.length);
    yield body.subarray(from, to);
    from = to;
  }
}

const boundary = "b";
const head = 'Content-Disposition: form-data; name="file"';
const formSplit = (lengthsOf: string, ...parts: readonly string[]): Uint8Array =>
  latin1(`${lengthsOf}${parts.map((each) => `--b\r\n${each}\r\n`).join("")}--b--\r\n`);
const form = (...parts: readonly string[]): Uint8Array => formSplit(pieced, ...parts);
const longHead = (length: number): string => `${head}\r\nContent-Type: `.padEnd(length, "x");

interface Form {
  readonly parts: readonly { name: string; value: string }[];
  readonly fault: string | null;
}

const bytes = (latin1: string): Uint8Array => Uint8Array.from(latin1, (character) => character.charCodeAt(0));

const multipart: FuzzTarget = {
  name: "multipart",
  seeds: [
    form(`${head}\r\n\r\nAAAA\n`),
    form('Content-Disposition: form-data; name="upload"\r\n\r\nbut', `${head}\r\n\r\n\r\n--c\r\n-`),
    form(`${head}; filename="a.ndjson"\r\nContent-Type: text/plain\r\n\r\n`),
    form(`${head}\r\n`),
    // The longest heads: a byte more is refused.
    ...[4_095, 4_096, 4_097].map((length) => formSplit(byteByByte, `${longHead(length)}\r\n\r\nx`)),
  ],
  words: ["\r\n", "\r", "\n", "--", "--b", "\r\n--b", "\r\n--b--\r\n", "\r\n\r\n", head, 'name="', '"', "; "],
  check: (input) => {
    const { body, pieces } = split(input);
    const whole = formOf(body, [body.length]);
    mustEqual(formOf(body, pieces), whole, "the form in pieces");
    if (whole.fault === null) mustEqual(whole.parts, partsOf(body), "the parts");
    return whole.fault ?? `ok ${Math.min(3, whole.parts.length)}`;
  },
};

function formOf(body: Uint8Array, pieces: readonly number[]): Form {
  const reader = new MultipartReader(boundary);
  const parts: { name: string; value: string }[] = [];
  const add = (event: MultipartEvent): void => {
    const last = parts.at(-1);
    if (event.kind === "part") parts.push({ name: event.name, value: "" });
    else if (last === undefined) throw new Error("There are bytes before the first part.");
    else last.value += Buffer.from(event.bytes).toString("latin1");
  };
  try {
    for (const piece of inPieces(body, pieces)) for (const event of reader.take(piece)) add(event);
    reader.end();
    return { parts, fault: null };
  } catch (error) {
    if (!(error instanceof MultipartFault)) throw error;
    // Of a form with a fault nothing is used, so how much of a value was read before it does not matter.
    return { parts: [], fault: error.message };
  }
}

/** The parts of a valid body, by the grammar alone: it is cut at every delimiter. */
function partsOf(body: Uint8Array): Form["parts"] {
  const between = `\r\n${Buffer.from(body).toString("latin1")}`.split(`\r\n--${boundary}`).slice(1, -1);
  return between.map((part) => {
    const end = `${part}\r\n`.indexOf("\r\n\r\n");
    const name = /; *name="([^"]*)"/i.exec(part.slice(0, end))?.[1] ?? "";
    return { name, value: part.slice(end + 4) };
  });
}

/** Stands for as many characters as the longest record has, which no mutation would write. */
const longest = "\u00ff";

const recordLines: FuzzTarget = {
  name: "record-lines",
  seeds: [
    "eyJhIjoxfQ==\n",
    "eyJhIjoxfQ==\nAAAA\nAA==\n",
    "AAAA\r\nAAAA\n",
    "AAAA\n\nAAAA",
    `AAAA\n${longest}\n`,
    `${longest}A\nAAAA\n`,
    `${longest}\r\n`,
    `${longest}A\r\n`,
  ].map((lines) => latin1(`${pieced}${lines}`)),
  words: ["\n", "\r\n", "=", "==", "AAAA", "-_", "{}", "\u00ef\u00bb\u00bf", "\u00c3\u00a4", longest],
  check: (input) => {
    const { body: short, pieces } = split(input);
    const body = latin1(
      Buffer.from(short).toString("latin1").replace(longest, "A".repeat(recordCharactersMax)),
    );
    const whole = linesOf(body, [body.length]);
    mustEqual(linesOf(body, pieces), whole, "the lines in pieces");
    if (whole.fault === null)
      must(
        // The last line may lack its end.
        [whole.records.join("\n"), `${whole.records.join("\n")}\n`].some(
          (each) => latin1(each).toHex() === body.toHex(),
        ),
        "the records are not the file",
      );
    return whole.fault ?? `ok ${Math.min(3, whole.records.length)}`;
  },
};

function linesOf(body: Uint8Array, pieces: readonly number[]) {
  const lines = new RecordLines();
  const records: string[] = [];
  const faulty = (reason: unknown) => ({ records: [], count: lines.count, fault: JSON.stringify(reason) });
  for (const piece of inPieces(body, pieces)) {
    for (const taken of lines.take(piece)) {
      // A file with a fault is not kept, so what was read of it before does not matter.
      if (isRefused(taken)) return faulty(taken.problem);
      records.push(toBase64(taken));
    }
  }
  const end = lines.end();
  if (isRefused(end)) return faulty(end.problem);
  return { records: [...records, ...end.map(toBase64)], count: lines.count, fault: null };
}

const bulkTargets: readonly FuzzTarget[] = [multipart, recordLines];

// Images of ads: their type and their outer structure, before a decoder sees them.

const image: FuzzTarget = {
  name: "image",
  seeds: [
    bytes("\x89PNG\r\n\x1a\n\0\0\0\x04IHDR\0\0\0\x01crc \0\0\0\x01IDAT\x09crc \0\0\0\0IEND\xae\x42\x60\x82"),
    bytes("\xff\xd8\xff\xe0\0\x04ab\xff\xda\0\x03x12\xff\x00\xff\xd0\x34\xff\xd9"),
    bytes("RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0abcde\0"),
    bytes("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0"),
  ],
  words: ["IHDR", "IDAT", "IEND", "acTL", "VP8 ", "ANIM", "\u0000"],
  check: (input) => {
    const type = imageTypeOf(input);
    if (type === null) return "none";
    must(imageMediaTypes.includes(type), "a type that is not taken");
    const structure = judgeStructure(input, type);
    if (structure !== "whole") return `${type} ${structure}`;
    // What is whole is cut off without its last byte, and followed by something with one more.
    must(judgeStructure(input.subarray(0, -1), type) !== "whole", "an image without its end");
    const longer = new Uint8Array(input.length + 1);
    longer.set(input);
    must(judgeStructure(longer, type) === "followed", "an image with something behind it");
    return `${type} whole`;
  },
};

// A business's feeds in every format: whatever the bytes are, reading ends with items or with a fault of the file, in the same
// way however the bytes arrive; and what is sealed is a record that can be sealed.

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

const feed: FuzzTarget = {
  name: "feed",
  seeds: [
    rss,
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><entry><g:id>1</g:id><title>T</title><link href="https://shop.example/1"/><g:price>5 USD</g:price></entry></feed>',
    "id\ttitle\tprice\tshipping(country:price)\n1\tT\t5 USD\tUS:1 USD,CA:2 USD\n",
    '[{"business_product_id":"1"},{"a":[1,{"b":"]"}]}]',
    '{"business_product_id":"1"}\n{"a":1}',
    "business_product_id,price_US,price_currency_US\n1,5,USD\n",
    "business_product_id,brand\r\n1,x\r\n2,y\r\n",
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
    "\r\n",
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

export const fuzzTargets: readonly FuzzTarget[] = [
  ...httpTargets,
  ...documentTargets,
  ...otherTargets,
  ...bulkTargets,
  ...signedFileTargets,
  feed,
  feedFacts,
  image,
  work,
];

/** Base64 inputs by target. */
const regressions: Readonly<Record<string, readonly string[]>> = {
  // A number with leading zeros: the last line of the signature base is the list as RFC 8941 §4.1 serializes it.
  "signature-headers": [
    "c2lnMT0oIkAiKTtjcmVhdGVkPTAwO2V4cGlyZXM9MDtub25jZT0iYWJjZGVmZ2hpamtsbW5vcCI7a2V5aWQ9IiI7dGFnPSJzdmMtcHVzaCIKc2lnMT06QUFBQTo=",
  ],
  // An infinite number that a later member of the same name hides from `JSON.parse`.
  "strict-json": [
    "eyIiOltdLCJiIjp7ImMiOm51bGwsIiI6Ilx1ZDgzZFx1ZGUwMCJ9LCJhICI6MWU5OTksIiI6eyIiOm51bGwsIiI6IiJ9LCJhICI6IiJ9",
  ],
  // An IPv4 address in front of «::» is not an address.
  "source-address": ["MC4xLjIuMzo6Cjo6LzA="],
};

export function regressionsOf(target: string): readonly Uint8Array[] {
  return (regressions[target] ?? []).map((each) => Uint8Array.fromBase64(each));
}
