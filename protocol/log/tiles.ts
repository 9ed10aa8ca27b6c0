// The log's tree as tiles (C2SP tlog-tiles): a tile of level L holds up to 256 consecutive hashes of the tree's height 8·L. A full
// tile never changes; a partial tile is named after its width, and the hashes in it never change either.
//   Sizes, indexes and heights are safe integers: no arithmetic here is limited to 32 bits.

import { concatBytes, type Sha256 } from "../bytes.ts";
import { nodeHash, rootOfHashes } from "../merkle.ts";

/** Hashes in a full tile, and the number of levels of the tree that one tile spans. */
export const tileWidth = 256;
export const tileHeight = 8;

/** Which tile: the `width` first hashes of tile `index` of `level`. */
export interface TileId {
  readonly level: number;
  readonly index: number;
  /** 1 to 256. */
  readonly width: number;
}

export interface Tile extends TileId {
  /** 32 bytes a hash. */
  readonly hashes: Uint8Array;
}

/** A complete subtree: 2^height leaves, from leaf `index` · 2^height on. */
export interface TreeNode {
  readonly height: number;
  readonly index: number;
}

/** The leaves from `start` up to, but not including, `end`. */
export interface LeafRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Roots of complete subtrees of one log, as far as they are remembered. Such a root is the same in every larger tree, so it may be
 * kept for as long as there is room.
 */
export interface KnownRoots {
  get(name: string): Uint8Array | undefined;
  set(name: string, root: Uint8Array): void;
}

/** Reads tiles, in the order asked for. Rejects where one is not there. */
export type ReadTiles = (tiles: readonly TileId[]) => Promise<readonly Uint8Array[]>;

/** The width of a tile in a tree of `size` leaves; 0 where the tree does not reach it. */
export function widthInTree(level: number, index: number, size: number): number {
  const hashes = Math.floor(size / tileWidth ** level) - index * tileWidth;
  return Math.max(0, Math.min(tileWidth, hashes));
}

/** The smallest tree that contains a tile. */
export function reachOf({ level, index, width }: TileId): number {
  return (index * tileWidth + width) * tileWidth ** level;
}

/** The tiles that a tree of `size` leaves has and a tree of `from` leaves did not have, entry level first. */
export function newTiles(from: number, size: number): readonly TileId[] {
  const tiles: TileId[] = [];
  for (let level = 0; size >= tileWidth ** level; level += 1) {
    const known = Math.floor(from / tileWidth ** level);
    const count = Math.floor(size / tileWidth ** level);
    if (known === count) break;
    for (let index = Math.floor(known / tileWidth); index * tileWidth < count; index += 1)
      tiles.push({ level, index, width: widthInTree(level, index, size) });
  }
  return tiles;
}

/** The path of a tile below the log's address, such as `tile/0/x001/234` or `tile/1/000.p/17`. */
export function tilePath({ level, index, width }: TileId): string {
  return `tile/${level}/${groupsOf(index)}${partOf(width)}`;
}

/** The path of the bundle that holds the entries of a tile of level 0. */
export function entriesPath({ index, width }: Omit<TileId, "level">): string {
  return `tile/entries/${groupsOf(index)}${partOf(width)}`;
}

function groupsOf(index: number): string {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, "0");
  const groups = padded.match(/\d{3}/g) as string[];
  return groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join("/");
}

function partOf(width: number): string {
  return width === tileWidth ? "" : `.p/${width}`;
}

/** A tile's path that was parsed; entries have no level of their own. */
export type TilePath = TileId & { readonly kind: "tile" | "entries" };

const pathForm =
  /^tile\/(entries|0|[1-9]|[1-5][0-9]|6[0-3])\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** Parses a path below the log's address; null unless it is the one name of a tile. */
