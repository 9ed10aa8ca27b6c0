// Finds out what changed in the register, for the caches of one node, although rows arrive late and in any order.
//
// The feed starts with all entries. Then each call revisits the places where recent references may be, in three
// overlapping ways:
//   near   in every call: references written since the last call, and those of `overlapMs` before it. That covers clock
//          skew, writes under way and the usual lag between regions.
//   far    once per `tickMs`: the next page of older references, cycling through `farMs`, which is more than the three
//          hours for which hints are kept for an unreachable replica. A round takes 25 ticks, and one more for each full
//          page.
//   pass   once per `tickMs`: the next page of all entries, cycling; this needs no reference at all. With n entries, an
//          entry is visited within n / `pageRows` ticks: 100,000 in 200 s.
// Invariants:
//   F1. A reference counts only once the entry and the party's list are readable here at its change or a later one; until
//       then it is revisited in every round, so nobody loads an older state after the feed has delivered a newer one.
//   F2. A call that fails does not change the progress: the next one revisits the same places.
//   F3. Entries recently delivered at a change are not delivered again at the same change; the memory of them is bounded,
//       so some entries may be delivered again.
//   F4. A reader that has not called for longer than `farMs` starts over.

import { BoundedMap } from "../../std/bounded-map.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { RegisterEntry, RegisterFeed, RegisterTable } from "../register-store.ts";
import { numberOf, textOf } from "./columns.ts";
import { entryColumns, entryOf, readChangeInList, readEntry, tableOf } from "./register-rows.ts";
import { type CassandraSession, type CqlRow, executeAll } from "./session.ts";

/** The time span of references in one partition. */
export const slotMs = 600_000;
export const overlapMs = 30_000;
export const farMs = 4 * 3_600_000;
export const tickMs = 1_000;
/** How far a writer's clock may be ahead of this node's clock. */
const aheadMs = 5_000;
/** Rows per page: entries or references; also used for entries when all of them are read at once. */
export const pageRows = 500;
const firstPageRows = 2_000;
/** Maximum number of entries remembered as delivered, about a hundred bytes each. */
const givenMax = 200_000;
/** Number of entries read at once. */
const readLanes = 32;

const references = "SELECT at, tbl, key, change FROM register_feed WHERE slot = ?";
const entries = `SELECT ${entryColumns} FROM register_entry`;
const cql = {
  near: `${references} AND at >= ?`,
  far: `${references} AND (at, tbl, key, change) > (?, ?, ?, ?) LIMIT ?`,
  first: `${entries} LIMIT ?`,
  further: `${entries} WHERE token(tbl, key) > token(?, ?) LIMIT ?`,
} as const;

const plain = { idempotent: true } as const;

interface Reference {
  readonly at: number;
  readonly table: RegisterTable;
  readonly key: string;
  readonly change: number;
}

/** The start of the next page of older references. */
interface FarPlace {
  readonly slot: number;
  readonly after: Reference | null;
}

/** The start of the next page of all entries; null for the beginning. */
type PassPlace = { readonly table: RegisterTable; readonly key: string } | null;

interface Progress {
  /** Everything from this time on has been delivered; null until the first look at all entries is complete. */
  readonly readAtMs: number | null;
  readonly startedAtMs: number;
  readonly tickedAtMs: number;
  readonly far: FarPlace | null;
  readonly pass: PassPlace;
}

export function slotOf(ms: number): number {
  return Math.floor(ms / slotMs);
}

/** `now` returns Unix milliseconds. */
export function createRegisterFeed(session: CassandraSession, now: () => number): RegisterFeed {
  let progress = begin(now());
  let queue: readonly RegisterEntry[] = [];
  const given = createGiven();
  const fill = async (): Promise<void> => {
    const nowMs = now();
    if (progress.readAtMs !== null && nowMs - progress.readAtMs > farMs) progress = begin(nowMs);
    const round = await look(session, progress, nowMs, given);
    progress = round.progress;
    queue = newest(round.found, given);
    for (const entry of queue) given.note(entry);
  };
  return {
    next: async (limit) => {
      const isFresh = queue.length === 0;
      if (isFresh) await fill();
      const page = queue.slice(0, limit);
      queue = queue.slice(limit);
      return { entries: page, more: queue.length > 0 || !isFresh || progress.readAtMs === null };
    },
  };
}

function begin(nowMs: number): Progress {
  return { readAtMs: null, startedAtMs: nowMs, tickedAtMs: nowMs, far: null, pass: null };
}

interface Round {
  readonly found: readonly RegisterEntry[];
  readonly progress: Progress;
}

