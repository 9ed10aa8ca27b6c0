// The prices of AI companies: a file of the operator's (`SVC_PRICES`), the same on every node.

import { millionthsOf } from "../protocol/money.ts";
import type { PriceList } from "../protocol/price-list.ts";
import { integer, list, matching, type Of, object, timestamp } from "../protocol/shape.ts";
import { readVersionedFile } from "./versioned-file.ts";

/** An amount in units of the currency, less than ten thousand. */
const price = matching(/^(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,6})?$/, 'an amount below 10000 such as "0.0025"');

const search = object({
  products: price,
  business_files: price,
  events: price,
  jobs: price,
  updates: price,
});

const priceFile = object({
  currency: matching(/^[A-Z]{3}$/, "an ISO 4217 code such as EUR"),
  versions: list(
    object({
      version: integer({ min: 1, max: 1_000_000 }),
      effective_from: timestamp,
      search,
      fetch: price,
    }),
    { min: 1, max: 1_000 },
  ),
});

/** Reads the price list. Throws `ConfigError`, which names the place in the file. */
export async function loadPrices(path: string): Promise<PriceList> {
  const { currency, versions } = await readVersionedFile(priceFile, { setting: "SVC_PRICES", path });
  return {
    currency,
    versions: versions.map((version) => ({
      version: version.version,
      effective_from: version.effective_from,
      search: pricesOf(version.search),
      fetch: Number(millionthsOf(version.fetch)),
    })),
  };
}

function pricesOf(given: Of<typeof search>): PriceList["versions"][number]["search"] {
  const { products, business_files, events, jobs, updates } = given;
  const millionths = (amount: string): number => Number(millionthsOf(amount));
  return {
    products: millionths(products),
    business_files: millionths(business_files),
    events: millionths(events),
    jobs: millionths(jobs),
    updates: millionths(updates),
  };
}
