// Merkle trees of RFC 6962 §2.1 (RFC 9162 §2.1): leaf hash SHA-256(0x00 ‖ leaf), node hash SHA-256(0x01 ‖ left ‖ right).

import { equalBytes, sha256 as portableSha256, type Sha256 } from "./bytes.ts";

/** A tree over fixed leaf hashes. */
export interface MerkleTree {
  readonly size: number;
  /** 32 bytes; for a tree without leaves, the hash of the empty string. */
  readonly root: Uint8Array;
  /** The audit path of a leaf, from leaf to root: O(log n). Throws RangeError outside the tree. */
  path(index: number): Uint8Array[];
}

/** The hash of a leaf's bytes (RFC 6962 §2.1). */
export function leafHash(bytes: Uint8Array, sha256: Sha256 = portableSha256): Uint8Array {
  const prefixed = new Uint8Array(bytes.length + 1);
  prefixed.set(bytes, 1);
  return sha256(prefixed);
}

/** What an inner node hashes. One for all of them: a hash keeps nothing of its input, and allocating it takes longer than hashing it. */
const node = Uint8Array.of(1, ...new Uint8Array(64));

/** The hash of an inner node (RFC 6962 §2.1). */
export function nodeHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  if (left.length !== 32 || right.length !== 32) throw new RangeError("A node has two hashes of 32 bytes.");
  node.set(left, 1);
  node.set(right, 33);
  return sha256(node);
}

/**
 * Builds all levels of the tree; a last node without a sibling is carried up unchanged, which yields the tree of RFC 6962.
 */
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

/** The root over leaf hashes in order (RFC 6962 §2.1). */
export function merkleRoot(leafHashes: readonly Uint8Array[], sha256: Sha256 = portableSha256): Uint8Array {
  return buildTree(leafHashes, sha256).root;
}

/**
 * The audit path of one leaf (RFC 6962 §2.1.1). Throws RangeError outside the tree.
 * @internal for tests: the log itself proves from its tiles (log/tiles.ts).
 */
export function inclusionPath(
  leafHashes: readonly Uint8Array[],
  index: number,
  sha256: Sha256 = portableSha256,
): Uint8Array[] {
  return buildTree(leafHashes, sha256).path(index);
}

/** The root over 2^n hashes, which are given one after another. */
export function rootOfHashes(hashes: Uint8Array, sha256: Sha256): Uint8Array {
  const level = new Uint8Array(hashes);
  for (let length = level.length; length > 32; length /= 2)
    for (let at = 0; at < length; at += 64) {
      for (let byte = 0; byte < 64; byte += 1) node[byte + 1] = level[at + byte] as number;
      level.set(sha256(node), at / 2);
    }
  return level.slice(0, 32);
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
  const steps = stepsOf(claim);
  return steps === null || claim.leafHash.length !== 32 ? null : rootFromSteps(claim.leafHash, steps, sha256);
}

/** One hash of a path, and on which side of what was reached it stands. */
export interface PathStep {
  readonly hash: Uint8Array;
  readonly side: "left" | "right";
}

