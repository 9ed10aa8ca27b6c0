// J1 and J2 over trees that agree, stop short of each other, or are forks of each other.

import fc from "fast-check";
import { expect, it } from "vitest";
import { emptyRoot } from "../../machines/log-sequencer.ts";
import { formatHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { buildTree, leafHash } from "../../protocol/merkle.ts";
import type { TreeHead } from "../messages/log-sequencer.ts";
import { judgeHead } from "./activities.ts";

function headOf(leaves: readonly string[]): TreeHead {
  if (leaves.length === 0) return { size: 0, root: emptyRoot };
  const hashes = leaves.map((leaf) => leafHash(utf8(leaf), sha256));
  return { size: leaves.length, root: formatHash(buildTree(hashes, sha256).root) };
}

/** What a store has of one line of leaves, as far as it goes. */
const storedRoot = (leaves: readonly string[]) => (size: number) =>
  size > leaves.length ? null : headOf(leaves.slice(0, size)).root;

const line = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
const sizes = fc.array(fc.nat(12), { maxLength: 3 });
const isBeginning = (leaves: readonly string[], of: readonly string[]) =>
  leaves.every((leaf, at) => of[at] === leaf);

it("goes on from the newest of the trees of one line, wherever its own head is (property)", () => {
  fc.assert(
    fc.property(line, fc.nat(12), sizes, (leaves, own, published) => {
      const cut = (size: number) => headOf(leaves.slice(0, size));
      const heads = published.map(cut);
      const found = judgeHead(cut(own), heads, storedRoot(leaves));
      const newest = Math.max(...heads.map(({ size }) => size), cut(own).size);
      const isKept = newest === cut(own).size;
      expect(found).toEqual(isKept ? { kind: "kept" } : { kind: "adopted", head: cut(newest) });
    }),
  );
});

it("never goes on where a tree that was signed is not contained in what is here (property)", () => {
  fc.assert(
    fc.property(line, line, line, (here, own, published) => {
      const found = judgeHead(headOf(own), [headOf(published)], storedRoot(here));
      const isContained = [own, published].every(
        (each) => each.length <= here.length && isBeginning(each, here),
      );
      if (!isContained) expect(found.kind).toBe("refused");
      else expect(found.kind).toBe(published.length > own.length ? "adopted" : "kept");
    }),
    { numRuns: 1_000 },
  );
});

it("tells what is missing from what is another tree", () => {
  const heads = [headOf(["a", "b"])];
  expect(judgeHead(headOf(["a"]), heads, storedRoot(["a"]))).toMatchObject({ reason: "log_incomplete" });
  expect(judgeHead(headOf(["a"]), heads, storedRoot(["a", "c"]))).toMatchObject({
    reason: "log_forked",
    detail: expect.stringMatching(/^the published tree of 2 leaves/),
  });
  expect(judgeHead(headOf(["a", "c"]), heads, storedRoot(["a", "b"]))).toMatchObject({
    reason: "log_forked",
    detail: expect.stringMatching(/^the head of 2 leaves/),
  });
});
