// Merkle trees of RFC 6962 §2.1 (RFC 9162 §2.1): leaf hash SHA-256(0x00 ‖ leaf), node hash SHA-256(0x01 ‖ left ‖ right).

import { sha256 as portableSha256, type Sha256 } from "./hash.ts";

/** A tree over fixed leaf hashes. */
export interface MerkleTree {
  readonly size: number;
  /** 32 bytes; the hash of nothing for a tree without leaves. */
  readonly root: Uint8Array;
  /** Audit path of a leaf, leaf to root: O(log n). Throws RangeError outside the tree. */
  path(index: number): Uint8Array[];
}

/** Hash of a leaf's bytes (RFC 6962 §2.1). */
export function leafHash(bytes: Uint8Array, sha256: Sha256 = portableSha256): Uint8Array {
  const prefixed = new Uint8Array(bytes.length + 1);
  prefixed.set(bytes, 1);
  return sha256(prefixed);
}

function nodeHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  const node = new Uint8Array(65);
  node[0] = 1;
  node.set(left, 1);
  node.set(right, 33);
  return sha256(node);
}

/** All levels of the tree; a last node without a sibling is carried up unchanged, which is the tree of RFC 6962. */
export function buildTree(leafHashes: readonly Uint8Array[], sha256: Sha256 = portableSha256): MerkleTree {
  const levels: (readonly Uint8Array[])[] = [leafHashes];
  let level = leafHashes;
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const left = level[index] as Uint8Array;
      const right = level[index + 1];
      above.push(right ? nodeHash(left, right, sha256) : left);
    }
    levels.push(above);
    level = above;
  }
  return {
    size: leafHashes.length,
    root: level[0] ?? sha256(new Uint8Array()),
    path: (index) => pathIn(levels, index),
  };
}

function pathIn(levels: readonly (readonly Uint8Array[])[], index: number): Uint8Array[] {
  const size = levels[0]?.length ?? 0;
  if (!Number.isInteger(index) || index < 0 || index >= size)
    throw new RangeError(`No leaf ${index} in a tree of ${size}.`);
  const path: Uint8Array[] = [];
  let position = index;
  for (const level of levels) {
    const sibling = level[position ^ 1];
    if (sibling && level.length > 1) path.push(sibling);
    position >>= 1;
  }
  return path;
}

/** Root over leaf hashes in order (RFC 6962 §2.1). */
export function merkleRoot(leafHashes: readonly Uint8Array[], sha256: Sha256 = portableSha256): Uint8Array {
  return buildTree(leafHashes, sha256).root;
}

/** A leaf's claimed place in a tree. */
export interface InclusionClaim {
  readonly leafHash: Uint8Array;
  readonly index: number;
  readonly treeSize: number;
  readonly path: readonly Uint8Array[];
}

/** The root that the path leads to (RFC 9162 §2.1.3.2); null when index, size or path length do not fit together. */
export function rootFromPath(claim: InclusionClaim, sha256: Sha256 = portableSha256): Uint8Array | null {
  const { index, treeSize, path } = claim;
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(treeSize) || index < 0 || index >= treeSize)
    return null;
  if (claim.leafHash.length !== 32) return null;
  let position = index;
  let last = treeSize - 1;
  let root = claim.leafHash;
  for (const sibling of path) {
    if (sibling.length !== 32 || last === 0) return null;
    if (position % 2 === 1 || position === last) {
      root = nodeHash(sibling, root, sha256);
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2);
        last = Math.floor(last / 2);
      }
    } else {
      root = nodeHash(root, sibling, sha256);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? root : null;
}
