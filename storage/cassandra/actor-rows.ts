// The rows of an actor's partition: how they are encoded and how they are read.
//   R1. A body contains its own expiry, so a row that replaces an expiring one does not inherit its expiry.
//   R2. No read of a table walks over rows deleted before it: each has a lower bound, or names its keys.

import { Buffer } from "node:buffer";
import { BoundedMap } from "../../std/bounded-map.ts";
import {
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type PartitionRow,
  type RowSelection,
  rowTable,
  StoreError,
} from "../actor-store.ts";
import {
  type CassandraSession,
  type Consistency,
  type CqlResult,
  type CqlRow,
  executeAll,
} from "./session.ts";

/** The operation id before the first commit. */
export const noOperation = "00000000-0000-0000-0000-000000000000";
/** `wake_at` of an actor that needs no wake-up. */
export const neverWakes = -1;

/** An actor's head, plus what only this store needs to know about it. */
export interface Statics extends ActorHead {
  /** Id of the current claim. */
  readonly claim: string;
  readonly wakeAtMs: number | null;
  /** No outbox row has a smaller `k`. */
  readonly outboxLow: number;
  /** The region whose conditional writes count. */
  readonly home: string;
  /** The region that handed the actor over, until a claim follows. */
  readonly movedFrom: string | null;
  /** When `epoch` was written, in microseconds by the clock of the coordinating Cassandra node. */
  readonly epochAtUs: number;
}

const staticColumns = `epoch, owner, claim, head, op, snap_seq, snap, schema_v, wake_at, outbox_low, home,
  moved_from, WRITETIME(epoch) AS epoch_at`;
const ofActor = "FROM actor WHERE kind = ? AND id = ?";
const cql = {
  statics: `SELECT body, ${staticColumns} ${ofActor} AND rt = 0 AND k = 0 AND k2 = ''`,
  wake: `SELECT wake_at, home, body ${ofActor} AND rt = 0 AND k = 0 AND k2 = ''`,
  events: `SELECT rt, k, k2, body ${ofActor} AND rt = ${rowTable.event} AND k > ?`,
  outbox: `SELECT rt, k, k2, body ${ofActor} AND rt = ${rowTable.outbox} AND k >= ?`,
  others: `SELECT rt, k, k2, body ${ofActor} AND rt IN (${rowTable.timer}, ${rowTable.inbox})`,
  byText: `SELECT rt, k, k2, body ${ofActor} AND rt = ? AND k = 0 AND k2 IN ?`,
  anyNumbered: `SELECT k ${ofActor} AND rt = ? AND k > 0 LIMIT 1`,
  numbered: `SELECT rt, k, k2, body ${ofActor} AND rt = ? AND k > 0`,
  range: `SELECT rt, k, k2, body ${ofActor} AND rt = ? AND (k, k2) > (?, ?) LIMIT ?`,
  row: `SELECT body ${ofActor} AND rt = ? AND k = ? AND k2 = ?`,
  whole: `SELECT rt, k, k2, body, ${staticColumns} ${ofActor}`,
} as const;

/** Number of text keys in one read, and of rows per page in the other reads. */
const keysPerRead = 500;
const pageRows = 2_000;

/** The head; null when the actor was never claimed. A serial read completes any commit that is under way. */
export async function readStatics(
  session: CassandraSession,
  ref: ActorRef,
  consistency: Consistency,
): Promise<Statics | null> {
  const { rows } = await session.execute(cql.statics, [ref.kind, ref.id], { consistency, idempotent: true });
  return rows[0] === undefined ? null : toStatics(rows[0]);
}

/** When the actor must be woken and by whom; null when the actor was never claimed. */
export async function readWake(
  session: CassandraSession,
  ref: ActorRef,
  consistency: Consistency,
): Promise<{ readonly wakeAtMs: number | null; readonly home: string } | null> {
  const { rows } = await session.execute(cql.wake, [ref.kind, ref.id], { consistency, idempotent: true });
  const row = rows[0];
  return row === undefined ? null : { wakeAtMs: toWake(row["wake_at"]), home: String(row["home"]) };
}

