// Prices of a merchant feed: `19.99 USD`, and a sale price that may hold for a time only.

import { millionthsOf } from "../../protocol/price-list.ts";
import { currencies } from "../../protocol/records/vocabularies/currencies.ts";
import { readAmount } from "./feed-values.ts";

export interface MerchantPrice {
  readonly amount: string;
  readonly currency: string;
}

const priceForm = /^([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([A-Z]{3})$/;

/** A decimal number with a point, followed by an ISO 4217 currency; for anything else, what is wrong with it. */
export function parsePrice(text: string): MerchantPrice | { readonly fault: string } {
  const [, written, currency] = priceForm.exec(text.trim()) ?? [];
  if (written === undefined || currency === undefined)
    return {
      fault:
        "Must be an amount and a currency, such as 1299.90 USD: a point before decimals, no mark for thousands.",
    };
  if (!currencies.codes.has(currency)) return { fault: `${currency} is not a currency of ISO 4217.` };
  const amount = readAmount(written, { currency });
  if (amount.fault !== null) return { fault: amount.fault };
  return { amount: amount.value.replace(/^0+(?=[0-9])/, ""), currency };
}

/** True if the sale price is in the same currency and lower. */
export function isReduction(sale: MerchantPrice, price: MerchantPrice): boolean {
  return sale.currency === price.currency && millionthsOf(sale.amount) < millionthsOf(price.amount);
}

/**
 * `start/end` (ISO 8601) as Unix milliseconds; null for anything else. An end that is a day alone is the end of that day.
 */
export function parsePeriod(text: string): { readonly fromMs: number; readonly untilMs: number } | null {
  const [from = "", until = "", ...more] = text.split("/");
  const fromMs = parseInstant(from);
  const untilMs = parseInstant(until, "end");
  return more.length > 0 || fromMs === null || untilMs === null ? null : { fromMs, untilMs };
}

const instantForm =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ]([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)? ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$/i;
const dayMs = 86_400_000;

/**
 * A time of ISO 8601 as Unix milliseconds, such as `2026-11-27T08:00-0800`; without an offset it is UTC. A day alone is its
 * start or, where `of` says so, its end. Null for anything else, and for days that no calendar has.
 */
export function parseInstant(text: string, of: "start" | "end" = "start"): number | null {
  const [, date, hours, minutes = "00", seconds = "00", fraction = "", offset = "Z"] =
    instantForm.exec(text.trim()) ?? [];
  if (date === undefined) return null;
  const day = date.replace(/^([0-9]{4})([0-9]{2})([0-9]{2})$/, "$1-$2-$3");
  const midnightMs = Date.parse(`${day}T00:00:00Z`);
  // Date.parse takes the 30th of February for the 2nd of March.
  if (Number.isNaN(midnightMs) || new Date(midnightMs).toISOString().slice(0, 10) !== day) return null;
  if (hours === undefined) return midnightMs + (of === "end" ? dayMs : 0);
  const zone = offset
    .toUpperCase()
    .replace(/^([+-][0-9]{2}):?([0-9]{2})?$/, (_, hour, minute = "00") => `${hour}:${minute}`);
  const atMs = Date.parse(
    `${day}T${hours}:${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}${zone}`,
  );
  return Number.isNaN(atMs) ? null : atMs;
}
