// A Merkle tree (RFC 6962 §2.1) over many leaves: its levels are packed, since a hundred thousand small arrays would take
// ten times the memory, and it is built in steps, so that nothing else waits for it.

import type { Sha256 } from "./hash.ts";
import { type MerkleTree, nodeHash } from "./merkle.ts";

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
    path: (index) => pathIn(levels, index),
  };
}

function pathIn(levels: readonly Uint8Array[], index: number): Uint8Array[] {
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
