// Port: what anybody may read of the transparency log: its tiles, its bundles of entries, its leaves and its checkpoint.
// Every implementation passes storage/log-store.conformance.ts.
//
// Obligations of an implementation:
//   L1. Once `write` has returned, its objects and leaves can be read by every node of the region, and survive the loss of a
//       process and, as configured, of power.
//   L2. An object never changes: writing the same bytes again does nothing, and other bytes under its name are refused with
//       {@link LogConflict}. So is another index for a leaf. The one exception is what reaches beyond the tree of `over` leaves,
//       if the writer names such a size: a home that was lost wrote it, and published nothing of it.
//       A full tile replaces the partial ones of its place, which are removed: each is its beginning, and is read from it by
//       readers that hold an older checkpoint (C2SP tlog-tiles, «Partial tiles»). Wherever they are gone, the full tile can be read.
//   L3. The checkpoint only advances: `publish` refuses one that is smaller than that in force, or of the same size with
//       another root. The comparison and the change are one step.
//   L4. `readNewestCheckpoint` finds the newest checkpoint that any copy has that is still in use, also right after a region was
//       lost. It rejects where a copy cannot be asked.

import { beginningOfBundle } from "../protocol/log/leaves.ts";
import { parseTilePath, reachOf, tileWidth } from "../protocol/log/tiles.ts";

/** An object of C2SP tlog-tiles by its path: `tile/0/000`, `tile/entries/000.p/7`. */
export interface LogObject {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface LeafPlace {
  /** `sha256:<hex>` of what the entry is about. */
  readonly leaf: string;
  readonly index: number;
}

export interface StoredCheckpoint {
  readonly size: number;
  /** `sha256:<hex>`. */
  readonly root: string;
  /** The signed note. */
  readonly note: string;
}

export interface LogStore {
  /** Throws {@link StoreError}; what was written by then may or may not be there. Throws {@link LogConflict} (L2). */
  write(
    objects: readonly LogObject[],
    leaves: readonly LeafPlace[],
    options?: { readonly over?: number | undefined },
  ): Promise<void>;
  /** The objects in the order asked for; null where there is none of that name. */
  read(paths: readonly string[]): Promise<readonly (Uint8Array | null)[]>;
  /** The indexes of leaves, in the order asked for; null where the log has none. One may not be published yet. */
  findLeaves(leaves: readonly string[]): Promise<readonly (number | null)[]>;
  /** Throws {@link LogConflict} (L3). A newer note for the same tree replaces the older one. */
  publish(checkpoint: StoredCheckpoint): Promise<void>;
  /** Null before the first. */
  readCheckpoint(): Promise<StoredCheckpoint | null>;
  /** Slower than {@link readCheckpoint}, and needs every copy (L4). */
  readNewestCheckpoint(): Promise<StoredCheckpoint | null>;
}

/** Whether an object reaches beyond the tree of `over` leaves, so that it may be replaced (L2). */
export function isReplaceable(path: string, over: number | undefined): boolean {
  const tile = parseTilePath(path);
  return over !== undefined && tile !== null && reachOf(tile) > over;
}

/** A partial tile or bundle as the full one of its place gives it (L2); null where that is none. */
export function beginningOf(path: string, full: Uint8Array): Uint8Array | null {
  const tile = parseTilePath(path);
  if (tile === null) return null;
  if (tile.kind === "entries") return beginningOfBundle(full, tile.width);
  return full.length === tileWidth * 32 ? full.slice(0, tile.width * 32) : null;
}

/** The log would have to take something back. It never does: the writer is wrong, or the store is that of another log. */
export class LogConflict extends Error {
  override readonly name = "LogConflict";
}
