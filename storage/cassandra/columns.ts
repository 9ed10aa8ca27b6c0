// Reads columns of tables that only we write: a value whose type differs from the column's declaration is damage.

import type { CqlRow } from "./session.ts";

type Column = CqlRow[string] | undefined;

export function textOf(value: Column): string {
  if (typeof value === "string") return value;
  throw new TypeError(`a column is not text but ${typeof value}`);
}

/** Returns a plain view, because the driver returns a Buffer. */
export function bytesOf(value: Column): Uint8Array {
  if (value instanceof Uint8Array) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`a column is not bytes but ${typeof value}`);
}

export function numberOf(value: Column): number {
  if (typeof value === "number") return value;
  throw new TypeError(`a column is not a number but ${typeof value}`);
}

export function numberOrNull(value: Column): number | null {
  return value === null ? null : numberOf(value);
}

// Spreads what would otherwise be one partition over several.

/** A number below `count` that depends on the text alone (FNV-1a, 32 bits, folded). Stored data depends on it. */
export function bucketOf(text: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}

// Write timestamps: what Cassandra orders the writes of a cell by, in microseconds. The higher one wins, whichever arrives
// later; on a tie a deletion wins, then the greater value. Each cell is compared separately.
//   W1. A row that is replaced by a higher `change` is stamped with the change itself, so no clock is involved. Two writes
//       with the same change can differ only because of a bug; such a row has only one cell that matters, so that a
//       mixture is never read.
//   W2. A row that never changes is stamped with time running backward: the first write wins, and repeating it later, even
//       with other contents, changes nothing. Such stamps precede `epochMs`, so a deletion at any true time wins.
//   W3. Rows stamped with a change are never deleted: a deletion at a true time would hide every later write.
//   W4. What is written, deleted and written again is stamped with true time, so these three steps depend on the clocks
//       differing by less than the time between them: the cluster refuses nodes that are more than two seconds off.

/** Before the first node ran: 2026-01-01. */
const epochMs = 1_767_225_600_000;

export interface WriteTimestamps {
  /** True time; never the same value twice from one process. */
  rising(): number;
  /** True time mirrored at `epochMs` (W2); never the same value twice from one process. */
  falling(): number;
}

/** `now` returns Unix milliseconds. */
export function createWriteTimestamps(now: () => number): WriteTimestamps {
  let last = 0;
  const rising = (): number => {
    last = Math.max(last + 1, now() * 1_000);
    return last;
  };
  return { rising, falling: () => 2 * epochMs * 1_000 - rising() };
}

/** The instant of a rising stamp, in Unix milliseconds. */
export function msOfStamp(stamp: number): number {
  return Math.floor(stamp / 1_000);
}

/**
 * The stamp of a change (W1). Throws RangeError for anything that is not a change number: it would be our own bug, and a
 * stamp that no later change could supersede.
 */
export function stampOfChange(change: number): number {
  if (Number.isSafeInteger(change) && change >= 0) return change + 1;
  throw new RangeError(`${change} is not a change number`);
}
