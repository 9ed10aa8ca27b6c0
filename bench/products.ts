// Products to fill a catalogue with: stones of the sandbox's sample, varied so that no two are alike. The same number
// always gives the same product.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stoneShop } from "../node/sandbox/diamond-merchant.ts";
import { diamondProduct, parseStones, type Stone } from "../node/sandbox/diamonds.ts";
import { canonicalBytes } from "../protocol/canonical-json.ts";

const slice = join(import.meta.dirname, "../node/sandbox/data/diamonds-slice.csv");
let stones: readonly Stone[] | null = null;
/** Distinct from the sample's own numbers. */
const shop = { ...stoneShop, idPrefix: "LB-" };

/** Exact record bytes of product `index` (from 0). */
export function productBytes(index: number): Uint8Array {
  stones ??= parseStones(readFileSync(slice, "utf8"));
  const stone = stones[index % stones.length];
  if (stone === undefined) throw new Error("the sample has no stones");
  const round = Math.floor(index / stones.length);
  const carat = (Number(stone.carat) + (round % 40) / 100).toFixed(2);
  const price = String(Number(stone.price) + ((round * 37) % 4_001));
  return canonicalBytes(diamondProduct({ ...stone, carat, price }, index, shop));
}

/** `business_product_id` of product `index`. */
export function productId(index: number): string {
  return `${shop.idPrefix}${String(index + 1).padStart(6, "0")}`;
}
