// The tiles and their proofs, judged by the trees of merkle.ts, which CT's own vectors judge.

import { describe, expect, test } from "vitest";
import { sha256, utf8 } from "../bytes.ts";
import { buildTree, consistencyPath, inclusionPath, leafHash, verifyConsistency } from "../merkle.ts";
import {
  consistencyProof,
  entriesPath,
  extendTree,
  inclusionProof,
  newTiles,
  parseTilePath,
  type ReadTiles,
  TileFault,
  type TileId,
  tilePath,
  treeRoot,
} from "./tiles.ts";

/** A log that keeps every tile that was ever written, and refuses to write another text under the same name. */
class Tiles {
  readonly kept = new Map<string, Uint8Array>();
  readonly read: ReadTiles = async (tiles) =>
    tiles.map((tile) => {
      const bytes = this.kept.get(tilePath(tile));
      if (bytes === undefined) throw new Error(`${tilePath(tile)} is not there.`);
      return bytes;
    });

  async append(size: number, leaves: readonly Uint8Array[]): Promise<void> {
    for (const tile of await extendTree({ size, read: this.read, sha256 }, leaves)) {
      const path = tilePath(tile);
      expect(this.kept.get(path) ?? tile.hashes).toEqual(tile.hashes);
      this.kept.set(path, tile.hashes.slice());
    }
  }
}

const leaves = Array.from({ length: 66_100 }, (_, at) => leafHash(utf8(`entry ${at}`), sha256));

describe("a tree of tiles", () => {
  test("has the roots and proofs of RFC 6962 at every size that was published", async () => {
    const tiles = new Tiles();
    const sizes = [1, 2, 3, 7, 8, 255, 256, 257, 300, 511, 512, 700, 1024, 1100];
    let size = 0;
    for (const next of sizes) {
      await tiles.append(size, leaves.slice(size, next));
      size = next;
    }
    for (const at of sizes) {
      const tree = { size: at, read: tiles.read, sha256 };
      const all = leaves.slice(0, at);
      expect(await treeRoot(tree)).toEqual(buildTree(all, sha256).root);
      for (const index of new Set([0, 1, at >> 1, at - 2, at - 1].filter((each) => each >= 0 && each < at)))
        expect(await inclusionProof(tree, index)).toEqual(inclusionPath(all, index, sha256));
      for (const first of sizes.filter((each) => each <= at))
        expect(await consistencyProof(tree, first)).toEqual(consistencyPath(all, first, sha256));
    }
  });

  test("goes on above 65,536 leaves, where a third level begins", async () => {
    const tiles = new Tiles();
    await tiles.append(0, leaves.slice(0, 65_500));
    await tiles.append(65_500, leaves.slice(65_500));
    const size = leaves.length;
    const tree = { size, read: tiles.read, sha256 };
    const built = buildTree(leaves, sha256);
    expect(await treeRoot(tree)).toEqual(built.root);
    for (const index of [0, 65_499, 65_535, 65_536, size - 1])
      expect(await inclusionProof(tree, index)).toEqual(built.path(index));
    const before = { ...tree, size: 65_500 };
    const claim = {
      firstSize: 65_500,
      secondSize: size,
      firstRoot: await treeRoot(before),
      secondRoot: built.root,
    };
    expect(verifyConsistency({ ...claim, path: await consistencyProof(tree, 65_500) }, sha256)).toBe(true);
    expect(tiles.kept.has("tile/2/000.p/1")).toBe(true);
  });

  test("makes exactly the tiles that the larger tree has and the smaller one has not", async () => {
    for (const [from, size] of [
      [0, 1],
      [0, 256],
      [255, 256],
      [256, 300],
      [10, 1100],
      [0, 66_000],
      [5, 5],
    ] as const) {
      const tiles = new Tiles();
      await tiles.append(0, leaves.slice(0, from));
      const made = await extendTree({ size: from, read: tiles.read, sha256 }, leaves.slice(from, size));
      expect(made.map(tilePath)).toEqual(newTiles(from, size).map(tilePath));
    }
  });

  test("reads a number of tiles that grows with the logarithm", async () => {
    const asked: TileId[] = [];
    const read: ReadTiles = async (tiles) => {
      asked.push(...tiles);
      return tiles.map(({ width }) => new Uint8Array(width * 32));
    };
    await inclusionProof({ size: 1_000_000, read, sha256 }, 654_321);
    expect(asked.length).toBeLessThanOrEqual(6);
    asked.length = 0;
    await inclusionProof({ size: 2 ** 40 + 12_345, read, sha256 }, 2 ** 39 + 7);
    expect(asked.length).toBeLessThanOrEqual(12);
  });

  test("proves the same with the nodes that it knows, in any larger tree, and reads only tiles that it does not know", async () => {
    const tiles = new Tiles();
    const asked: TileId[] = [];
    const read: ReadTiles = (wanted) => {
      asked.push(...wanted);
      return tiles.read(wanted);
    };
    const known = new Map<string, Uint8Array>();
    await tiles.append(0, leaves.slice(0, 65_500));
    await inclusionProof({ size: 65_500, read, sha256, known }, 700);
    expect(asked.map(({ level }) => level)).toContain(1);
    await tiles.append(65_500, leaves.slice(65_500));
    const built = buildTree(leaves, sha256);
    const tree = { size: leaves.length, read, sha256, known };
    for (const index of [700, 513, 65_499, 66_099])
      expect(await inclusionProof(tree, index)).toEqual(built.path(index));
    asked.length = 0;
    expect(await inclusionProof(tree, 700)).toEqual(built.path(700));
    expect(asked.map(tilePath)).toEqual(["tile/0/002"]);
  });

  test("refuses a tile of a wrong size", async () => {
    const read: ReadTiles = async (tiles) => tiles.map(({ width }) => new Uint8Array(width * 32 - 1));
    await expect(treeRoot({ size: 10, read, sha256 })).rejects.toThrow(TileFault);
  });

  test("has no proof outside itself", () => {
    const tree = { size: 5, read: new Tiles().read, sha256 };
    expect(() => inclusionProof(tree, 5)).toThrow(RangeError);
    expect(() => inclusionProof(tree, -1)).toThrow(RangeError);
    expect(() => consistencyProof(tree, 0)).toThrow(RangeError);
    expect(() => consistencyProof(tree, 6)).toThrow(RangeError);
  });
});