export function parseTilePath(path: string): TilePath | null {
  const [, level = "", groups = "", part] = pathForm.exec(path) ?? [];
  if (groups === "" || groups.startsWith("x000")) return null;
  const index = Number(groups.replaceAll(/[x/]/g, ""));
  const width = part === undefined ? tileWidth : Number(part);
  if (!Number.isSafeInteger(index) || (part !== undefined && width >= tileWidth)) return null;
  const kind = level === "entries" ? "entries" : "tile";
  return { kind, level: kind === "entries" ? 0 : Number(level), index, width };
}

/** A path as that of the full tile, which a partial one is the beginning of, and the width. */
export function splitTilePath(path: string): { readonly full: string; readonly width: number } | null {
  const tile = parseTilePath(path);
  if (tile === null) return null;
  return {
    full: tile.width === tileWidth ? path : path.slice(0, path.lastIndexOf(".p/")),
    width: tile.width,
  };
}

/** The complete subtrees that a range consists of, from left to right, largest first (RFC 6962 §2.1). */
export function subtreesOf({ start, end }: LeafRange): readonly TreeNode[] {
  const nodes: TreeNode[] = [];
  let from = start;
  while (from < end) {
    const height = heightOf(end - from);
    nodes.push({ height, index: from / 2 ** height });
    from += 2 ** height;
  }
  return nodes;
}

/** The height of the largest complete tree of at most `leaves` leaves; exact, unlike a logarithm. */
function heightOf(leaves: number): number {
  let height = 0;
  while (2 ** (height + 1) <= leaves) height += 1;
  return height;
}

/** The ranges whose roots are the audit path of a leaf, from the leaf up (RFC 6962 §2.1.1). Throws RangeError outside the tree. */
function inclusionRanges(index: number, size: number): readonly LeafRange[] {
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(index) || index < 0 || index >= size)
    throw new RangeError(`No leaf ${index} in a tree of ${size}.`);
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const split = start + splitOf(end - start);
    if (index < split) {
      ranges.push({ start: split, end });
      end = split;
    } else {
      ranges.push({ start, end: split });
      start = split;
    }
  }
  return ranges.reverse();
}

/** The ranges whose roots prove that the first `first` leaves are the beginning of `size` (RFC 6962 §2.1.2). */
export function consistencyRanges(first: number, size: number): readonly LeafRange[] {
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(size) || first < 1 || first > size)
    throw new RangeError(`No consistency from ${first} to ${size}.`);
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end !== first) {
    const split = start + splitOf(end - start);
    if (first <= split) {
      ranges.push({ start: split, end });
      end = split;
    } else {
      ranges.push({ start, end: split });
      start = split;
    }
  }
  if (start > 0) ranges.push({ start, end });
  return ranges.reverse();
}

/** The largest power of two below `leaves`, which is at least 2. */
function splitOf(leaves: number): number {
  return 2 ** heightOf(leaves - 1);
}

/** What ranges of a tree of `size` leaves are read from. */
interface RangeSource {
  readonly size: number;
  readonly read: ReadTiles;
  readonly sha256: Sha256;
  readonly known?: KnownRoots | undefined;
}

/** The roots of some ranges: every tile that they need and that does not follow from what is known is read once, all of them together. */
export async function rangeRoots(
  { size, read, sha256, known }: RangeSource,
  ranges: readonly LeafRange[],
): Promise<readonly Uint8Array[]> {
  const needed = new Map<string, TileId>();
  const roots = new Map<string, Uint8Array>();
  const subtrees = ranges.map((range) => subtreesOf(range));
  const edge = ranges.find(({ end }) => end === size)?.start ?? size;
  for (const node of subtrees.flat()) {
    const remembered = isRemembered(node, edge) ? known?.get(nameOf(node)) : undefined;
    if (remembered !== undefined) {
      roots.set(nameOf(node), remembered);
      continue;
    }
    const tile = tileOf(node, size);
    needed.set(tileName(tile), tile);
  }
  const tiles = [...needed.values()];
  const bytes = await read(tiles);
  const byName = new Map(tiles.map((tile, at) => [tileName(tile), checkedTile(tile, bytes[at])]));
  const rootOf = (node: TreeNode): Uint8Array => {
    const remembered = roots.get(nameOf(node));
    if (remembered !== undefined) return remembered;
    const hashes = byName.get(tileName(tileOf(node, size))) as Uint8Array;
    const root = nodeInTile(node, hashes, sha256);
    if (isRemembered(node, edge)) known?.set(nameOf(node), root);
    return root;
  };
  return subtrees.map((nodes) => {
    const hashes = nodes.map(rootOf);
    if (hashes.length === 0) return sha256(new Uint8Array());
    return hashes.reduceRight((right, left) => nodeHash(left, right, sha256));
  });
}

