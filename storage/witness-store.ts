// Port: what a witness remembers of the logs that it watches. Every implementation passes storage/witness-store.conformance.ts.
//
// Obligations of an implementation:
//   W1. Once `advance` has returned true, every later `read` by any process returns that head or a later one, also after a crash
//       and a loss of power.
//   W2. The comparison and the change of `advance` are one step: of two that begin at the same head, one returns false.
//   W3. A head never gets smaller, and its root changes only together with its size.

/** The latest checkpoint that was cosigned. */
export interface WitnessedHead {
  readonly size: number;
  /** `sha256:<hex>`. */
  readonly root: string;
  /** The checkpoint as the log signed it: the evidence if the log ever shows another tree. */
  readonly note: string;
}

export interface WitnessStore {
  /** Null for a log of which nothing was cosigned. */
  read(origin: string): Promise<WitnessedHead | null>;
  /** Makes `to` the head of the log if it still is `from`; returns whether it was. Throws RangeError (W3). */
  advance(origin: string, from: WitnessedHead | null, to: WitnessedHead): Promise<boolean>;
}

/** Throws RangeError for a step that takes something back (W3). */
export function assertForward(from: WitnessedHead | null, to: WitnessedHead): void {
  const isForward = from === null || to.size > from.size || (to.size === from.size && to.root === from.root);
  if (!isForward) throw new RangeError(`A log of ${from.size} leaves cannot become this one of ${to.size}.`);
}
