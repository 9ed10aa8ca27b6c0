// Port: commits that the actor store's fence refused, recorded so that they outlive the node that sent them.
// Every implementation passes storage/fence-ledger.conformance.ts.
//
// Obligations of an implementation:
//   L1. `note` keeps the highest count of an incarnation: repeating it, or noting a lower count, changes nothing. After an
//       unknown outcome it is therefore simply repeated.
//   L2. Once `note` has returned, `read` shows the count in the region that noted it, even after the loss of any process.
//       Other regions show it eventually.
//   L3. At most `incarnationsMax` incarnations of a region are kept separately. When one more arrives, the incarnation
//       that was refused longest ago is added to the earlier ones: no total ever falls.
//   L4. A region's refusals are noted in that region only, and need no other region.

export interface FenceRefusals {
  readonly region: string;
  /** The incarnation of the node that was refused; empty for the sum of the earlier ones (L3). */
  readonly incarnation: string;
  readonly refusals: number;
  /** Unix milliseconds of the last refusal, by the clock of the node that was refused. */
  readonly last_at_ms: number;
}

/** Number of incarnations of a region that are kept separately (L3). */
export const incarnationsMax = 64;
/** The name under which all other incarnations are kept (L3). */
export const earlier = "";

export interface FenceLedger {
  /** Throws StoreError. */
  note(refusals: FenceRefusals): Promise<void>;
  /** Returns the refusals of all regions, in no particular order. Throws StoreError. */
  read(): Promise<readonly FenceRefusals[]>;
}

/** Returns the incarnation that makes room for another one of its region; null while there is room (L3). */
export function leastRecent(kept: readonly FenceRefusals[]): FenceRefusals | null {
  const apart = kept.filter(({ incarnation }) => incarnation !== earlier);
  if (apart.length < incarnationsMax) return null;
  return apart.reduce((oldest, each) => (each.last_at_ms < oldest.last_at_ms ? each : oldest));
}

/** The sum of the earlier incarnations after `folded` has been added to it. */
export function withEarlier(known: FenceRefusals | undefined, folded: FenceRefusals): FenceRefusals {
  return {
    region: folded.region,
    incarnation: earlier,
    refusals: (known?.refusals ?? 0) + folded.refusals,
    last_at_ms: Math.max(known?.last_at_ms ?? 0, folded.last_at_ms),
  };
}

export { StoreError } from "./actor-store.ts";
