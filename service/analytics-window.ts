// The window of days, the country and the type that a read of analytics names, with what is wrong about them.

import {
  type CollectionName,
  collectionNames,
  isCollectionName,
  isCountry,
} from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { isDay } from "../protocol/wire/analytics.ts";
import { type Refused, refused } from "./answer.ts";
import { dayOf } from "./insight.ts";

const dayMs = 86_400_000;
/** Nothing was ever counted before, and days before the year 0 have no such form. */
const firstDay = "2000-01-01";
/** Days that are read if `from` is not given. */
const usualDays = 30;

export interface Window {
  readonly from: string;
  /** The day after the last one. */
  readonly to: string;
  /** The last day. */
  readonly last: string;
}

/** By default up to today, and thirty days; `daysMax` is what one read may cover. */
export function parseWindow(
  given: { readonly from: string | null; readonly to: string | null },
  nowMs: number,
  daysMax: number,
): Window | Refused {
  for (const name of ["from", "to"] as const) {
    if (given[name] !== null && !isDay(given[name]))
      return wrong(name, `${name} must be a day, such as 2026-03-04.`);
    if (given[name] !== null && given[name] < firstDay)
      return wrong(name, `${name} must not be before ${firstDay}.`);
  }
  const to = given.to ?? dayOf(nowMs + dayMs);
  const from = given.from ?? dayOf(Date.parse(to) - usualDays * dayMs);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs;
  if (days < 1) return wrong("to", "to must be a later day than from: it is the day after the last one.");
  if (days > daysMax) return wrong("from", `from to to must be at most ${daysMax} days; they are ${days}.`);
  return { from, to, last: dayOf(Date.parse(to) - dayMs) };
}

export function parseCountry(country: string | null): string | null | Refused {
  if (country === null || isCountry(country)) return country;
  return wrong("country", "country must be a code such as US.");
}

export function parseType(type: string | null): CollectionName | null | Refused {
  if (type === null || isCollectionName(type)) return type;
  return wrong("type", `type is one of ${collectionNames.join(", ")}.`);
}

export function wrong(name: string, detail: string): Refused {
  return refused(problem("request_invalid", detail, { pointer: `/query/${name}` }));
}

/** Whether what was read is a refusal. */
export function isWrong(value: unknown): value is Refused {
  return typeof value === "object" && value !== null && "kind" in value;
}
