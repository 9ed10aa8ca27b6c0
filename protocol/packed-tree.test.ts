import { expect, it } from "vitest";
import { concatBytes, sha256, utf8 } from "./bytes.ts";
import { buildTree, leafHash, packedTree } from "./merkle.ts";

it("is the tree of RFC 6962 for every size, with every path", () => {
  const leaves = Array.from({ length: 40 }, (_, index) => leafHash(utf8(`leaf ${index}`)));
  for (let size = 1; size <= leaves.length; size += 1) {
    const hashes = leaves.slice(0, size);
    const expected = buildTree(hashes);
    const work = packedTree(concatBytes(...hashes), sha256, 3);
    let steps = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) steps += 1;
    const tree = step.value;
    expect([tree.size, tree.root]).toEqual([size, expected.root]);
    for (let index = 0; index < size; index += 1) expect(tree.path(index)).toEqual(expected.path(index));
    expect(() => tree.path(size)).toThrow(RangeError);
    expect(steps).toBe(Math.floor((size - 1) / 3));
  }
});
