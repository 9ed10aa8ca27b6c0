// GET /v1/analytics/daily, who-is-asking and demand: what a business may know of how its records are found (specification,
// «Business machine API»).
//   A1. A business reads its own figures, added up over all regions and nodes, and nobody else's.
//   A2. A subject is shown for a day only if several AI companies named it often enough on that day, in that country and
//       collection. Days are judged one by one, so that no two windows differ by what one company asked.
//   A3. Subjects are shown only of a collection in which the business publishes: one of its records there was shown or
//       fetched in the window, or is live and among the first of its catalogue.

import type { Clock } from "../../crypto/port.ts";
import {
  type CollectionName,
  collectionNames,
  isCollectionName,
  isCountry,
} from "../../protocol/identifiers.ts";
import {
  askingCompaniesMax,
  type DailyAnalytics,
  type Demand,
  demandCompaniesMin,
  demandRestMin,
  demandSearchesMin,
  demandSubjectsMax,
  isDay,
  type WhoIsAsking,
} from "../../protocol/wire/analytics.ts";
import type { InsightCount, InsightStore } from "../../storage/insight-store.ts";
import type { HeadPage, RecordStore } from "../../storage/record-store.ts";
import {
  answerJson,
  type CallersParty,
  type Given,
  type Outcome,
  type Refused,
  refusedWith,
  wrongParameter,
} from "../answer.ts";
import type { Register } from "../register/register.ts";
import { dayOf } from "./insight.ts";

/** Days that one read of figures covers at most. */
export const analyticsDaysMax = 92;
/** The same for subjects, which are many more. */
export const demandDaysMax = 31;

export interface AnalyticsDeps {
  readonly insightStore: InsightStore;
  readonly records: RecordStore;
  readonly register: Register;
  readonly clock: Clock;
  /** The public base of the verification surface, without trailing slash. */
  readonly verifyUrl: string;
}

export interface AnalyticsRequest {
  readonly caller: CallersParty;
  readonly query: Given<"from" | "to" | "country" | "type">;
}

/** GET /v1/analytics/daily. */
export async function dailyAnalytics(deps: AnalyticsDeps, request: AnalyticsRequest): Promise<Outcome> {
  const read = await readOwn(deps, request);
  if (isWrong(read)) return read;
  const figures = groupedBy(read.counts, ({ day, country, collection }) =>
    [day, country, collection].join(" "),
  ).map(([{ day, country, collection }, counts]) => ({
    day,
    country: country === "" ? null : country,
    type: collection,
    ...sumOf(counts),
  }));
  const answer: DailyAnalytics = { ...read.window, totals: sumOf(read.counts), figures };
  return answerJson(200, answer);
}

/** GET /v1/analytics/who-is-asking. */
export async function whoIsAsking(deps: AnalyticsDeps, request: AnalyticsRequest): Promise<Outcome> {
  const read = await readOwn(deps, request);
  if (isWrong(read)) return read;
  const companies = groupedBy(read.counts, ({ company }) => company)
    .map(([{ company }, counts]) => ({ company, counts, sum: sumOf(counts) }))
    .toSorted((a, b) => b.sum.searches + b.sum.fetches - (a.sum.searches + a.sum.fetches))
    .slice(0, askingCompaniesMax);
  const answer: WhoIsAsking = {
    ...read.window,
    companies: await Promise.all(
      companies.map(async ({ company, counts, sum }) => ({
        ai_company_uuid: company,
        legal_name: (await deps.register.party(company))?.legal_name ?? null,
        certificate_url: `${deps.verifyUrl}/v1/certificates/${company}`,
        ...sum,
        days: groupedBy(counts, ({ day }) => day).map(([{ day }, of]) => ({ day, ...sumOf(of) })),
      })),
    ),
  };
  return answerJson(200, answer);
}

/** GET /v1/analytics/demand. */
export async function readDemand(deps: AnalyticsDeps, { caller, query }: AnalyticsRequest): Promise<Outcome> {
  const window = parseWindow(query, deps.clock.now(), demandDaysMax);
  if (isWrong(window)) return window;
  const country = parseCountry(query.country);
  if (isWrong(country)) return country;
  const type = parseType(query.type);
  if (isWrong(type)) return type;
  if (country === null) return wrongParameter("country", "country is required.");
  if (type === null) return wrongParameter("type", "type is required.");
  const { from, to, last } = window;
  if (!(await publishes(deps, caller.party.uuid, type, window))) return notPublishing(type);
  const subjects = new Map<string, { searches: number; days: number }>();
  for (const day of daysOf(from, last)) {
    const counts = await deps.insightStore.readDemand({ day, country, collection: type });
    for (const [{ name }, of] of groupedBy(counts, (each) => each.name)) {
      const { searches } = sumOf(of);
      if (searches < demandSearchesMin || restOf(of) < demandRestMin) continue;
      const known = subjects.get(name) ?? { searches: 0, days: 0 };
      subjects.set(name, { searches: known.searches + searches, days: known.days + 1 });
    }
  }
  const answer: Demand = {
    from,
    to,
    country,
    type,
    threshold: { companies: demandCompaniesMin, searches: demandSearchesMin },
    subjects: [...subjects]
      .map(([subject, sum]) => ({ subject, ...sum }))
      .toSorted((a, b) => b.searches - a.searches || (a.subject < b.subject ? -1 : 1))
      .slice(0, demandSubjectsMax),
  };
  return answerJson(200, answer);
}