/** The steps of a path; null for one that is no path of its place and tree (RFC 9162 §2.1.3.2). */
export function stepsOf({
  index,
  treeSize,
  path,
}: Omit<InclusionClaim, "leafHash">): readonly PathStep[] | null {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(treeSize) || index < 0 || index >= treeSize)
    return null;
  let position = index;
  let last = treeSize - 1;
  const steps: PathStep[] = [];
  for (const hash of path) {
    if (hash.length !== 32 || last === 0) return null;
    const isLeft = position % 2 === 1 || position === last;
    steps.push({ hash, side: isLeft ? "left" : "right" });
    while (isLeft && position % 2 === 0 && position !== 0) {
      position = Math.floor(position / 2);
      last = Math.floor(last / 2);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? steps : null;
}

/** Where the steps lead from a leaf. */
export function rootFromSteps(leaf: Uint8Array, steps: readonly PathStep[], sha256: Sha256): Uint8Array {
  return steps.reduce(
    (reached, { hash, side }) =>
      side === "left" ? nodeHash(hash, reached, sha256) : nodeHash(reached, hash, sha256),
    leaf,
  );
}

/**
 * The consistency proof between the first `first` leaves and all of them (RFC 6962 §2.1.2). Throws RangeError unless 1 <=
 * first <= size.
 * @internal for tests: the log itself proves from its tiles (log/tiles.ts).
 */
export function consistencyPath(
  leafHashes: readonly Uint8Array[],
  first: number,
  sha256: Sha256 = portableSha256,
): Uint8Array[] {
  const size = leafHashes.length;
  if (!Number.isInteger(first) || first < 1 || first > size)
    throw new RangeError(`No consistency from ${first} to ${size}.`);
  return subproof(leafHashes, first, true, sha256);
}

function subproof(
  leaves: readonly Uint8Array[],
  first: number,
  isComplete: boolean,
  sha256: Sha256,
): Uint8Array[] {
  if (first === leaves.length) return isComplete ? [] : [merkleRoot(leaves, sha256)];
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  const left = leaves.slice(0, split);
  const right = leaves.slice(split);
  return first <= split
    ? [...subproof(left, first, isComplete, sha256), merkleRoot(right, sha256)]
    : [...subproof(right, first - split, false, sha256), merkleRoot(left, sha256)];
}

/** Two tree heads and the proof between them. */
export interface ConsistencyClaim {
  readonly firstSize: number;
  readonly secondSize: number;
  readonly firstRoot: Uint8Array;
  readonly secondRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/**
 * Whether the second tree extends the first (RFC 9162 §2.1.4.2).
 */
export function verifyConsistency(claim: ConsistencyClaim, sha256: Sha256 = portableSha256): boolean {
  const { firstSize, secondSize, firstRoot, secondRoot, path } = claim;
  if (
    !Number.isSafeInteger(firstSize) ||
    !Number.isSafeInteger(secondSize) ||
    firstSize < 1 ||
    firstSize > secondSize
  )
    return false;
  if ([firstRoot, secondRoot, ...path].some((hash) => hash.length !== 32)) return false;
  if (firstSize === secondSize) return path.length === 0 && equalBytes(firstRoot, secondRoot);
  const proof = isPowerOfTwo(firstSize) ? [firstRoot, ...path] : [...path];
  const start = proof[0];
  if (!start) return false;
  let position = firstSize - 1;
  let last = secondSize - 1;
  while (position % 2 === 1) {
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  let first = start;
  let second = start;
  for (const hash of proof.slice(1)) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      first = nodeHash(hash, first, sha256);
      second = nodeHash(hash, second, sha256);
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2);
        last = Math.floor(last / 2);
      }
    } else {
      second = nodeHash(second, hash, sha256);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && equalBytes(first, firstRoot) && equalBytes(second, secondRoot);
}

/** Exact for every safe integer, unlike a logarithm. */
function isPowerOfTwo(size: number): boolean {
  let rest = size;
  while (rest > 1 && rest % 2 === 0) rest /= 2;
  return rest === 1;
}

// The root of a Merkle tree (RFC 6962 §2.1) over leaves that arrive one after another, in memory for a few hashes only.

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

// A Merkle tree (RFC 6962 §2.1) over many leaves: its levels are packed, since a hundred thousand small arrays would take
// ten times the memory, and it is built in steps, so that nothing else waits for it.

const hashBytes = 32;

/** `leafHashes` are concatenated. Yields after every `stepNodes` nodes. */
export function* packedTree(
  leafHashes: Uint8Array,
  sha256: Sha256,
  stepNodes: number,
): Generator<void, MerkleTree> {
  const levels = [leafHashes];
  let nodes = 0;
  for (let level = leafHashes; level.length > hashBytes; ) {
    const pairs = Math.floor(level.length / (2 * hashBytes));
    const isOdd = level.length % (2 * hashBytes) !== 0;
    const above = new Uint8Array((pairs + (isOdd ? 1 : 0)) * hashBytes);
    for (let pair = 0; pair < pairs; pair += 1) {
      above.set(nodeHash(nodeAt(level, 2 * pair), nodeAt(level, 2 * pair + 1), sha256), pair * hashBytes);
      nodes += 1;
      if (nodes % stepNodes === 0) yield;
    }
    if (isOdd) above.set(level.subarray(level.length - hashBytes), pairs * hashBytes);
    levels.push(above);
    level = above;
  }
  return {
    size: leafHashes.length / hashBytes,
    root: levels.at(-1)?.slice() ?? new Uint8Array(),
    path: (index) => packedPath(levels, index),
  };
}

function packedPath(levels: readonly Uint8Array[], index: number): Uint8Array[] {
  const size = (levels[0]?.length ?? 0) / hashBytes;
  if (!Number.isInteger(index) || index < 0 || index >= size)
    throw new RangeError(`No leaf ${index} in a tree of ${size}.`);
  const path: Uint8Array[] = [];
  let position = index;
  for (const level of levels.slice(0, -1)) {
    const sibling = position ^ 1;
    if (sibling * hashBytes < level.length) path.push(nodeAt(level, sibling));
    position >>= 1;
  }
  return path;
}

function nodeAt(level: Uint8Array, index: number): Uint8Array {
  return level.subarray(index * hashBytes, (index + 1) * hashBytes);
}