describe("the path of a tile", () => {
  test("is that of tlog-tiles", () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe("tile/0/x001/x234/067");
    expect(tilePath({ level: 3, index: 5, width: 112 })).toBe("tile/3/005.p/112");
    expect(entriesPath({ index: 999, width: 256 })).toBe("tile/entries/999");
    expect(entriesPath({ index: 1000, width: 1 })).toBe("tile/entries/x001/000.p/1");
  });

  test("is read back, and no other text is", () => {
    for (const id of [
      { level: 0, index: 0, width: 256 },
      { level: 63, index: 123_456_789, width: 255 },
      { level: 2, index: 1000, width: 1 },
    ])
      expect(parseTilePath(tilePath(id))).toEqual({ kind: "tile", ...id });
    expect(parseTilePath("tile/entries/x001/000.p/1")).toMatchObject({
      kind: "entries",
      index: 1000,
      width: 1,
    });
    for (const path of [
      "tile/0/0",
      "tile/0/00",
      "tile/0/0000",
      "tile/0/x000/001",
      "tile/64/000",
      "tile/00/000",
      "tile/0/000.p/0",
      "tile/0/000.p/256",
      "tile/0/000.p/01",
      "tile/0/001/000",
      "tile/-1/000",
      "/tile/0/000",
      "tile/0/000/",
      "tile/entries/x1/000",
      "tile/0/x999/x999/x999/x999/x999/999",
    ])
      expect(parseTilePath(path), path).toBeNull();
  });
});