async function look(
  session: CassandraSession,
  progress: Progress,
  nowMs: number,
  given: Given,
): Promise<Round> {
  if (progress.readAtMs === null) {
    const page = await readPass(session, progress.pass, firstPageRows);
    const readAtMs = page.next === null ? progress.startedAtMs : null;
    return { found: page.found, progress: { ...progress, pass: page.next, readAtMs } };
  }
  const near = await readNear(session, progress.readAtMs, nowMs);
  const isDue = nowMs - progress.tickedAtMs >= tickMs || nowMs < progress.tickedAtMs;
  if (!isDue) {
    const found = await resolve(session, near, given);
    return { found, progress: { ...progress, readAtMs: nowMs } };
  }
  const far = await readFar(session, progress.far, nowMs);
  const found = await resolve(session, [...near, ...far.found], given);
  const pass = await readPass(session, progress.pass, pageRows);
  return {
    found: [...found, ...pass.found],
    progress: { ...progress, readAtMs: nowMs, tickedAtMs: nowMs, far: far.next, pass: pass.next },
  };
}

async function readNear(
  session: CassandraSession,
  readAtMs: number,
  nowMs: number,
): Promise<readonly Reference[]> {
  const fromMs = Math.min(readAtMs, nowMs) - overlapMs;
  const found: Reference[] = [];
  for (let slot = slotOf(fromMs); slot <= slotOf(nowMs + aheadMs); slot += 1) {
    const rows = await executeAll(session, cql.near, [slot, fromMs], plain);
    for (const row of rows) found.push(referenceOf(row));
  }
  return found;
}

/** Reads one page of older references; an empty slot also counts as a page. */
async function readFar(
  session: CassandraSession,
  place: FarPlace | null,
  nowMs: number,
): Promise<{ readonly found: readonly Reference[]; readonly next: FarPlace }> {
  const [oldest, current] = [slotOf(nowMs - farMs), slotOf(nowMs)];
  const isWithin = place !== null && place.slot >= oldest && place.slot <= current;
  const { slot, after } = isWithin ? place : { slot: oldest, after: null };
  const key = after === null ? [-1, "", "", -1] : [after.at, after.table, after.key, after.change];
  const rows = await executeAll(session, cql.far, [slot, ...key, pageRows], plain);
  const found = rows.map(referenceOf);
  const last = found.at(-1);
  const next =
    last === undefined || rows.length < pageRows ? { slot: slot + 1, after: null } : { slot, after: last };
  return { found, next };
}

async function readPass(
  session: CassandraSession,
  place: PassPlace,
  rowsMax: number,
): Promise<{ readonly found: readonly RegisterEntry[]; readonly next: PassPlace }> {
  const rows =
    place === null
      ? await executeAll(session, cql.first, [rowsMax], plain)
      : await executeAll(session, cql.further, [place.table, place.key, rowsMax], plain);
  const found = rows.map(entryOf);
  const last = found.at(-1);
  const next = last === undefined || rows.length < rowsMax ? null : { table: last.table, key: last.key };
  return { found, next };
}

/** The entries that the references lead to, limited to those whose change has not been delivered yet (F1). */
async function resolve(
  session: CassandraSession,
  found: readonly Reference[],
  given: Given,
): Promise<readonly RegisterEntry[]> {
  const wanted = new Map<string, Reference>();
  for (const reference of found) {
    const name = `${reference.table}/${reference.key}`;
    if (reference.change > Math.max(given.changeOf(name), wanted.get(name)?.change ?? -1)) {
      wanted.set(name, reference);
    }
  }
  const read = async ({ table, key, change }: Reference): Promise<readonly RegisterEntry[]> => {
    const entry = await readEntry(session, table, key);
    if (entry === null || entry.change < change) return [];
    return (await readChangeInList(session, entry)) < change ? [] : [entry];
  };
  const lanes = new Semaphore(readLanes);
  return (await lanes.all([...wanted.values()].map((each) => () => read(each)))).flat();
}

/** Each entry once, in its latest state, without those that were delivered in this state or a later one (F3). */
function newest(found: readonly RegisterEntry[], given: Given): readonly RegisterEntry[] {
  const latest = new Map<string, RegisterEntry>();
  for (const entry of found) {
    const name = `${entry.table}/${entry.key}`;
    if (entry.change <= Math.max(given.changeOf(name), latest.get(name)?.change ?? -1)) continue;
    latest.set(name, entry);
  }
  return [...latest.values()];
}

function referenceOf(row: CqlRow): Reference {
  const [table, key] = [tableOf(row["tbl"]), textOf(row["key"])];
  return { at: numberOf(row["at"]), table, key, change: numberOf(row["change"]) };
}

interface Given {
  /** -1 for an entry that was not delivered, or too long ago. */
  changeOf(name: string): number;
  note(entry: RegisterEntry): void;
}

function createGiven(): Given {
  const changes = new BoundedMap<string, number>(givenMax);
  return {
    changeOf: (name) => changes.get(name) ?? -1,
    note: ({ table, key, change }) => changes.set(`${table}/${key}`, change),
  };
}
