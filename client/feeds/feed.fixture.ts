// Feeds as texts, and what was read of them, for tests.

import type { FeedItem } from "./feed-item.ts";
import { type FeedOptions, readFeed } from "./read-feed.ts";

/** The bytes in pieces of `size`, so that every boundary falls somewhere. */
export async function* pieces(contents: string | Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function itemsOf(
  contents: string | Uint8Array,
  options: FeedOptions & { readonly size?: number } = {},
): Promise<readonly FeedItem[]> {
  const feed = await readFeed(pieces(contents, options.size), options);
  return await Array.fromAsync(feed.items);
}

export function recordOf(item: FeedItem | undefined): unknown {
  return item?.bytes ? (JSON.parse(new TextDecoder().decode(item.bytes)) as unknown) : null;
}

/** `attribute code` of every note. */
export function notesOf(item: FeedItem | undefined): readonly string[] {
  return (item?.notes ?? []).map(({ attribute, code }) => `${attribute} ${code}`);
}

export const merchantTsv = [
  "id\ttitle\tdescription\tlink\timage link\tprice\tsale price\tsale price effective date\tavailability\tbrand\tgtin\tgoogle product category\tproduct type\tcondition\tshipping(country:price)",
  "lamp-1\tDesk lamp, brass\tA heavy brass lamp.\thttps://lamps.example/1\thttps://lamps.example/1.jpg\t59.00 USD\t49.50 USD\t2026-11-01T00:00-0800/2026-12-01T00:00-0800\tin stock\tGlim\t4006381333931\t594\tHome > Lamps\tnew\tUS:4.00 USD,CA:9.00 USD",
  "lamp-2\tDesk lamp, used\tScratched.\thttps://lamps.example/2\t\t20 USD\t\t\tout_of_stock\tGlim\t4006381333932\tHome & Garden > Lighting > Lamps\t\tused\tUS:4.00 USD",
].join("\n");

export const merchantRss = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0">
  <channel>
    <title>Glim lamps</title>
    <link>https://lamps.example/</link>
    <language>en-us</language>
    <item>
      <g:id>lamp-1</g:id>
      <title>Desk lamp &amp; shade</title>
      <description><![CDATA[Brass & <glass>.]]></description>
      <link>https://lamps.example/1?a=1&amp;b=2</link>
      <g:image_link>https://lamps.example/1.jpg</g:image_link>
      <g:price>59.00 USD</g:price>
      <g:availability>in_stock</g:availability>
      <g:brand>Glim</g:brand>
      <g:google_product_category>Home &amp; Garden &gt; Lighting &gt; Lamps</g:google_product_category>
      <g:shipping><g:country>US</g:country><g:price>4.00 USD</g:price></g:shipping>
      <g:shipping><g:country>CA</g:country><g:price>9.00 USD</g:price></g:shipping>
    </item>
  </channel>
</rss>
`;

export const merchantAtom = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0" xml:lang="de">
  <title>Glim</title>
  <entry>
    <g:id>lamp-9</g:id>
    <title>Lampe</title>
    <summary>Aus Messing.</summary>
    <link href="https://lamps.example/9"/>
    <g:price>12.00 EUR</g:price>
    <g:availability>preorder</g:availability>
    <g:brand>Glim</g:brand>
    <g:google_product_category>594</g:google_product_category>
  </entry>
</feed>`;
