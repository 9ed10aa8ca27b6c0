// The public register in Cassandra: the port's obligations G1–G6, at LOCAL_QUORUM in the region's data centre.
//   E1. An entry is written first, then a reference to it into the feed, so in its own region a reference leads to an
//       existing entry. Other regions receive the rows one by one, in any order and possibly late.
//   E2. `put` waits until every region has the entry at quorum. Where a region cannot be reached and `EACH_QUORUM` has
//       failed, it settles for its own region, reports that, and does not try again for a while: a region that is cut off
//       must not stop the others.
//   E3. This determines how long a revocation takes. The actor that owns the entry refuses at once, whatever the register says. A
//       node of a region refuses at most `freshMs` (service/register/register.ts, 5 s) after the region's data centre has the
//       entry; and if `put` returned without reporting a region as behind, all of them have it. A region that is behind
//       gets the entry when its link or its replicas are back and the other regions' hints have been replayed, or else
//       after a repair; until then it cannot know, and continues with what it has. From then on it takes the feed's far
//       round (half a minute) if the reference arrived as well, and otherwise its pass; for a key, party or list that the
//       node is using it takes `keptMs` (60 s) at most, whatever arrived.
//   E4. An entry of another party is left unchanged: `put` reads first (G6). Two concurrent puts are not told apart, which
//       is why a key is claimed beforehand.

import { BoundedMap } from "../../std/bounded-map.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { StoreError } from "../actor-store.ts";
import {
  type RegisterEntry,
  type RegisterFeed,
  type RegisterStore,
  type RegisterTable,
  registerTables,
} from "../register-store.ts";
import { numberOf, stampOfChange, textOf } from "./columns.ts";
import {
  type CassandraSession,
  type Consistency,
  type CqlRow,
  executeAll,
  type Statement,
} from "./session.ts";

// Entries of the register as rows, and the statements that read a single entry.

const entryColumns = "tbl, key, party, change, body";

const rowsCql = {
  get: `SELECT ${entryColumns} FROM register_entry WHERE tbl = ? AND key = ?`,
  changeInList: "SELECT change FROM register_of_party WHERE tbl = ? AND party = ? AND key = ?",
} as const;

async function readEntry(
  session: CassandraSession,
  table: RegisterTable,
  key: string,
  consistency: Consistency = "LOCAL_QUORUM",
): Promise<RegisterEntry | null> {
  const { rows } = await session.execute(rowsCql.get, [table, key], { consistency, idempotent: true });
  return rows[0] === undefined ? null : entryOf(rows[0]);
}

/** The change at which the party's list has the entry; -1 if the list does not have it. */
async function readChangeInList(session: CassandraSession, entry: RegisterEntry): Promise<number> {
  const params = [entry.table, entry.partition, entry.key];
  const { rows } = await session.execute(rowsCql.changeInList, params, { idempotent: true });
  return rows[0] === undefined ? -1 : numberOf(rows[0]["change"]);
}

function entryOf(row: CqlRow): RegisterEntry {
  return {
    table: tableOf(row["tbl"]),
    partition: textOf(row["party"]),
    key: textOf(row["key"]),
    change: numberOf(row["change"]),
    body: textOf(row["body"]),
  };
}

function tableOf(column: CqlRow[string] | undefined): RegisterTable {
  const table = registerTables.find((each) => each === column);
  if (table === undefined) throw new TypeError("a register entry is of no known table");
  return table;
}

// The store itself.

/** Maximum statements of this store under way at once. */
const writeLanes = 64;
/** How long after a failure, or after an attempt that followed one, `put` does not wait for other regions (E2). */
const behindForMs = 10_000;

const cql = {
  entry: `INSERT INTO register_entry (${entryColumns}) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  ofParty: `INSERT INTO register_of_party (${entryColumns}) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  reference: "INSERT INTO register_feed (slot, at, tbl, key, change, party) VALUES (?, ?, ?, ?, ?, ?)",
  list: `SELECT ${entryColumns} FROM register_of_party WHERE tbl = ? AND party = ?`,
} as const;

const plain = { idempotent: true } as const;

export interface CassandraRegisterOptions {
  /** Returns Unix milliseconds; the platform's clock by default. */
  readonly now?: () => number;
  /** Called whenever entries were put that another region may lack for now (E2). */
  readonly onBehind?: (entries: number, reason: unknown) => void;
}

/** The tables of migrations.ts must exist. */
export function openCassandraRegisterStore(
  session: CassandraSession,
  options: CassandraRegisterOptions = {},
): RegisterStore {
  const now = options.now ?? Date.now;
  const lanes = new Semaphore(writeLanes);
  const everywhere = everywhereWriter(session, now);
  return {
    claimKey: (keyId, partyUuid) => claimKey(session, keyId, partyUuid),
    put: async (given) => {
      const entries = await ownEntries(session, lanes, given);
      const writes = entries.flatMap(entryWrites);
      const written = await lanes.all(writes.map((each) => () => everywhere(each)));
      const at = now();
      const references = entries.map((entry) => referenceWrite(entry, at));
      const told = await lanes.all(references.map((each) => () => everywhere(each)));
      const behind = [...written, ...told].find((each) => each !== null);
      if (behind) options.onBehind?.(entries.length, behind.reason);
    },
    get: (table, key) => readEntry(session, table, key),
    list: async (table, partition) =>
      (await executeAll(session, cql.list, [table, partition], plain)).map(entryOf),
    follow: (): RegisterFeed => createRegisterFeed(session, now),
  };
}

