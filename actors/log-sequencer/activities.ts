// The work of the log's sequencer outside the actor. Every piece may be repeated, by whatever process, and then does the same:
// what it reads is committed, and what it writes follows from that alone.

import { utf8 } from "../../protocol/bytes.ts";
import { formatHash, hashOf, parseHash, type Sha256 } from "../../protocol/hash.ts";
import { entryBytes, formatBundle, parseBundle } from "../../protocol/log/entries.ts";
import { formatCheckpoint } from "../../protocol/log/note.ts";
import { consistencyProof, treeRoot } from "../../protocol/log/proofs.ts";
import {
  entriesPath,
  extendTree,
  newTiles,
  type ReadTiles,
  type Tile,
  tilePath,
  tileWidth,
} from "../../protocol/log/tiles.ts";
import { leafHash } from "../../protocol/merkle.ts";
import type { LogObject, LogStore } from "../../storage/log-store.ts";
import type { Cosign } from "../../transport/witness-port.ts";
import {
  batchMax,
  type LogSequencerProtocol,
  type PendingEntry,
  type TreeHead,
} from "../messages/log-sequencer.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { logRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

export interface LogSequencerPorts {
  readonly log: LogStore;
  readonly origin: string;
  readonly sha256: Sha256;
  /** Signs the checkpoint's text; returns the note. */
  readonly sign: (text: string) => Promise<string>;
  readonly cosign: Cosign;
}

type Told<T extends keyof LogSequencerProtocol> = CommandOf<LogSequencerProtocol, T>;
type Batch = { readonly count: number; readonly up_to: number };

export function logSequencerActivities(ports: LogSequencerPorts): Record<string, Activity> {
  return {
    chooseLeaves: async (_params: object, context: ActivityContext): Promise<Told<"log.choose">> => {
      const pending = await pendingUpTo(context, batchMax);
      const leaves = pending.map(({ entry }) => entry.leaf);
      const indexes = await ports.log.findLeaves(leaves);
      const firsts = new Map(leaves.map((leaf, at) => [leaf, at] as const).reverse());
      const known = pending.filter(({ entry }, at) => indexes[at] !== null || firsts.get(entry.leaf) !== at);
      return { type: "log.choose", up_to: pending.at(-1)?.place ?? -1, known };
    },
    writeTiles: async (
      { from, batch }: { readonly from: number; readonly batch: Batch },
      context: ActivityContext,
    ): Promise<Told<"log.written">> => {
      const pending = await pendingUpTo(context, batch.count);
      return { type: "log.written", head: await writeBatch(ports, from, pending) };
    },
    publishHead: ({ head }: { readonly head: TreeHead }) => publishHead(ports, head),
  };
}

async function publishHead(
  { log, origin, sha256, sign, cosign }: LogSequencerPorts,
  head: TreeHead,
): Promise<Told<"log.published"> | Told<"log.unwitnessed">> {
  const root = parseHash(head.root);
  if (root === null) throw new Error("The head has no root.");
  const text = formatCheckpoint({ origin, size: head.size, root, extensions: [] });
  const published = await log.readCheckpoint();
  const tree = { size: head.size, read: readTilesOf(log), sha256 };
  const cosigned = await cosign({
    ...{ note: await sign(text), size: head.size, publishedSize: published?.size ?? 0 },
    proofFrom: (size) => consistencyProof(tree, size),
  });
  if ("missing" in cosigned) return { type: "log.unwitnessed", head, detail: cosigned.missing };
  await log.publish({ ...head, note: cosigned.note });
  return { type: "log.published", head, leaf: hashOf(utf8(text), sha256) };
}

async function pendingUpTo(context: ActivityContext, count: number): Promise<readonly PendingEntry[]> {
  return context.ask(logRef(), { type: "log.pending", after: -1, limit: count });
}

/** Writes what the tree needs with these leaves behind its first `from`, and returns its head. */
async function writeBatch(
  { log, sha256 }: LogSequencerPorts,
  from: number,
  pending: readonly PendingEntry[],
): Promise<TreeHead> {
  const entries = pending.map(({ entry }) => entryBytes(entry));
  const stored = readTilesOf(log);
  const hashes = entries.map((entry) => leafHash(entry, sha256));
  const tiles = await extendTree({ size: from, read: stored, sha256 }, hashes);
  const size = from + entries.length;
  const bundles = await extendBundles(log, from, entries);
  const objects = [...tiles.map(objectOf), ...bundles];
  await log.write(
    objects,
    pending.map(({ entry }, at) => ({ leaf: entry.leaf, index: from + at })),
  );
  const made = new Map(tiles.map((tile) => [tilePath(tile), tile.hashes]));
  const read: ReadTiles = async (wanted) => {
    const missing = wanted.filter((tile) => !made.has(tilePath(tile)));
    const found = await stored(missing);
    const all = new Map([...made, ...missing.map((tile, at) => [tilePath(tile), found[at]] as const)]);
    return wanted.map((tile) => all.get(tilePath(tile)) as Uint8Array);
  };
  return { size, root: formatHash(await treeRoot({ size, read, sha256 })) };
}

function objectOf(tile: Tile): LogObject {
  return { path: tilePath(tile), bytes: tile.hashes };
}

/** The bundles of the entries behind the first `from`; the first of them begins with what its partial bundle has. */
async function extendBundles(
  log: Pick<LogStore, "read">,
  from: number,
  entries: readonly Uint8Array[],
): Promise<readonly LogObject[]> {
  const width = from % tileWidth;
  const index = Math.floor(from / tileWidth);
  const before = width === 0 ? [] : await readBundle(log, { index, width });
  const all = [...before, ...entries];
  return newTiles(from, from + entries.length)
    .filter(({ level }) => level === 0)
    .map((tile) => {
      const first = (tile.index - index) * tileWidth;
      return { path: entriesPath(tile), bytes: formatBundle(all.slice(first, first + tile.width)) };
    });
}

async function readBundle(
  log: Pick<LogStore, "read">,
  bundle: { readonly index: number; readonly width: number },
): Promise<readonly Uint8Array[]> {
  const path = entriesPath(bundle);
  const [bytes] = await log.read([path]);
  const entries = bytes ? parseBundle(bytes, bundle.width) : null;
  if (entries === null)
    throw new Error(`${path} is not there, or is not a bundle of ${bundle.width} entries.`);
  return entries;
}

/** Reads tiles of a log store. Rejects where one is not there. */
export function readTilesOf(log: Pick<LogStore, "read">): ReadTiles {
  return async (tiles) => {
    const paths = tiles.map(tilePath);
    const objects = await log.read(paths);
    return objects.map((bytes, at) => {
      if (bytes === null) throw new Error(`${paths[at]} is not there.`);
      return bytes;
    });
  };
}
