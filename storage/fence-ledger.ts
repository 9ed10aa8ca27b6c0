// Port: commits that the fence of the actor store held back, remembered beyond the node that had sent them.
// Every implementation passes storage/fence-ledger.conformance.ts.
//
// Obligations of an implementation:
//   L1. `note` keeps the highest count of an incarnation: repeating it, or noting a lower one, changes nothing. So after
//       an unknown outcome it is simply repeated.
//   L2. Once `note` has answered, `read` shows it in the region that noted it, also after the loss of any process. Other
//       regions show it in time.
//   L3. At most `incarnationsMax` of a region are kept apart. For one more, the one that was refused longest ago is added
//       to the earlier ones: no total ever falls.
//   L4. A region's refusals are noted in that region only, and need no other.

export interface FenceRefusals {
  readonly region: string;
  /** The incarnation of the node that was refused; empty for earlier ones, added up (L3). */
  readonly incarnation: string;
  readonly refusals: number;
  /** Unix milliseconds of the last one, by the clock of the node that was refused. */
  readonly last_at_ms: number;
}

/** Incarnations of a region that are kept apart (L3). */
export const incarnationsMax = 64;
/** The name of those that are not (L3). */
export const earlier = "";

export interface FenceLedger {
  /** Throws StoreError. */
  note(refusals: FenceRefusals): Promise<void>;
  /** Of all regions, in no order. Throws StoreError. */
  read(): Promise<readonly FenceRefusals[]>;
}

/** The incarnation that makes room for another one of its region; null while there is room (L3). */
export function leastRecent(kept: readonly FenceRefusals[]): FenceRefusals | null {
  const apart = kept.filter(({ incarnation }) => incarnation !== earlier);
  if (apart.length < incarnationsMax) return null;
  return apart.reduce((oldest, each) => (each.last_at_ms < oldest.last_at_ms ? each : oldest));
}

/** What the earlier ones are once `folded` is one of them. */
export function withEarlier(known: FenceRefusals | undefined, folded: FenceRefusals): FenceRefusals {
  return {
    region: folded.region,
    incarnation: earlier,
    refusals: (known?.refusals ?? 0) + folded.refusals,
    last_at_ms: Math.max(known?.last_at_ms ?? 0, folded.last_at_ms),
  };
}

export { StoreError } from "./actor-store.ts";
