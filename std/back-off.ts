/** More doublings would overflow to Infinity, and Infinity times a first delay of 0 is NaN. */
const doublingsMax = 1_000;

export interface BackOff {
  /** The delay before the first retry. */
  readonly firstMs: number;
  /** The longest delay before any retry. */
  readonly maxMs: number;
}

/** Milliseconds to wait before retry number `attempt` (1 for the first): doubles each time, up to the maximum. */
export function backOffMs(attempt: number, { firstMs, maxMs }: BackOff): number {
  return Math.min(firstMs * 2 ** Math.min(attempt - 1, doublingsMax), maxMs);
}
