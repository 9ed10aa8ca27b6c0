// What was shown and asked for, in Cassandra: the port's obligations I1–I4.
//   N1. A count is stamped with what it amounts to, so the highest wins, whichever arrives later; no clock is involved.
//   N2. Counts expire with their day's retention, and are never deleted: their stamps lie before every true time, so a
//       deletion would hide what is put later.
//   N3. A business's day is one partition, and so is a day of one collection in one country.

import { isCollectionName } from "../../protocol/identifiers.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { type InsightCount, type InsightKind, type InsightStore, totalOf } from "../insight-store.ts";
import { numberOf, textOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll } from "./session.ts";

/** Maximum statements of one call under way at once. */
const lanesMax = 32;
const dayMs = 86_400_000;

const columns = "name, day, country, collection, company, writer, searches, rows, fetches";
const insert = (table: string): string =>
  `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?`;
const cql = {
  put: { shown: insert("insight_shown"), demand: insert("insight_demand") },
  shown: `SELECT ${columns} FROM insight_shown WHERE name = ? AND day = ?`,
  demand: `SELECT ${columns} FROM insight_demand WHERE day = ? AND country = ? AND collection = ?`,
} as const satisfies Record<string, string | Record<InsightKind, string>>;

const plain = { idempotent: true } as const;

const cells = `name text, day text, country text, collection text, company text, writer text,
     searches bigint, rows bigint, fetches bigint`;
const options = "gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}";

export const insightTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS insight_shown (
     ${cells}, PRIMARY KEY ((name, day), country, collection, company, writer)) WITH ${options}`,
  `CREATE TABLE IF NOT EXISTS insight_demand (
     ${cells}, PRIMARY KEY ((day, country, collection), name, company, writer)) WITH ${options}`,
];

export interface CassandraInsightOptions {
  /** How long a day's counts are kept after it. */
  readonly retentionDays: number;
  /** Returns Unix milliseconds; the platform's clock by default. */
  readonly now?: () => number;
}

export function openCassandraInsightStore(
  session: CassandraSession,
  { retentionDays, now = Date.now }: CassandraInsightOptions,
): InsightStore {
  return {
    put: async (kind, counts) => {
      await new Semaphore(lanesMax).all(
        counts.map((each) => async () => {
          const seconds = Math.ceil((Date.parse(each.day) + (retentionDays + 1) * dayMs - now()) / 1_000);
          // A time to live of 0 would mean for ever.
          if (seconds <= 0) return;
          const key = [each.name, each.day, each.country, each.collection, each.company, each.writer];
          const values = [each.searches, each.rows, each.fetches];
          await session.execute(cql.put[kind], [...key, ...values, totalOf(each), seconds], plain);
        }),
      );
    },
    readShown: async (business, fromDay, toDay) => {
      const days = daysBetween(fromDay, toDay);
      const read = days.map((day) => () => executeAll(session, cql.shown, [business, day], plain));
      return (await new Semaphore(lanesMax).all(read)).flat().map(countOf);
    },
    readDemand: async ({ day, country, collection }) =>
      (await executeAll(session, cql.demand, [day, country, collection], plain)).map(countOf),
    forget: async () => 0,
  };
}

function daysBetween(fromDay: string, toDay: string): readonly string[] {
  const days: string[] = [];
  for (let at = Date.parse(fromDay); at <= Date.parse(toDay); at += dayMs)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

function countOf(row: CqlRow): InsightCount {
  const collection = textOf(row["collection"]);
  if (!isCollectionName(collection))
    throw new TypeError(`a count is of no known collection, but ${collection}`);
  return {
    name: textOf(row["name"]),
    day: textOf(row["day"]),
    country: textOf(row["country"]),
    collection,
    company: textOf(row["company"]),
    writer: textOf(row["writer"]),
    searches: numberOf(row["searches"]),
    rows: numberOf(row["rows"]),
    fetches: numberOf(row["fetches"]),
  };
}
