/** More would be no number any more, and a first delay of 0 could not be told from it. */
const doublingsMax = 1_000;

export interface BackOff {
  /** Before the first repetition. */
  readonly firstMs: number;
  /** Before any. */
  readonly maxMs: number;
}

/** Milliseconds to wait before repetition number `attempt` (1 for the first): twice as long each time, up to the most. */
export function backOffMs(attempt: number, { firstMs, maxMs }: BackOff): number {
  return Math.min(firstMs * 2 ** Math.min(attempt - 1, doublingsMax), maxMs);
}
