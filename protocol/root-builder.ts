// The root of a Merkle tree (RFC 6962 §2.1) over leaves that arrive one after another, in memory for a few hashes only.

import { sha256 as portableSha256, type Sha256 } from "./hash.ts";
import { nodeHash } from "./merkle.ts";

export interface RootBuilder {
  add(leafHash: Uint8Array): void;
  /** The root over the leaves so far; for none, the hash of the empty string. */
  root(): Uint8Array;
}

/** Begins a tree without leaves. */
export function createRootBuilder(sha256: Sha256 = portableSha256): RootBuilder {
  // The roots of complete subtrees, largest first: one for each bit of the number of leaves.
  const complete: Uint8Array[] = [];
  let leaves = 0;
  return {
    add: (leafHash) => {
      let node = leafHash;
      for (let count = leaves; count % 2 === 1; count = Math.floor(count / 2)) {
        node = nodeHash(complete.pop() as Uint8Array, node, sha256);
      }
      complete.push(node);
      leaves += 1;
    },
    root: () => {
      const last = complete.at(-1);
      if (last === undefined) return sha256(new Uint8Array());
      return complete.slice(0, -1).reduceRight((right, left) => nodeHash(left, right, sha256), last);
    },
  };
}
