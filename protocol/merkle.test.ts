import { RFC9162 as judge } from "@transmute/rfc9162";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseHex, toHex } from "./bytes.ts";
import {
  buildTree,
  consistencyPath,
  inclusionPath,
  leafHash,
  merkleRoot,
  rootFromPath,
  verifyConsistency,
} from "./merkle.ts";
import { consistencies, emptyRoot, inclusions, leaves, roots } from "./vectors/certificate-transparency.ts";

const bytesOf = (hex: string): Uint8Array => parseHex(hex) ?? new Uint8Array();
const hashesOf = (count: number): Uint8Array[] =>
  leaves.slice(0, count).map((leaf) => leafHash(bytesOf(leaf)));
/** The leaf hashes of a tree of any size. */
const manyHashes = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => leafHash(Uint8Array.of(index, index >> 8)));

describe("the reference tree of certificate-transparency", () => {
  it("has its roots", () => {
    expect(toHex(merkleRoot([]))).toBe(emptyRoot);
    roots.forEach((root, index) => {
      expect(toHex(merkleRoot(hashesOf(index + 1)))).toBe(root);
    });
  });

  it.each(inclusions)("has the path of leaf $index of $size", ({ index, size, path }) => {
    expect(inclusionPath(hashesOf(size), index).map(toHex)).toEqual(path);
    const leaf = leafHash(bytesOf(leaves[index] ?? ""));
    const root = rootFromPath({ leafHash: leaf, index, treeSize: size, path: path.map(bytesOf) });
    expect(root && toHex(root)).toBe(roots[size - 1]);
  });

  it.each(consistencies)("has the proof from $first to $second", ({ first, second, path }) => {
    expect(consistencyPath(hashesOf(second), first).map(toHex)).toEqual(path);
    const [firstRoot, secondRoot] = [first, second].map((size) => bytesOf(roots[size - 1] ?? ""));
    const claim = {
      firstSize: first,
      secondSize: second,
      firstRoot: firstRoot ?? bytesOf(""),
      secondRoot: secondRoot ?? bytesOf(""),
    };
    expect(verifyConsistency({ ...claim, path: path.map(bytesOf) })).toBe(true);
  });
});

describe("an inclusion path", () => {
  it("leads to the root for every leaf of every small tree, and to nothing else", () => {
    for (let size = 1; size <= 33; size += 1) {
      const hashes = manyHashes(size);
      const tree = buildTree(hashes);
      expect(tree.size).toBe(size);
      hashes.forEach((hash, index) => {
        const path = tree.path(index);
        const claim = { leafHash: hash, index, treeSize: size, path };
        expect(rootFromPath(claim)).toEqual(tree.root);
        expect(rootFromPath({ ...claim, path: [...path, hash] })).toBeNull();
        if (size > 1) expect(rootFromPath({ ...claim, path: path.slice(1) })).toBeNull();
        if (size > 1) expect(rootFromPath({ ...claim, index: (index + 1) % size })).not.toEqual(tree.root);
        expect(rootFromPath({ ...claim, leafHash: tree.root.toReversed() })).not.toEqual(tree.root);
      });
    }
  });

  it.each([
    ["an index beyond the tree", { index: 3 }],
    ["a negative index", { index: -1 }],
    ["a broken index", { index: 0.5 }],
    ["an empty tree", { treeSize: 0 }],
    ["a size that is not exact", { treeSize: 2 ** 53 }],
    ["a size that is no number", { treeSize: Number.NaN }],
    ["a leaf hash of 33 bytes", { leafHash: new Uint8Array(33) }],
    ["a node of 33 bytes", { path: [new Uint8Array(33), new Uint8Array(32)] }],
    ["a node of 31 bytes", { path: [new Uint8Array(31), new Uint8Array(32)] }],
  ])("is refused for %s", (_, fault) => {
    const hashes = hashesOf(3);
    const claim = {
      leafHash: hashes[0] ?? new Uint8Array(),
      index: 0,
      treeSize: 3,
      path: inclusionPath(hashes, 0),
    };
    expect(rootFromPath(claim)).toEqual(merkleRoot(hashes));
    expect(rootFromPath({ ...claim, ...fault })).toBeNull();
  });

  it("does not pass an inner node off as a leaf (RFC 6962 §2.1)", () => {
    const hashes = hashesOf(4);
    const inner = new Uint8Array([...(hashes[0] ?? []), ...(hashes[1] ?? [])]);
    const path = inclusionPath(hashes, 0).slice(1);
    expect(rootFromPath({ leafHash: leafHash(inner), index: 0, treeSize: 2, path })).not.toEqual(
      merkleRoot(hashes),
    );
  });

  it("is not given for a leaf that is not there", () => {
    for (const index of [-1, 3, 0.5, Number.NaN])
      expect(() => inclusionPath(hashesOf(3), index)).toThrow(RangeError);
    expect(() => inclusionPath([], 0)).toThrow(RangeError);
  });

  it("reaches into trees of any size that has an exact number", () => {
    const treeSize = Number.MAX_SAFE_INTEGER;
    const path = Array.from({ length: 53 }, () => new Uint8Array(32));
    expect(rootFromPath({ leafHash: new Uint8Array(32), index: 0, treeSize, path })).not.toBeNull();
    expect(
      rootFromPath({ leafHash: new Uint8Array(32), index: 0, treeSize, path: path.slice(1) }),
    ).toBeNull();
  });
});

