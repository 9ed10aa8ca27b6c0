// What a business reads of how its records are found (specification, «B. Business machine API», analytics).

import { collectionNames } from "../identifiers.ts";
import {
  country,
  described,
  integer,
  list,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  text,
  uuid,
} from "../shape.ts";
import { webAddress } from "./retrieval.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

/** A day in UTC. */
export const day = matching(isDay, "a day of the calendar, such as 2026-03-04", {
  format: "date",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
});

/** True for `YYYY-MM-DD` of a day that exists. */
export function isDay(value: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value)) return false;
  const ms = Date.parse(value);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value);
}

const counts = {
  searches: described(count, "Searches whose answer had a row of the business."),
  rows: described(count, "Rows of the business in these answers."),
  fetches: described(count, "Fetches of a record of the business."),
};
const window = {
  from: described(day, "The first day, in UTC."),
  to: described(day, "The day after the last one."),
};
const everything = Number.MAX_SAFE_INTEGER;

export const dailyAnalytics = namedObject("DailyAnalytics", {
  ...window,
  totals: object(counts),
  figures: list(
    object({
      day,
      country: described(
        nullable(country),
        "The country of the searches; null for fetches, which name none.",
      ),
      type: oneOf(collectionNames),
      ...counts,
    }),
    { min: 0, max: everything },
  ),
});
export type DailyAnalytics = Of<typeof dailyAnalytics>;

/** Companies in one answer; those that asked most come first. */
export const askingCompaniesMax = 1_000;

export const whoIsAsking = namedObject("WhoIsAsking", {
  ...window,
  companies: list(
    object({
      ai_company_uuid: uuid,
      legal_name: described(
        nullable(text(1_024)),
        "Null for a company that is not in the register any more.",
      ),
      certificate_url: webAddress,
      ...counts,
      days: list(object({ day, ...counts }), { min: 1, max: everything }),
    }),
    { min: 0, max: askingCompaniesMax },
  ),
});
export type WhoIsAsking = Of<typeof whoIsAsking>;

/** Subjects in one answer; those that were asked for most come first. */
export const demandSubjectsMax = 500;
/** A subject counts on a day on which this many AI companies named it in one country and collection … */
export const demandCompaniesMin = 3;
/** … in this many searches. */
export const demandSearchesMin = 10;
/** So many of them by others than the two companies that asked most: two that work together learn of no single search of a third. */
export const demandRestMin = 3;

export const demand = namedObject("Demand", {
  ...window,
  country,
  type: oneOf(collectionNames),
  threshold: described(
    object({ companies: count, searches: count }),
    "A day counts for a subject if at least this many AI companies named it in at least this many searches.",
  ),
  subjects: list(
    object({
      subject: described(text(64), "Folded: lower case, without diacritics."),
      searches: described(count, "Searches on the days that count."),
      days: described(integer({ min: 1, max: everything }), "How many days count."),
    }),
    { min: 0, max: demandSubjectsMax },
  ),
});
export type Demand = Of<typeof demand>;
