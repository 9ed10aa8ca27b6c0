// Proofs from tiles: their cost grows with the logarithm of the tree, and no more than the tiles they need is in memory.

import { consistencyRanges, inclusionRanges, type RangeSource, rangeRoots } from "./tiles.ts";

/** A tree of `size` leaves whose tiles can be read. */
export type TiledTree = RangeSource;

/** The root (RFC 6962 §2.1). */
export async function treeRoot(tree: TiledTree): Promise<Uint8Array> {
  const [root] = await rangeRoots(tree, [{ start: 0, end: tree.size }]);
  return root as Uint8Array;
}

/** The audit path of a leaf, from leaf to root (RFC 6962 §2.1.1). Throws RangeError outside the tree. */
export function inclusionProof(tree: TiledTree, index: number): Promise<readonly Uint8Array[]> {
  return rangeRoots(tree, inclusionRanges(index, tree.size));
}

/**
 * The proof that the first `second` leaves of the tree (by default all) extend the first `first` (RFC 6962 §2.1.2). Throws
 * RangeError unless 1 <= first <= second <= size.
 */
export function consistencyProof(
  tree: TiledTree,
  first: number,
  second = tree.size,
): Promise<readonly Uint8Array[]> {
  if (second > tree.size) throw new RangeError(`No ${second} leaves in a tree of ${tree.size}.`);
  return rangeRoots(tree, consistencyRanges(first, second));
}
