import { noteWork } from "../std/work.ts";

/** Prices by country: `{US: ["9.99", "USD"]}`. A listing is a (record, country) pair. */
export type Listings = Readonly<Record<string, readonly [amount: string, currency: string]>>;

/**
 * The listings in a product record's `prices`; members that are not prices are skipped (specification, «Product record»).
 */
export function listingsOf(record: unknown): Listings {
  const prices = (record as { prices?: unknown } | null)?.prices;
  if (!Array.isArray(prices)) return {};
  noteWork("value", prices.length);
  const listings: Record<string, readonly [string, string]> = {};
  for (const price of prices as { country?: unknown; amount?: unknown; currency?: unknown }[]) {
    if (
      typeof price?.country === "string" &&
      typeof price.amount === "string" &&
      typeof price.currency === "string"
    ) {
      listings[price.country] = [price.amount, price.currency];
    }
  }
  return listings;
}

/** Catalogues with fewer listings than this are never held (specification, «Limits»: price-shock hold). */
export const holdThreshold = 20;