/** Searches of all but the two companies that asked most: none where there are fewer than {@link demandCompaniesMin}. */
function restOf(counts: Parameters<typeof sumOf>[0] & readonly { readonly company: string }[]): number {
  const byCompany = groupedBy(counts, ({ company }) => company).map(([, own]) => sumOf(own).searches);
  const rest = byCompany.toSorted((a, b) => b - a).slice(demandCompaniesMin - 1);
  return rest.reduce((sum, each) => sum + each, 0);
}

/** The counts of the caller's business that the query selects. */
async function readOwn({ insightStore, clock }: AnalyticsDeps, { caller, query }: AnalyticsRequest) {
  const window = parseWindow(query, clock.now(), analyticsDaysMax);
  if (isWrong(window)) return window;
  const country = parseCountry(query.country);
  if (isWrong(country)) return country;
  const type = parseType(query.type);
  if (isWrong(type)) return type;
  const { from, to, last } = window;
  const all = await insightStore.readShown(caller.party.uuid, from, last);
  const counts = all.filter(
    (each) => (country ?? each.country) === each.country && (type ?? each.collection) === each.collection,
  );
  return { window: { from, to }, counts };
}

type Sum = Pick<InsightCount, "searches" | "rows" | "fetches">;

function sumOf(counts: readonly InsightCount[]): Sum {
  const sum = { searches: 0, rows: 0, fetches: 0 };
  for (const { searches, rows, fetches } of counts) {
    sum.searches += searches;
    sum.rows += rows;
    sum.fetches += fetches;
  }
  return sum;
}

/** The counts with the same key, with one of them to name the group, in ascending order of key. */
function groupedBy(
  counts: readonly InsightCount[],
  keyOf: (count: InsightCount) => string,
): readonly (readonly [InsightCount, readonly InsightCount[]])[] {
  const groups = new Map<string, [InsightCount, InsightCount[]]>();
  for (const count of counts) {
    const key = keyOf(count);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [count, [count]]);
    else known[1].push(count);
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

const dayMs = 86_400_000;

function daysOf(from: string, last: string): readonly string[] {
  const count = (Date.parse(last) - Date.parse(from)) / dayMs + 1;
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(from) + index * dayMs).toISOString().slice(0, 10),
  );
}

const headsPerPage = 1_000;
/** A catalogue may have a million records; no read walks through all of them. */
const catalogueMax = 20_000;

/** See A3. */
async function publishes(
  { records, insightStore }: AnalyticsDeps,
  business: string,
  collection: CollectionName,
  { from, last }: Window,
): Promise<boolean> {
  const shown = await insightStore.readShown(business, from, last);
  if (shown.some((count) => count.collection === collection)) return true;
  let cursor: string | null = null;
  for (let seen = 0; seen < catalogueMax; seen += headsPerPage) {
    const page: HeadPage = await records.listCatalogue(business, cursor, headsPerPage);
    if (page.heads.some((head) => head.live && head.type === collection)) return true;
    cursor = page.cursor;
    if (cursor === null) return false;
  }
  return false;
}

function notPublishing(type: CollectionName): Outcome {
  const detail = `Demand is shown to businesses that publish ${type}, and this one has none that is live.`;
  return refusedWith("not_found", detail);
}

// The window of days, the country and the type that a read of analytics names, with what is wrong about them.

/** Nothing was ever counted before, and days before the year 0 have no such form. */
const firstDay = "2000-01-01";
/** Days that are read if `from` is not given. */
const usualDays = 30;

interface Window {
  readonly from: string;
  /** The day after the last one. */
  readonly to: string;
  /** The last day. */
  readonly last: string;
}

/** By default up to today, and thirty days; `daysMax` is what one read may cover. */
export function parseWindow(given: Given<"from" | "to">, nowMs: number, daysMax: number): Window | Refused {
  for (const name of ["from", "to"] as const) {
    if (given[name] !== null && !isDay(given[name]))
      return wrongParameter(name, `${name} must be a day, such as 2026-03-04.`);
    if (given[name] !== null && given[name] < firstDay)
      return wrongParameter(name, `${name} must not be before ${firstDay}.`);
  }
  const to = given.to ?? dayOf(nowMs + dayMs);
  const from = given.from ?? dayOf(Date.parse(to) - usualDays * dayMs);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs;
  if (days < 1)
    return wrongParameter("to", "to must be a later day than from: it is the day after the last one.");
  if (days > daysMax)
    return wrongParameter("from", `from to to must be at most ${daysMax} days; they are ${days}.`);
  return { from, to, last: dayOf(Date.parse(to) - dayMs) };
}

function parseCountry(country: string | null): string | null | Refused {
  if (country === null || isCountry(country)) return country;
  return wrongParameter("country", "country must be a code such as US.");
}

function parseType(type: string | null): CollectionName | null | Refused {
  if (type === null || isCollectionName(type)) return type;
  return wrongParameter("type", `type is one of ${collectionNames.join(", ")}.`);
}

/** Whether what was read is a refusal. */
export function isWrong(value: unknown): value is Refused {
  return typeof value === "object" && value !== null && "kind" in value;
}
