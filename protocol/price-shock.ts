// What a push would do to the prices and listings of a catalogue (specification, «Limits»: price-shock hold), added up record
// by record. It concerns catalogues of 20 or more listings where more than 1/5 of prices changed, any price changed by more
// than 1/2, or more than 1/5 of listings were removed. A listing is (record, country). docs/pushes.md shows by examples what
// counts.
//   D1. A reason names at most {@link shockedListingsMax} listings, the largest changes first: another currency before all
//       amounts, then by the ratio of the change to the price before it, exactly. Among equals, the batch's order counts.

import { noteWork } from "../std/work.ts";
import { decimalOf, millionthsOf } from "./price-list.ts";
import { type HeldReason, type ShockedListing, shockedListingsMax } from "./wire/push.ts";

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

export interface ChangedRecord {
  readonly recordId: string;
  /** Its listings before the push, including pending pushes; empty for a new record. */
  readonly before: Listings;
  /**
   * The last prices of listings that were published once and may be gone: a price that reappears there is compared with
   * them, so that nothing is changed unseen by removing a listing first.
   */
  readonly former?: Listings;
  readonly after: Listings;
  /** The business's own id of the record; null if it is not known yet. */
  readonly ownId: string | null;
}

export class PriceShock {
  readonly #changed = new Largest();
  readonly #jumps = new Largest();
  readonly #removed = new Largest();

  /** Each record at most once, in the order of the batch. */
  add(record: ChangedRecord): void {
    for (const country of Object.keys(record.before)) this.#compare(record, country, record.before[country]);
    const { former = {}, before, after } = record;
    for (const country of Object.keys(after))
      if (before[country] === undefined) this.#compare(record, country, former[country]);
  }

  /** The reasons to hold the push; if there are none, it is published. */
  reasons(catalogueListings: number): readonly HeldReason[] {
    if (catalogueListings < holdThreshold) return [];
    const reason = (code: HeldReason["code"], found: Largest, detail: string): HeldReason => ({
      code,
      detail,
      count: found.count,
      of: catalogueListings,
      largest: found.kept.map(shockedListing),
    });
    const [changed, jumps, removed] = [this.#changed, this.#jumps, this.#removed];
    const fifth = catalogueListings / 5;
    const [first] = jumps.kept;
    return [
      ...(changed.count > fifth
        ? [
            reason(
              "price_changes",
              changed,
              `${changed.count} of ${catalogueListings} prices would change, more than one fifth.`,
            ),
          ]
        : []),
      ...(first === undefined
        ? []
        : [
            reason(
              "price_jump",
              jumps,
              `${jumps.count} ${jumps.count === 1 ? "price" : "prices"} would change by more than half, the largest ${first.recordId} in ${first.country}.`,
            ),
          ]),
      ...(removed.count > fifth
        ? [
            reason(
              "listings_removed",
              removed,
              `${removed.count} of ${catalogueListings} listings would be removed, more than one fifth.`,
            ),
          ]
        : []),
    ];
  }

  #compare({ recordId, after, ownId }: ChangedRecord, country: string, was: Price | undefined): void {
    noteWork("price", 1);
    const becomes = after[country];
    if (!was) return;
    const listing = { recordId, ownId, country, was };
    if (!becomes) {
      this.#removed.add({ ...listing, becomes: null, change: null, from: 0n });
      return;
    }
    if (was[0] === becomes[0] && was[1] === becomes[1]) return;
    const from = millionthsOf(was[0]);
    const to = millionthsOf(becomes[0]);
    const isComparable = was[1] === becomes[1];
    if (isComparable && from === to) return;
    const change = isComparable ? to - from : null;
    const changed = { ...listing, becomes, change, from };
    this.#changed.add(changed);
    // A price in another currency cannot be compared, so it counts as a jump and a person reviews it.
    if (change === null || sizeOf(change) * 2n > from) this.#jumps.add(changed);
  }
}

/** The reasons without the listings of one record; the same array if none is named. The counts stay. */
export function withoutRecord(reasons: readonly HeldReason[], recordId: string): readonly HeldReason[] {
  const isOther = ({ record_id }: ShockedListing): boolean => record_id !== recordId;
  if (reasons.every(({ largest = [] }) => largest.every(isOther))) return reasons;
  return reasons.map((each) =>
    each.largest === undefined ? each : { ...each, largest: each.largest.filter(isOther) },
  );
}

type Price = Listings[string];

interface ChangedListing {
  readonly recordId: string;
  readonly ownId: string | null;
  readonly country: string;
  readonly was: Price;
  readonly becomes: Price | null;
  /** In millionths; null for another currency or a removal. */
  readonly change: bigint | null;
  /** The price before, in millionths. */
  readonly from: bigint;
}

/** Counts changes, and keeps the largest of them (D1). */
class Largest {
  count = 0;
  readonly kept: ChangedListing[] = [];

  add(change: ChangedListing): void {
    this.count += 1;
    const last = this.kept[shockedListingsMax - 1];
    if (last !== undefined && !isLarger(change, last)) return;
    const place = this.kept.findIndex((each) => isLarger(change, each));
    this.kept.splice(place < 0 ? this.kept.length : place, 0, change);
    if (this.kept.length > shockedListingsMax) this.kept.pop();
  }
}

/** Compares |change| / from without dividing; a change from zero is larger than any other amount. */
function isLarger(a: ChangedListing, b: ChangedListing): boolean {
  if (a.change === null || b.change === null) return a.change === null && b.change !== null;
  if (a.from === 0n && b.from === 0n) return sizeOf(a.change) > sizeOf(b.change);
  return sizeOf(a.change) * b.from > sizeOf(b.change) * a.from;
}

function sizeOf(change: bigint): bigint {
  return change < 0n ? -change : change;
}

function shockedListing({ recordId, ownId, country, was, becomes, change }: ChangedListing): ShockedListing {
  return {
    record_id: recordId,
    business_product_id: ownId,
    country,
    before: priceOf(was),
    after: becomes && priceOf(becomes),
    change: change === null ? null : decimalOf(change),
  };
}

function priceOf([amount, currency]: Price): { readonly amount: string; readonly currency: string } {
  return { amount, currency };
}