/** Whether a root is worth remembering: those over a full tile and more are few, and every proof needs those at the tree's right edge. */
function isRemembered({ height, index }: TreeNode, edge: number): boolean {
  return height >= tileHeight || (height > 0 && index * 2 ** height >= edge);
}

/** Names a tile of one tree, where its width follows. */
function tileName({ level, index }: TileId): string {
  return `${level}/${index}`;
}

function nameOf({ height, index }: TreeNode): string {
  return `${height}/${index}`;
}

function checkedTile(tile: TileId, bytes: Uint8Array | undefined): Uint8Array {
  if (bytes?.length === tile.width * 32) return bytes;
  throw new TileFault(`${tilePath(tile)} has ${bytes?.length ?? 0} bytes, not ${tile.width * 32}.`);
}

/** A tile that is not what its name says. */
export class TileFault extends Error {
  override readonly name = "TileFault";
}

/** The tile that holds a node, or the nodes below it from which it follows. */
function tileOf({ height, index }: TreeNode, size: number): TileId {
  const level = Math.floor(height / tileHeight);
  const first = index * 2 ** (height % tileHeight);
  const at = Math.floor(first / tileWidth);
  return { level, index: at, width: widthInTree(level, at, size) };
}

function nodeInTile({ height, index }: TreeNode, hashes: Uint8Array, sha256: Sha256): Uint8Array {
  const count = 2 ** (height % tileHeight);
  const first = (index * count) % tileWidth;
  return rootOfHashes(hashes.subarray(first * 32, (first + count) * 32), sha256);
}

/**
 * The tiles that appending leaves makes, computed from the partial tiles of the tree as it was. The result depends on nothing
 * else, so it is the same no matter who computes it, and how often.
 */
export async function extendTree(
  tree: { readonly size: number; readonly read: ReadTiles; readonly sha256: Sha256 },
  leafHashes: readonly Uint8Array[],
): Promise<readonly Tile[]> {
  const tiles: Tile[] = [];
  let added = leafHashes;
  for (let level = 0; added.length > 0; level += 1) {
    const known = Math.floor(tree.size / tileWidth ** level);
    const extended = await extendLevel({ ...tree, level, known }, added);
    tiles.push(...extended);
    added = extended.flatMap(({ width, hashes }) =>
      width === tileWidth ? [rootOfHashes(hashes, tree.sha256)] : [],
    );
  }
  return tiles;
}

async function extendLevel(
  tree: { readonly level: number; readonly known: number; readonly read: ReadTiles },
  added: readonly Uint8Array[],
): Promise<readonly Tile[]> {
  const { level, known } = tree;
  const width = known % tileWidth;
  const index = Math.floor(known / tileWidth);
  const partial = { level, index, width };
  const before = width === 0 ? new Uint8Array() : checkedTile(partial, (await tree.read([partial]))[0]);
  const hashes = concatBytes(before, ...added);
  const tiles: Tile[] = [];
  for (let at = 0; at * tileWidth * 32 < hashes.length; at += 1) {
    const part = hashes.subarray(at * tileWidth * 32, (at + 1) * tileWidth * 32);
    tiles.push({ level, index: index + at, width: part.length / 32, hashes: part });
  }
  return tiles;
}

// Proofs from tiles: their cost grows with the logarithm of the tree, and no more than the tiles they need is in memory.

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
