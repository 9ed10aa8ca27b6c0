// What work on untrusted bytes consists of, said where it is done, so that a test can count how much is done between two looks at the
// time (pace.ts) without a clock.
//   WK1. Outside tests nobody counts, and saying it costs one comparison: it is said once for a text, an object or a hash, never
//        for each byte.
//   WK2. What is said grows with the time that is taken, in whichever way an input makes it grow.

/**
 * What each takes, in nanoseconds, on the machine whose figures docs/hardening.md has: a byte that is read, decoded, written or
 * hashed; a value or member of JSON; a character that the content rules look at, and one in a text that may break them; a step in
 * the comparison of a name with a known one; a fault that is found; a price that is compared with the one before it; a hash and a
 * signature, besides their bytes.
 */
export const workCosts = {
  byte: 3,
  value: 60,
  character: 25,
  tellingCharacter: 900,
  comparison: 25,
  fault: 1_000,
  price: 1_000,
  hash: 1_000,
  signature: 150_000,
} as const;

/** @internal for tests: the most work at a stretch, in milliseconds by these costs: it takes less than 50 ms there. */
export const workMsMax = 25;

export type WorkKind = keyof typeof workCosts;
export type WorkObserver = (kind: WorkKind, times: number) => void;

let observer: WorkObserver | null = null;

/** Says that work of this kind is done so many times (WK2). */
export function noteWork(kind: WorkKind, times: number): void {
  if (observer !== null) observer(kind, times);
}

/** @internal for tests: from now on all work of this process is reported; null ends it. */
export function observeWork(next: WorkObserver | null): void {
  observer = next;
}
