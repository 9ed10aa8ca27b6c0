// What a company used: its receipts, counted. Every adapter counts with the same function.

import { formatTimestamp } from "../protocol/identifiers.ts";
import { type ReceiptFacts, receiptFacts } from "../protocol/receipt-event.ts";

/** The receipts of one key and UTC day that are alike, as numbers. */
export interface UsageCount {
  /** `YYYY-MM-DD`, UTC, of `served_at`. */
  readonly day: string;
  readonly key_id: string;
  readonly kind: ReceiptFacts["kind"];
  readonly collection: string | null;
  readonly country: string | null;
  /** Receipts, and those of them that are billable. */
  readonly requests: number;
  readonly billable: number;
  /** Rows that they state. */
  readonly rows: number;
}

/** What is counted of a receipt. */
export interface CountedReceipt {
  readonly company: string;
  readonly key_id: string;
  readonly billable: boolean;
  readonly served_at_ms: number;
  readonly event: string;
}

/** Counts of one receipt. */
export function usageOf(receipt: CountedReceipt): UsageCount {
  const { kind, collection, country, rows } = receiptFacts(receipt);
  const { key_id, billable } = receipt;
  const day = usageDay(receipt.served_at_ms);
  return { day, key_id, kind, collection, country, requests: 1, billable: billable ? 1 : 0, rows };
}

/** The counts of each company that these receipts were given to. */
export function countReceipts(
  receipts: readonly CountedReceipt[],
): ReadonlyMap<string, readonly UsageCount[]> {
  const counts = [...Map.groupBy(receipts, ({ company }) => company)].map(
    ([company, of]) => [company, addUsage(of.map(usageOf))] as const,
  );
  return new Map(counts);
}

/** Adds the counts of some receipts to those of others. */
export function addCounts(
  counts: ReadonlyMap<string, readonly UsageCount[]>,
  more: ReadonlyMap<string, readonly UsageCount[]>,
): ReadonlyMap<string, readonly UsageCount[]> {
  const sums = new Map(counts);
  for (const [company, of] of more) sums.set(company, addUsage([...(counts.get(company) ?? []), ...of]));
  return sums;
}

/** Adds up what is alike, in ascending order of day, key, kind, collection and country. */
export function addUsage(counts: Iterable<UsageCount>): readonly UsageCount[] {
  const sums = new Map<string, UsageCount>();
  for (const each of counts) {
    const name = [each.day, each.key_id, each.kind, each.collection ?? "", each.country ?? ""].join(" ");
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? each : added(sum, each));
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function added(sum: UsageCount, each: UsageCount): UsageCount {
  return {
    ...sum,
    requests: sum.requests + each.requests,
    billable: sum.billable + each.billable,
    rows: sum.rows + each.rows,
  };
}

/** The UTC day of an instant. */
export function usageDay(ms: number): string {
  return formatTimestamp(ms).slice(0, 10);
}
