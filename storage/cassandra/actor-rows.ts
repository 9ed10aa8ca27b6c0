// The rows of an actor's partition: how they are encoded and how they are read.
//   R1. A body contains its own expiry, so a row that replaces an expiring one does not inherit its expiry.
//   R2. No read of a table walks over rows deleted before it: each has a lower bound, or names its keys.

import { Buffer } from "node:buffer";
import {
  type ActorHead,
  type ActorRef,
  type PartitionRow,
  type RowSelection,
  rowTable,
  StoreError,
} from "../actor-store.ts";
import type { ActorClaim } from "./claim-cache.ts";
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