/** Reads what a claim returns besides the head. */
export async function readSystemRows(
  session: CassandraSession,
  ref: ActorRef,
  statics: Pick<Statics, "snapshotSeq" | "outboxLow">,
): Promise<Readonly<Record<"events" | "outbox" | "timers" | "inbox", readonly PartitionRow[]>>> {
  const { kind, id } = ref;
  const read = (text: string, params: readonly (string | number)[]) =>
    executeAll(session, text, params, { idempotent: true, fetchSize: pageRows });
  const [events, outbox, others] = await Promise.all([
    read(cql.events, [kind, id, statics.snapshotSeq]),
    read(cql.outbox, [kind, id, statics.outboxLow]),
    read(cql.others, [kind, id]),
  ]);
  const rest = others.map(toRow);
  return {
    events: events.map(toRow),
    outbox: outbox.map(toRow),
    timers: rest.filter((row) => row.rt === rowTable.timer),
    inbox: rest.filter((row) => row.rt === rowTable.inbox),
  };
}

/** For the activation that reads, `track` remembers which tables are known to have only rows with `k` 0. */
export async function readSelection(
  session: CassandraSession,
  ref: ActorRef,
  selection: RowSelection,
  track: ActorClaim | undefined,
): Promise<readonly PartitionRow[]> {
  const { kind, id } = ref;
  const { rt } = selection;
  const idempotent = true;
  if (!("keys" in selection)) {
    const { k, k2 } = selection.after ?? { k: -1, k2: "" };
    const fetchSize = Math.min(selection.limit, pageRows);
    const params = [kind, id, rt, k, k2, selection.limit];
    return (await executeAll(session, cql.range, params, { idempotent, fetchSize })).map(toRow);
  }
  const reads: Promise<readonly CqlRow[]>[] = [];
  for (let from = 0; from < selection.keys.length; from += keysPerRead) {
    const keys = selection.keys.slice(from, from + keysPerRead);
    reads.push(executeAll(session, cql.byText, [kind, id, rt, keys], { idempotent, fetchSize: keysPerRead }));
  }
  if (track?.hasOnlyZeros(rt) !== true) reads.push(readNumbered(session, ref, selection, track));
  return (await Promise.all(reads)).flat().map(toRow);
}

/** Rows with one of the text keys and `k` above 0: no index leads to them, and no present actor kind has any. */
async function readNumbered(
  session: CassandraSession,
  ref: ActorRef,
  selection: { readonly rt: number; readonly keys: readonly string[] },
  track: ActorClaim | undefined,
): Promise<readonly CqlRow[]> {
  const params = [ref.kind, ref.id, selection.rt];
  const any = await session.execute(cql.anyNumbered, params, { idempotent: true });
  if (any.rows.length === 0) {
    track?.noteOnlyZeros(selection.rt);
    return [];
  }
  const wanted = new Set(selection.keys);
  const rows = await executeAll(session, cql.numbered, params, { idempotent: true, fetchSize: pageRows });
  return rows.filter((row) => wanted.has(String(row["k2"])));
}

/**
 * Reads the whole partition at a level that reaches other regions: anything their replicas lack is written to them
 * (blocking read repair) before this returns. Returns the head as it was read; null when the actor was never claimed.
 */
export async function readThrough(
  session: CassandraSession,
  ref: ActorRef,
  consistency: Consistency,
): Promise<Statics | null> {
  let pageState: string | null = null;
  let first: CqlRow | undefined;
  do {
    const page: CqlResult = await session.execute(cql.whole, [ref.kind, ref.id], {
      consistency,
      idempotent: true,
      fetchSize: pageRows,
      ...(pageState === null ? {} : { pageState }),
    });
    first ??= page.rows[0];
    pageState = page.pageState;
  } while (pageState !== null);
  return first === undefined ? null : toStatics(first);
}

