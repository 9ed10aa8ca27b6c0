// The log's tree as its store has it.

import { formatHash, type Sha256 } from "../../protocol/hash.ts";
import { parseBundle, parseEntry } from "../../protocol/log/entries.ts";
import { treeRoot } from "../../protocol/log/proofs.ts";
import {
  entriesPath,
  extendTree,
  type ReadTiles,
  type Tile,
  tilePath,
  tileWidth,
  widthInTree,
} from "../../protocol/log/tiles.ts";
import { leafHash } from "../../protocol/merkle.ts";
import type { LeafPlace, LogObject, LogStore } from "../../storage/log-store.ts";

/** Something of the tree is not there, or not yet. */
export class LogGap extends Error {
  override readonly name = "LogGap";
}

export interface StoredTree {
  readonly log: Pick<LogStore, "read">;
  readonly sha256: Sha256;
}

/** A part of the tree as its bundles of entries give it. */
export interface Rebuilt {
  readonly root: string;
  readonly objects: readonly LogObject[];
  readonly leaves: readonly LeafPlace[];
}

/** The root of the first `size` leaves, from their tiles. Rejects with {@link LogGap}. */
export async function rootOfTiles({ log, sha256 }: StoredTree, size: number): Promise<string> {
  return formatHash(await treeRoot({ size, read: readTilesOf(log), sha256 }));
}

/** The tree of `to` leaves from the tiles of its first `from` and the entries behind them. Rejects with {@link LogGap}. */
export async function rebuild({ log, sha256 }: StoredTree, from: number, to: number): Promise<Rebuilt> {
  const entries: Uint8Array[] = [];
  for (let index = Math.floor(from / tileWidth); index * tileWidth < to; index += 1) {
    const bundle = await readBundle(log, { index, width: widthInTree(0, index, to) });
    for (const entry of bundle.slice(Math.max(0, from - index * tileWidth))) entries.push(entry);
  }
  const stored = readTilesOf(log);
  const tiles = await extendTree(
    { size: from, read: stored, sha256 },
    entries.map((entry) => leafHash(entry, sha256)),
  );
  const root = await treeRoot({ size: to, read: overlay(tiles, stored), sha256 });
  const leaves = entries.map((bytes, at) => {
    const entry = parseEntry(bytes);
    if (entry === null) throw new LogGap(`Leaf ${from + at} is no entry.`);
    return { leaf: entry.leaf, index: from + at };
  });
  return { root: formatHash(root), objects: tiles.map(objectOf), leaves };
}

/** Reads tiles that were just computed, and others from where they are stored. */
export function overlay(tiles: readonly Tile[], stored: ReadTiles): ReadTiles {
  const made = new Map(tiles.map((tile) => [tilePath(tile), tile.hashes]));
  return async (wanted) => {
    const missing = wanted.filter((tile) => !made.has(tilePath(tile)));
    const found = await stored(missing);
    const all = new Map([...made, ...missing.map((tile, at) => [tilePath(tile), found[at]] as const)]);
    return wanted.map((tile) => all.get(tilePath(tile)) as Uint8Array);
  };
}

export function objectOf(tile: Tile): LogObject {
  return { path: tilePath(tile), bytes: tile.hashes };
}

export async function readBundle(
  log: Pick<LogStore, "read">,
  bundle: { readonly index: number; readonly width: number },
): Promise<readonly Uint8Array[]> {
  const path = entriesPath(bundle);
  const [bytes] = await log.read([path]);
  const entries = bytes ? parseBundle(bytes, bundle.width) : null;
  if (entries === null)
    throw new LogGap(`${path} is not there, or is not a bundle of ${bundle.width} entries.`);
  return entries;
}

/** Reads tiles of a log store. Rejects with {@link LogGap} where one is not there. */
export function readTilesOf(log: Pick<LogStore, "read">): ReadTiles {
  return async (tiles) => {
    const paths = tiles.map(tilePath);
    const objects = await log.read(paths);
    return objects.map((bytes, at) => {
      if (bytes === null) throw new LogGap(`${paths[at]} is not there.`);
      return bytes;
    });
  };
}
