// Write timestamps: what Cassandra orders the writes of a cell by, in microseconds. The higher one wins, whichever comes
// later; of equal ones a deletion wins, then the greater value. Each cell is judged alone.
//   W1. A row that is replaced by a higher `change` is stamped with the change itself, so no clock takes part. Two writes
//       of one change may differ only by a bug; such a row has one cell that matters, so that no mixture is ever read.
//   W2. A row that never changes is stamped with time running backward: the first write wins, and repeating it later,
//       even with other contents, changes nothing. Such stamps lie before `epochMs`, so a deletion at any true time wins.
//   W3. Rows stamped with a change are never deleted: a deletion at a true time would hide every later write.
//   W4. What is written, deleted and written again has true time, so whoever does all three has to do with clocks that
//       differ by less than what lies between: nodes more than two seconds off are refused by the cluster.

/** Before the first node ran: 2026-01-01. */
const epochMs = 1_767_225_600_000;

export interface Stamps {
  /** True time; never the same twice from one process. */
  rising(): number;
  /** True time mirrored at `epochMs` (W2); never the same twice from one process. */
  falling(): number;
}

/** `now` gives Unix milliseconds. */
export function createStamps(now: () => number): Stamps {
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

/** W1. Throws RangeError for what is no change number: our own bug, and a stamp that no later change could undo. */
export function stampOfChange(change: number): number {
  if (Number.isSafeInteger(change) && change >= 0) return change + 1;
  throw new RangeError(`${change} is not a change number`);
}
