// Consistency between two sizes of one tree, which tests hold the trees of merkle.ts to beside another implementation.
// Nothing of the service asks for it as long as there is no transparency log.

import { equalBytes } from "./bytes.ts";
import { merkleRoot } from "./merkle.ts";

/** Consistency proof between the first `first` leaves and all of them (RFC 6962 §2.1.2). Throws RangeError unless 1 <= first <= size. */
export function consistencyPath(leafHashes: readonly Uint8Array[], first: number): Uint8Array[] {
  const size = leafHashes.length;
  if (!Number.isInteger(first) || first < 1 || first > size)
    throw new RangeError(`No consistency from ${first} to ${size}.`);
  return subproof(leafHashes, first, true);
}

function subproof(leaves: readonly Uint8Array[], first: number, isComplete: boolean): Uint8Array[] {
  if (first === leaves.length) return isComplete ? [] : [merkleRoot(leaves)];
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  const left = leaves.slice(0, split);
  const right = leaves.slice(split);
  return first <= split
    ? [...subproof(left, first, isComplete), merkleRoot(right)]
    : [...subproof(right, first - split, false), merkleRoot(left)];
}

/** Two tree heads and the proof between them. */
export interface ConsistencyClaim {
  readonly firstSize: number;
  readonly secondSize: number;
  readonly firstRoot: Uint8Array;
  readonly secondRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** Whether the second tree extends the first (RFC 9162 §2.1.4.2). */
export function verifyConsistency(claim: ConsistencyClaim): boolean {
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
      first = parentOf(hash, first);
      second = parentOf(hash, second);
      while (position % 2 === 0 && position !== 0) {
        position = Math.floor(position / 2);
        last = Math.floor(last / 2);
      }
    } else {
      second = parentOf(second, hash);
    }
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && equalBytes(first, firstRoot) && equalBytes(second, secondRoot);
}

/** Exact for every safe integer, as a logarithm is not. */
function isPowerOfTwo(size: number): boolean {
  let rest = size;
  while (rest > 1 && rest % 2 === 0) rest /= 2;
  return rest === 1;
}

function parentOf(left: Uint8Array, right: Uint8Array): Uint8Array {
  return merkleRoot([left, right]);
}
