// Records that admission parsed and judged for planning, kept for the chunks that will publish them. Purely a cache: a
// leaf that is not here is parsed and judged again.
//   J1. A leaf is handed out once, so that what is on its way to the store is not also kept here.
//   J2. At most `pushesMax` pushes are kept, and no more than `leafBytesMax` of leaves for each: parsed, they take about
//       four times as much.

import type { JsonObject } from "../protocol/canonical-json.ts";
import { BoundedMap } from "../std/bounded-map.ts";

const pushesMax = 2;
const leafBytesMax = 16 * 1024 * 1024;

/** A leaf that `judgeRecord` accepted, and the id of its record. */
export interface ParsedLeaf {
  readonly record: JsonObject;
  readonly recordId: string;
  /** The version of the content lists by which it was judged. */
  readonly listsVersion?: number | undefined;
}

export interface ParsedLeaves {
  /** Keeps the leaves of a push by their index; undefined for one that will be rejected. `bytes` is their total length. */
  put(push: string, leaves: readonly (ParsedLeaf | undefined)[], bytes: number): void;
  /** The leaf, if it is still cached (J1). */
  take(push: string, leafIndex: number): ParsedLeaf | undefined;
  drop(push: string): void;
}

export function createParsedLeaves(): ParsedLeaves {
  const pushes = new BoundedMap<string, (ParsedLeaf | undefined)[]>(pushesMax);
  return {
    put: (push, leaves, bytes) => {
      if (bytes > leafBytesMax) pushes.delete(push);
      else pushes.set(push, [...leaves]);
    },
    take: (push, leafIndex) => {
      const leaves = pushes.get(push);
      const leaf = leaves?.[leafIndex];
      if (leaf !== undefined && leaves !== undefined) leaves[leafIndex] = undefined;
      return leaf;
    },
    drop: (push) => void pushes.delete(push),
  };
}
