// The events of AI companies in Cassandra: the port's obligations E1–E5, at LOCAL_QUORUM in the region's data centre.
//   V1. An event's position begins with the time at which it was written. It is read only `settleMs` later, and what took
//       longer than `writeMaxMs` to write is written again with a later position. Clocks of nodes differ by less than the
//       time between, or the cluster refuses them.
//   V2. The events of a company's day are one partition; a reader goes from day to day. Events expire on their own.

import { Semaphore } from "../../std/semaphore.ts";
import {
  type CompanyEvent,
  type EventStore,
  type EventsWanted,
  eventRetentionMs,
  type StoredEvent,
  StoreError,
} from "../event-store.ts";
import { numberOf, textOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll } from "./session.ts";

const settleMs = 12_000;
const writeMaxMs = 8_000;
const writesMax = 10;
/** Events in one write, and writes of one call under way at once. */
const eventsPerWrite = 50;
const lanesMax = 16;
const dayMs = 86_400_000;

const cql = {
  put: "INSERT INTO company_event (region, company, day, at, retrieval_id, body) VALUES (?, ?, ?, ?, ?, ?)",
  read: `SELECT at, retrieval_id, body FROM company_event WHERE region = ? AND company = ? AND day = ?
    AND (at, retrieval_id) > (?, ?) AND (at) <= (?) LIMIT ?`,
} as const;

const plain = { idempotent: true } as const;

/** The table, for a migration. */
export const eventTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS company_event (
     region text, company text, day text, at bigint, retrieval_id text, body text,
     PRIMARY KEY ((region, company, day), at, retrieval_id))
   WITH default_time_to_live = ${eventRetentionMs / 1_000} AND gc_grace_seconds = 10800
   AND compaction = {'class': 'UnifiedCompactionStrategy'}`,
];

/** `now` returns Unix milliseconds. */
export function openCassandraEventStore(session: CassandraSession, now: () => number = Date.now): EventStore {
  return {
    put: async (region, events) => {
      const writes = partsOf(events).map((part) => () => write(session, now, { region, events: part }));
      await new Semaphore(lanesMax).all(writes);
    },
    read: (wanted) => read(session, wanted, now()),
    forget: async () => 0,
  };
}

/** Groups events into writes of one company each. */
function partsOf(events: readonly CompanyEvent[]): readonly (readonly CompanyEvent[])[] {
  return [...Map.groupBy(events, (each) => each.company).values()].flatMap((of) =>
    Array.from({ length: Math.ceil(of.length / eventsPerWrite) }, (_, index) =>
      of.slice(index * eventsPerWrite, (index + 1) * eventsPerWrite),
    ),
  );
}

/** See V1. */
async function write(
  session: CassandraSession,
  now: () => number,
  { region, events }: { readonly region: string; readonly events: readonly CompanyEvent[] },
): Promise<void> {
  for (let times = 1; times <= writesMax; times += 1) {
    const atMs = now();
    const day = dayOf(atMs);
    await session.batch(
      events.map(({ company, retrieval_id, body }) => ({
        cql: cql.put,
        params: [region, company, day, atMs, retrieval_id, body],
      })),
      plain,
    );
    if (now() - atMs <= writeMaxMs) return;
  }
  throw new StoreError("unknown", "events took too long to be written, however often they were");
}

async function read(
  session: CassandraSession,
  { region, company, after, limit }: EventsWanted,
  nowMs: number,
): Promise<readonly StoredEvent[]> {
  const untilMs = nowMs - settleMs;
  const oldestMs = Math.max(after?.at ?? 0, nowMs - eventRetentionMs - dayMs);
  const from = after ?? { at: 0, id: "" };
  const found: CqlRow[] = [];
  for (let dayStart = Date.parse(dayOf(oldestMs)); dayStart <= untilMs; dayStart += dayMs) {
    const params = [region, company, dayOf(dayStart), from.at, from.id, untilMs, limit - found.length];
    found.push(...(await executeAll(session, cql.read, params, plain)));
    if (found.length >= limit) break;
  }
  return found.map((row) => ({
    position: { at: numberOf(row["at"]), id: textOf(row["retrieval_id"]) },
    body: textOf(row["body"]),
  }));
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
