// The Merkle trees of pushes in progress: built at acceptance, reused for the inclusion path of every leaf. Purely a
// cache: a tree that was evicted is rebuilt from the staged leaves.

import type { Sha256 } from "../protocol/hash.ts";
import { buildTree, leafHash, type MerkleTree } from "../protocol/merkle.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import type { RecordStore } from "../storage/record-store.ts";

const treesMax = 8;
const leavesPerRead = 1_000;

export interface PushTrees {
  put(pushId: string, tree: MerkleTree): void;
  /** The tree over all `records` staged leaves of a push. */
  load(pushId: string, records: number): Promise<MerkleTree>;
  drop(pushId: string): void;
}

export function createPushTrees(records: RecordStore, sha256: Sha256): PushTrees {
  const trees = new BoundedMap<string, MerkleTree>(treesMax);
  return {
    put: (pushId, tree) => trees.set(pushId, tree),
    drop: (pushId) => void trees.delete(pushId),
    load: async (pushId, count) => {
      const known = trees.get(pushId);
      if (known) return known;
      const hashes: Uint8Array[] = [];
      while (hashes.length < count) {
        const leaves = await records.loadLeaves(
          pushId,
          hashes.length,
          Math.min(leavesPerRead, count - hashes.length),
        );
        if (leaves.length === 0) throw new Error(`Leaf ${hashes.length} of ${pushId} is not staged.`);
        for (const leaf of leaves) hashes.push(leafHash(leaf, sha256));
      }
      const tree = buildTree(hashes, sha256);
      trees.set(pushId, tree);
      return tree;
    },
  };
}
