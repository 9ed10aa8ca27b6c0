// Port: how often businesses were shown and fetched, and which subjects were asked for, by day.
// Every implementation passes storage/insight-store.conformance.ts.
//
// Obligations of an implementation:
//   I1. A count is the total of one writer so far, and `put` keeps the highest: repeating a put, or putting a lower count
//       late, changes nothing. After an unknown outcome it is therefore simply repeated, and nothing is counted twice.
//   I2. Once `put` has returned, the reads of its region show the count, even after the loss of any process. Other regions
//       show it eventually: each has the counts of all.
//   I3. Counts of different writers, days, countries, collections, companies and names never touch each other.
//   I4. `forget` removes what is of earlier days, at most `limit` at a time; no other call does. An implementation whose
//       counts expire on their own has nothing to do.

import type { CollectionName } from "../protocol/identifiers.ts";

export const insightKinds = ["shown", "demand"] as const;
/** `shown`: of a business. `demand`: of a subject that was asked for. */
export type InsightKind = (typeof insightKinds)[number];

export interface InsightCount {
  /** The business's uuid, or the subject. */
  readonly name: string;
  /** `YYYY-MM-DD` in UTC. */
  readonly day: string;
  /** Empty for a fetch, which names no country. */
  readonly country: string;
  readonly collection: CollectionName;
  /** The uuid of the AI company that asked. */
  readonly company: string;
  /** Who counts. A name is never used again by anybody who begins at zero. */
  readonly writer: string;
  /** Searches that showed the business, or named the subject. */
  readonly searches: number;
  /** Rows of the business in these searches. */
  readonly rows: number;
  readonly fetches: number;
}

/** The subjects that were asked for in one collection, in one country, on one day. */
export interface DemandPlace {
  readonly day: string;
  readonly country: string;
  readonly collection: CollectionName;
}

export interface InsightStore {
  /** Throws {@link StoreError}; what was put by then may or may not be stored. */
  put(kind: InsightKind, counts: readonly InsightCount[]): Promise<void>;
  /** The counts of a business from `fromDay` to `toDay`, both included, in no particular order. */
  readShown(business: string, fromDay: string, toDay: string): Promise<readonly InsightCount[]>;
  readDemand(place: DemandPlace): Promise<readonly InsightCount[]>;
  /** Returns how many counts of days before `day` were removed; fewer than `limit` means that none is left (I4). */
  forget(day: string, limit: number): Promise<number>;
}

/** What a count amounts to; it grows with every change. */
export function totalOf({ searches, rows, fetches }: InsightCount): number {
  return searches + rows + fetches;
}
