// Writes a file of products from the diamonds data set, for trying bulk pushes.
// Usage: node tools/run.mjs tools/diamonds.ts CSV[.gz] [--stones N] [--prefix TEXT] > stones.ndjson
// If more stones are requested than the set has, it is repeated; each stone gets its own id.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { diamondProduct, parseStones } from "../node/sandbox/diamonds.ts";

export interface StoneOrder {
  /** Text of the data set's CSV. */
  readonly csv: string;
  /** Number of stones; null means all there are. */
  readonly stones: number | null;
  /** Prefix of every business_product_id. */
  readonly prefix: string;
}

/** NDJSON text, one product per line; the same order always gives the same text. */
export function stonesNdjson({ csv, stones: wanted, prefix }: StoneOrder): string {
  const stones = parseStones(csv);
  const shop = { brand: "Lindqvist & Rowe", website: "https://lindqvist-rowe.example", idPrefix: prefix };
  const count = wanted ?? stones.length;
  const lines: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const stone = stones[index % stones.length];
    if (stone === undefined) throw new Error("The data set has no stones.");
    lines.push(`${JSON.stringify(diamondProduct(stone, index, shop))}\n`);
  }
  return lines.join("");
}

/** Text of a CSV file, optionally gzipped. */
export function readCsv(path: string): string {
  const contents = readFileSync(path);
  return (path.endsWith(".gz") ? gunzipSync(contents) : contents).toString("utf8");
}

if (import.meta.main) {
  const options = { stones: { type: "string" }, prefix: { type: "string", default: "STONE-" } } as const;
  const { positionals, values } = parseArgs({ options, allowPositionals: true });
  const [file] = positionals;
  if (file === undefined) {
    console.error("Usage: node tools/run.mjs tools/diamonds.ts CSV[.gz] [--stones N] [--prefix TEXT]");
    process.exitCode = 2;
  } else {
    const stones = values.stones === undefined ? null : Number(values.stones);
    process.stdout.write(stonesNdjson({ csv: readCsv(file), stones, prefix: values.prefix }));
  }
}
