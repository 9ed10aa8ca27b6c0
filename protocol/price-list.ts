// What an operator charges AI companies: the price of a search in each collection, and of a fetch.
// Also the arithmetic of amounts of money.
//   PL1. The price of an answer is that of the version in force when it was served, on every node and at any later time.

import { type CollectionName, formatTimestamp } from "./identifiers.ts";

export interface PriceVersion {
  readonly version: number;
  /** ISO 8601; in force until the `effective_from` of a later version. */
  readonly effective_from: string;
  /** Millionths of the currency's unit. */
  readonly search: Readonly<Record<CollectionName, number>>;
  readonly fetch: number;
}

export interface PriceList {
  /** ISO 4217. */
  readonly currency: string;
  /** Oldest first. */
  readonly versions: readonly PriceVersion[];
}

export interface Priced {
  readonly kind: "search" | "fetch";
  /** Null for a fetch. */
  readonly collection: string | null;
  /** When it was served, in Unix milliseconds. */
  readonly atMs: number;
}

/** In millionths of the currency's unit; 0 before the first version, and for what has no price. */
export function priceOf({ versions }: PriceList, { kind, collection, atMs }: Priced): number {
  const at = formatTimestamp(atMs);
  const version = versions.findLast(({ effective_from }) => effective_from <= at);
  if (version === undefined) return 0;
  if (kind === "fetch") return version.fetch;
  const prices: Readonly<Record<string, number>> = version.search;
  return collection === null ? 0 : (prices[collection] ?? 0);
}

// Amounts of money are decimal strings with at most six decimals. Doubles cannot tell some of them apart: as doubles, half
// of 4.30 is less than 6.45 - 4.30, and 999999999999999.000001 equals 999999999999999.000002.

/** The exact number of millionths in a decimal string. Accepts only what `isDecimal` accepts. */
export function millionthsOf(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

/** The shortest decimal string of a number of millionths, with a minus sign if it is negative. */
export function decimalOf(millionths: bigint): string {
  const size = (millionths < 0n ? -millionths : millionths).toString().padStart(7, "0");
  const fraction = size.slice(-6).replace(/0+$/, "");
  return `${millionths < 0n ? "-" : ""}${size.slice(0, -6)}${fraction === "" ? "" : `.${fraction}`}`;
}