/** The entries whose key no other party has (E4). */
async function ownEntries(
  session: CassandraSession,
  lanes: Semaphore,
  given: readonly RegisterEntry[],
): Promise<readonly RegisterEntry[]> {
  const known = await lanes.all(
    given.map(
      ({ table, key }) =>
        () =>
          readEntry(session, table, key),
    ),
  );
  return given.filter(({ partition }, index) => (known[index]?.partition ?? partition) === partition);
}

function entryWrites({ table, key, partition, change, body }: RegisterEntry): readonly Statement[] {
  if (!registerTables.includes(table)) throw new RangeError("a register entry is of no known table");
  const params = [table, key, partition, change, body, stampOfChange(change)];
  return [
    { cql: cql.entry, params },
    { cql: cql.ofParty, params },
  ];
}

function referenceWrite({ table, key, partition, change }: RegisterEntry, atMs: number): Statement {
  return { cql: cql.reference, params: [slotOf(atMs), atMs, table, key, change, partition] };
}

interface Behind {
  readonly reason: unknown;
}

/** See E2; resolves to null once all regions have the write. Throws what the own region throws. */
function everywhereWriter(
  session: CassandraSession,
  now: () => number,
): (statement: Statement) => Promise<Behind | null> {
  let failed: Behind | null = null;
  let triedAgainAtMs = 0;
  return async ({ cql: text, params }) => {
    const isTried = failed === null || now() >= triedAgainAtMs;
    if (isTried) {
      // Concurrent callers do not wait for this attempt's answer if the last attempt failed.
      triedAgainAtMs = now() + behindForMs;
      try {
        await session.execute(text, params, { ...plain, consistency: "EACH_QUORUM" });
        failed = null;
        return null;
      } catch (reason) {
        failed = { reason };
        triedAgainAtMs = now() + behindForMs;
      }
    }
    const behind = failed;
    await session.execute(text, params, plain);
    return behind;
  };
}

// Maps each key to its party, in Cassandra: obligation G5 of the register's port.
//   O1. A claim is agreed on by a majority of all replicas, so only one party gets a key, whichever regions are asked.
//   O2. A row is never changed or deleted. So a row that is readable anywhere is final, and no other region is asked.
//   O3. When the outcome of a claim is unknown, the row is read together with any write under way; if there is no row, or no
//       answer either, the key is claimed again, which is the same claim.
//   O4. A key that is in the register but has no claim belongs to the party that the register names: its claim was lost
//       with a region. All regions are asked for it while they can be reached.

/** Maximum claims in one call; another follows only when the outcome of the last was unknown. */
const claimsMax = 3;

const ownersCql = {
  owner: "SELECT party FROM key_owner WHERE key_id = ?",
  claim: "INSERT INTO key_owner (key_id, party) VALUES (?, ?) IF NOT EXISTS",
} as const;

/** The table of migrations.ts must exist. */
export async function claimKey(session: CassandraSession, keyId: string, party: string): Promise<string> {
  const known = await readOwner(session, keyId, "LOCAL_QUORUM");
  if (known !== null) return known;
  const claimant = (await registeredTo(session, keyId)) ?? party;
  for (let claims = 1; ; claims += 1) {
    try {
      const options = { consistency: "LOCAL_QUORUM", serial: "SERIAL", idempotent: false } as const;
      const { applied, rows } = await session.execute(ownersCql.claim, [keyId, claimant], options);
      return applied ? claimant : partyIn(rows[0]);
    } catch (error) {
      const isUnknown = error instanceof StoreError && error.effect === "unknown";
      if (!isUnknown) throw error;
      // Claims of several regions at once keep each other, and this look, from an answer: then the next claim tells.
      const settled = await readOwner(session, keyId, "SERIAL").catch(() => null);
      if (settled !== null) return settled;
      if (claims === claimsMax) throw error;
    }
  }
}

async function readOwner(
  session: CassandraSession,
  keyId: string,
  consistency: Consistency,
): Promise<string | null> {
  const { rows } = await session.execute(ownersCql.owner, [keyId], { consistency, idempotent: true });
  return rows[0] === undefined ? null : partyIn(rows[0]);
}

async function registeredTo(session: CassandraSession, keyId: string): Promise<string | null> {
  const read = (consistency: Consistency) => readEntry(session, "key", keyId, consistency);
  const entry = await read("EACH_QUORUM").catch(() => read("QUORUM"));
  return entry === null ? null : entry.partition;
}

function partyIn(row: CqlRow | undefined): string {
  return textOf(row?.["party"]);
}

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
const feedCql = {
  near: `${references} AND at >= ?`,
  far: `${references} AND (at, tbl, key, change) > (?, ?, ?, ?) LIMIT ?`,
  first: `${entries} LIMIT ?`,
  further: `${entries} WHERE token(tbl, key) > token(?, ?) LIMIT ?`,
} as const;

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

function slotOf(ms: number): number {
  return Math.floor(ms / slotMs);
}

/** `now` returns Unix milliseconds. */
function createRegisterFeed(session: CassandraSession, now: () => number): RegisterFeed {
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
    const rows = await executeAll(session, feedCql.near, [slot, fromMs], plain);
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
  const rows = await executeAll(session, feedCql.far, [slot, ...key, pageRows], plain);
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
      ? await executeAll(session, feedCql.first, [rowsMax], plain)
      : await executeAll(session, feedCql.further, [place.table, place.key, rowsMax], plain);
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