describe("a consistency proof", () => {
  it("joins every two sizes of one tree, and no other trees", () => {
    const hashes = manyHashes(20);
    for (let second = 1; second <= hashes.length; second += 1) {
      for (let first = 1; first <= second; first += 1) {
        const path = consistencyPath(hashes.slice(0, second), first);
        const [firstRoot, secondRoot] = [
          merkleRoot(hashes.slice(0, first)),
          merkleRoot(hashes.slice(0, second)),
        ];
        const claim = { firstSize: first, secondSize: second, firstRoot, secondRoot, path };
        expect(verifyConsistency(claim)).toBe(true);
        expect(verifyConsistency({ ...claim, path: [...path, firstRoot] })).toBe(false);
        expect(verifyConsistency({ ...claim, firstRoot: firstRoot.toReversed() })).toBe(false);
        expect(verifyConsistency({ ...claim, secondRoot: secondRoot.toReversed() })).toBe(false);
        if (path.length > 0) expect(verifyConsistency({ ...claim, path: path.slice(1) })).toBe(false);
        if (first < second)
          expect(verifyConsistency({ ...claim, firstSize: second, secondSize: first })).toBe(false);
      }
    }
  });

  it("is refused where sizes or nodes are no such", () => {
    const root = merkleRoot(hashesOf(4));
    const claim = { firstSize: 4, secondSize: 4, firstRoot: root, secondRoot: root, path: [] };
    expect(verifyConsistency(claim)).toBe(true);
    for (const size of [0, -4, 4.5, 2 ** 53]) {
      expect(verifyConsistency({ ...claim, firstSize: size, secondSize: size })).toBe(false);
    }
    for (const length of [31, 33]) {
      const bytes = new Uint8Array(length);
      expect(verifyConsistency({ ...claim, secondSize: 5, path: [bytes] })).toBe(false);
      expect(verifyConsistency({ ...claim, firstRoot: bytes, secondRoot: bytes })).toBe(false);
    }
    expect(() => consistencyPath(hashesOf(4), 0)).toThrow(RangeError);
    expect(() => consistencyPath(hashesOf(4), 5)).toThrow(RangeError);
  });
});

describe("an independent implementation of RFC 9162", () => {
  const anyLeaves = fc.array(fc.uint8Array({ maxLength: 4 }), { minLength: 1, maxLength: 24 });

  it("has the same root, paths and proofs, and takes ours", async () => {
    await fc.assert(
      fc.asyncProperty(anyLeaves, fc.nat(), async (entries, seed) => {
        const index = seed % entries.length;
        const first = index + 1;
        const hashes = entries.map((entry) => leafHash(entry));
        const tree = buildTree(hashes);
        const firstRoot = merkleRoot(hashes.slice(0, first));
        const [path, proof] = [tree.path(index), consistencyPath(hashes, first)];
        expect(toHex(await judge.MTH(entries))).toBe(toHex(tree.root));
        expect((await judge.PATH(index, entries)).map(toHex)).toEqual(path.map(toHex));
        const inclusion = { log_id: "", tree_size: entries.length, leaf_index: index, inclusion_path: path };
        const leaf = hashes[index] ?? new Uint8Array();
        expect(await judge.verifyInclusionProof(tree.root, leaf, inclusion)).toBe(true);
        if (first === entries.length) return;
        // The reference implementation keeps the first root in the proofs of perfect trees, which RFC 9162 §2.1.4.1 omits.
        const isPerfect = (first & (first - 1)) === 0;
        const judged = isPerfect ? [firstRoot, ...proof] : proof;
        expect((await judge.PROOF(first, entries)).map(toHex)).toEqual(judged.map(toHex));
        const sizes = { log_id: "", tree_size_1: first, tree_size_2: entries.length };
        const consistency = { ...sizes, consistency_path: judged };
        expect(await judge.verifyConsistencyProof(firstRoot, tree.root, consistency)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