/** Does the same for single rows and the head. */
export async function readRowsThrough(
  session: CassandraSession,
  ref: ActorRef,
  keys: readonly { readonly rt: number; readonly k: number; readonly k2: string }[],
  consistency: Consistency,
): Promise<void> {
  await readStatics(session, ref, consistency);
  const lanes = 16;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let at = lane; at < keys.length; at += lanes) {
        const key = keys[at];
        if (key === undefined) return;
        const params = [ref.kind, ref.id, key.rt, key.k, key.k2];
        await session.execute(cql.row, params, { consistency, idempotent: true });
      }
    }),
  );
}

const lasting = 0;
const expiring = 1;

/** R1: a mark, for an expiring row the expiry as 8 bytes, then the text in UTF-8. */
export function encodeBody(row: Pick<PartitionRow, "body" | "expiresAtMs">): Buffer {
  const { body, expiresAtMs } = row;
  const start = expiresAtMs === undefined ? 1 : 9;
  const bytes = Buffer.allocUnsafe(start + Buffer.byteLength(body, "utf8"));
  bytes[0] = expiresAtMs === undefined ? lasting : expiring;
  if (expiresAtMs !== undefined) bytes.writeDoubleBE(expiresAtMs, 1);
  bytes.write(body, start, "utf8");
  return bytes;
}

export function toRow(row: CqlRow): PartitionRow {
  const bytes = toBuffer(row["body"]);
  const mark = bytes[0];
  const start = mark === lasting ? 1 : 9;
  if ((mark !== lasting && mark !== expiring) || bytes.length < start) {
    throw new StoreError("not_applied", "a row of an actor was not written by this store");
  }
  const body = bytes.toString("utf8", start);
  const plain = { rt: Number(row["rt"]), k: Number(row["k"]), k2: String(row["k2"]), body };
  return mark === lasting ? plain : { ...plain, expiresAtMs: bytes.readDoubleBE(1) };
}

function toStatics(row: CqlRow): Statics {
  const snap = row["snap"];
  const movedFrom = row["moved_from"];
  return {
    epoch: Number(row["epoch"]),
    owner: String(row["owner"]),
    head: Number(row["head"]),
    op: toOperation(row["op"]),
    snapshotSeq: Number(row["snap_seq"]),
    snapshot: snap === null ? null : toBuffer(snap).toString("utf8"),
    schemaVersion: Number(row["schema_v"]),
    claim: String(row["claim"]),
    wakeAtMs: toWake(row["wake_at"]),
    outboxLow: Number(row["outbox_low"]),
    home: String(row["home"]),
    movedFrom: typeof movedFrom === "string" ? movedFrom : null,
    epochAtUs: Number(row["epoch_at"]),
  };
}

/** The port represents the operation before the first commit as an empty text. */
export function toOperation(column: CqlRow[string] | undefined): string {
  return typeof column !== "string" || column === noOperation ? "" : column;
}

export function fromOperation(op: string): string {
  return op === "" ? noOperation : op;
}

function toWake(column: CqlRow[string] | undefined): number | null {
  return typeof column !== "number" || column === neverWakes ? null : column;
}

function toBuffer(column: CqlRow[string] | undefined): Buffer {
  if (!(column instanceof Uint8Array)) throw new StoreError("not_applied", "a row of an actor has no body");
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength);
}

// What this process remembers of an actor that it claimed, so that a commit needs no read.
//   T1. A track is used only for the commit that directly follows what it last saw (epoch and head). Evicting a track is
//       always safe: the next commit then makes the weakest assumptions.
//   T2. `outboxLow` is never above the `k` of an existing outbox row.
//   T3. `hintAtMs` is a time at or before which the store has a hint for the actor, and until which it keeps one.

/** What a claim found: the initial state of a track. */
export interface TrackStart {
  readonly epoch: number;
  readonly head: number;
  readonly outboxLow: number;
  /** `k` of the outbox rows, in ascending order. */
  readonly outbox: readonly number[];
  readonly wakeAtMs: number | null;
}

