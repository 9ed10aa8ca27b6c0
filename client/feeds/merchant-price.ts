// Prices of a merchant feed: `19.99 USD`, and a sale price that may hold for a time only.

import { millionthsOf } from "../../protocol/money.ts";
import { currencies } from "../../protocol/records/vocabularies/currencies.ts";

export interface MerchantPrice {
  readonly amount: string;
  readonly currency: string;
}

const priceForm = /^([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([A-Z]{3})$/;

/** Null for anything but a decimal number with a point, followed by an ISO 4217 currency. */
export function parsePrice(text: string): MerchantPrice | null {
  const [, amount, currency] = priceForm.exec(text.trim()) ?? [];
  if (amount === undefined || currency === undefined || !currencies.codes.has(currency)) return null;
  return { amount: amount.replace(/^0+(?=[0-9])/, ""), currency };
}

/** True if the sale price is in the same currency and lower. */
export function isReduction(sale: MerchantPrice, price: MerchantPrice): boolean {
  return sale.currency === price.currency && millionthsOf(sale.amount) < millionthsOf(price.amount);
}

/** `start/end` (ISO 8601 with an offset) as Unix milliseconds; null for anything else. */
export function parsePeriod(text: string): { readonly fromMs: number; readonly untilMs: number } | null {
  const [from = "", until = "", ...more] = text.split("/");
  const fromMs = parseInstant(from);
  const untilMs = parseInstant(until);
  return more.length > 0 || fromMs === null || untilMs === null ? null : { fromMs, untilMs };
}

const instantForm =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}(?::[0-9]{2})?) ?(Z|[+-][0-9]{2}:?[0-9]{2})?$/;

/** An instant such as `2026-11-27T08:00-0800` as Unix milliseconds; without an offset it is UTC. */
export function parseInstant(text: string): number | null {
  const [, day, time, offset = "Z"] = instantForm.exec(text.trim()) ?? [];
  if (day === undefined || time === undefined) return null;
  const zone = offset.replace(/^([+-][0-9]{2}):?([0-9]{2})$/, "$1:$2");
  const atMs = Date.parse(`${day}T${time}${zone}`);
  return Number.isNaN(atMs) ? null : atMs;
}
