// A feed of 100,000 items, read and judged without the service: in seconds of processor time, and in memory that does not
// follow the size of the file.

import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runNode } from "../tools/process.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-feed-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const text =
  "A heavy desk lamp of brass with a linen shade &amp; a switch in its cord, made by hand in small numbers. ".repeat(
    2,
  );

function* merchantFeed(items: number): Generator<string> {
  yield `<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Lamps</title><link>https://lamps.example/</link><language>en</language>\n`;
  for (let index = 0; index < items; index += 1)
    yield `<item><g:id>lamp-${index}</g:id><title>Desk lamp ${index}</title><description>${text}</description>
<link>https://lamps.example/p/${index}?a=1&amp;b=2</link><g:image_link>https://lamps.example/i/${index}.jpg</g:image_link>
<g:price>${10 + (index % 500)}.50 EUR</g:price><g:availability>in_stock</g:availability><g:brand>Glim</g:brand>
<g:google_product_category>594</g:google_product_category><g:product_type>Home &gt; Lamps</g:product_type><g:condition>new</g:condition>
<g:shipping><g:country>DE</g:country><g:price>4.90 EUR</g:price></g:shipping></item>\n`;
  yield "</channel></rss>\n";
}

const reportUsage = `data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>process.stderr.write('\\nusage '+JSON.stringify(process.resourceUsage())+'\\n'))",
)}`;

/** Processor time and peak resident memory of `svc push FILE --check`. */
async function check(items: number) {
  const file = join(home, `${items}.xml`);
  await pipeline(merchantFeed(items), createWriteStream(file));
  const checked = await runNode([
    "--import",
    reportUsage,
    "cli/main.ts",
    "push",
    file,
    "--check",
    "--home",
    home,
  ]);
  expect(checked.code, checked.output).toBe(0);
  expect(checked.output).toContain(`${items.toLocaleString("en")} products, 0 with faults.`);
  const usage = JSON.parse(/usage (.*)/.exec(checked.output)?.[1] ?? "") as NodeJS.ResourceUsage;
  return {
    seconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    peakMib: usage.maxRSS / 1024,
  };
}

it("is judged in seconds, with bounded memory", { timeout: 300_000 }, async () => {
  const small = await check(10_000);
  const large = await check(100_000);
  expect(large.seconds).toBeLessThan(30);
  expect(large.peakMib).toBeLessThan(512);
  // Of an item its leaf, its length, its place and its id are kept; its bytes are on the disk.
  expect(large.peakMib - small.peakMib).toBeLessThan(256);
});