/** The outbox as a commit will leave it; {@link ActorClaim.follow} adopts it once the commit is applied. */
interface NextOutbox {
  readonly low: number;
  readonly added: readonly number[];
  readonly removed: ReadonlySet<number>;
}

const none: ReadonlySet<number> = new Set();

export class ActorClaim {
  readonly epoch: number;
  #head: number;
  /** In insertion order, which is ascending unless `#isAscending` is false. */
  readonly #outbox: Set<number>;
  #isAscending = true;
  #highest: number;
  #low: number;
  readonly #onlyZeros = new Set<number>();
  hintAtMs: number | null;

  constructor(start: TrackStart) {
    this.epoch = start.epoch;
    this.#head = start.head;
    this.#outbox = new Set(start.outbox);
    this.#low = start.outboxLow;
    this.#highest = start.outbox.at(-1) ?? start.outboxLow - 1;
    this.hintAtMs = start.wakeAtMs;
  }

  /** See T1. */
  precedes(commit: Pick<ActorCommit, "epoch" | "expectedHead">): boolean {
    return commit.epoch === this.epoch && commit.expectedHead === this.#head;
  }

  get outboxLow(): number {
    return this.#low;
  }

  /** The bound after `commit` (T2). */
  nextOutbox(commit: ActorCommit): NextOutbox {
    const added = commit.puts.filter((row) => row.rt === rowTable.outbox).map((row) => row.k);
    const gone = commit.deletes.filter((key) => key.rt === rowTable.outbox);
    const removed = gone.length === 0 ? none : new Set(gone.map((key) => key.k));
    return { low: this.#lowest(added, removed), added, removed };
  }

  /** Called when the commit was applied. */
  follow(commit: ActorCommit): void {
    const { low, added, removed } = this.nextOutbox(commit);
    for (const k of removed) this.#outbox.delete(k);
    for (const k of added) {
      if (k < this.#highest) this.#isAscending = false;
      this.#highest = Math.max(this.#highest, k);
      this.#outbox.add(k);
    }
    if (this.#outbox.size === 0) this.#isAscending = true;
    this.#low = low;
    this.#head = commit.expectedHead + 1;
    for (const row of commit.puts) if (row.k > 0) this.#onlyZeros.delete(row.rt);
  }

  hasOnlyZeros(rt: number): boolean {
    return this.#onlyZeros.has(rt);
  }

  /** Records that no row of the table has a `k` above 0. */
  noteOnlyZeros(rt: number): void {
    this.#onlyZeros.add(rt);
  }

  #lowest(added: readonly number[], removed: ReadonlySet<number>): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const k of this.#outbox) {
      if (removed.has(k)) continue;
      lowest = Math.min(lowest, k);
      if (this.#isAscending) break;
    }
    for (const k of added) lowest = Math.min(lowest, k);
    // An empty outbox: the next row is above all previous ones, or lowers the bound again.
    return lowest === Number.POSITIVE_INFINITY ? this.#highest + 1 : lowest;
  }
}

/** Maximum number of cached tracks; the least recently used are evicted first (T1). */
const tracksMax = 50_000;

export class ClaimCache {
  readonly #tracks = new BoundedMap<string, ActorClaim>(tracksMax);

  set(ref: ActorRef, track: ActorClaim): void {
    this.#tracks.set(keyOf(ref), track);
  }

  get(ref: ActorRef): ActorClaim | undefined {
    return this.#tracks.get(keyOf(ref));
  }

  /** The track of the activation that `commit` belongs to, if it is up to date for the commit (T1). */
  before(commit: ActorCommit): ActorClaim | undefined {
    const track = this.get(commit.ref);
    return track?.precedes(commit) === true ? track : undefined;
  }

  forget(ref: ActorRef): void {
    this.#tracks.delete(keyOf(ref));
  }
}

function keyOf(ref: ActorRef): string {
  return `${ref.kind}\n${ref.id}`;
}
