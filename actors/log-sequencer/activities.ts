// The work of the log's sequencer outside the actor. Every piece may be repeated, by whatever process, and then does the same:
// what it reads is committed, and what it writes follows from that alone. Before it, each asks whether the head is the newest (LS5).

import { equalBytes, utf8 } from "../../protocol/bytes.ts";
import { formatHash, hashOf, parseHash } from "../../protocol/hash.ts";
import { entryBytes, formatBundle } from "../../protocol/log/entries.ts";
import { formatCheckpoint } from "../../protocol/log/note.ts";
import { consistencyProof, treeRoot } from "../../protocol/log/proofs.ts";
import { entriesPath, extendTree, newTiles, tileWidth, widthInTree } from "../../protocol/log/tiles.ts";
import { leafHash } from "../../protocol/merkle.ts";
import type { LogObject, LogStore } from "../../storage/log-store.ts";
import {
  batchMax,
  type HeadStanding,
  type LogSequencerProtocol,
  type PendingEntry,
  type TreeHead,
} from "../messages/log-sequencer.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { logRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { checkHead, isSafe, isSame, type LogSequencerPorts } from "./check-head.ts";
import { objectOf, overlay, readBundle, readTilesOf } from "./stored-tree.ts";

type Told<T extends keyof LogSequencerProtocol> = CommandOf<LogSequencerProtocol, T>;
type Batch = { readonly count: number; readonly up_to: number };

export function logSequencerActivities(ports: LogSequencerPorts): Record<string, Activity> {
  return {
    chooseLeaves: (_params: object, context: ActivityContext) =>
      unlessDoubted(ports, context, async (standing): Promise<Told<"log.choose">> => {
        const pending = await pendingUpTo(context, batchMax);
        const leaves = pending.map(({ entry }) => entry.leaf);
        const isInTree = await areInTree(ports, standing, pending);
        const firsts = new Map(leaves.map((leaf, at) => [leaf, at] as const).reverse());
        const known = pending.filter(({ entry }, at) => isInTree[at] || firsts.get(entry.leaf) !== at);
        return { type: "log.choose", up_to: pending.at(-1)?.place ?? -1, known };
      }),
    writeTiles: (
      { from, batch }: { readonly from: number; readonly batch: Batch },
      context: ActivityContext,
    ) =>
      unlessDoubted(ports, context, async ({ era, head }): Promise<Told<"log.written"> | null> => {
        if (from !== head.size) return null;
        const pending = await pendingUpTo(context, batch.count);
        // Another process has done it: what waits now is not what this place in the tree has.
        if (pending.length !== batch.count || pending.some(({ place }) => place > batch.up_to))
          throw new Error("The batch is no longer what waits.");
        return { type: "log.written", head: await writeBatch(ports, { from, hasLost: era > 0 }, pending) };
      }),
    publishHead: ({ head }: { readonly head: TreeHead }, context: ActivityContext) =>
      unlessDoubted(ports, context, async ({ publishing }) =>
        isSame(head, publishing) ? publishHead(ports, head) : null,
      ),
    checkHead: (_params: object, context: ActivityContext) => checkHead(ports, context),
  };
}

/** Does the work if the head is certainly the newest, and otherwise says that it may not be. */
async function unlessDoubted<T>(
  ports: LogSequencerPorts,
  context: ActivityContext,
  work: (standing: HeadStanding) => Promise<T>,
): Promise<T | Told<"log.doubt">> {
  const standing = await context.ask(logRef(), { type: "log.standing" });
  return (await isSafe(ports, standing)) ? work(standing) : { type: "log.doubt" };
}

/**
 * Which entries the tree has. Once the log's home was lost, its index of leaves may name places that are no longer those of these
 * leaves, so each is looked up.
 */
async function areInTree(
  { log }: Pick<LogSequencerPorts, "log">,
  { head: { size }, era }: HeadStanding,
  pending: readonly PendingEntry[],
): Promise<readonly boolean[]> {
  const indexes = await log.findLeaves(pending.map(({ entry }) => entry.leaf));
  if (era === 0) return indexes.map((index) => index !== null);
  return Promise.all(
    pending.map(async ({ entry }, at) => {
      const place = indexes[at] ?? null;
      if (place === null || place >= size) return false;
      const index = Math.floor(place / tileWidth);
      const bundle = await readBundle(log, { index, width: widthInTree(0, index, size) });
      return equalBytes(bundle[place % tileWidth] as Uint8Array, entryBytes(entry));
    }),
  );
}

async function publishHead(
  { log, origin, sha256, sign, cosign, policy }: LogSequencerPorts,
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
  return { type: "log.published", head, leaf: hashOf(utf8(text), sha256), policy };
}

async function pendingUpTo(context: ActivityContext, count: number): Promise<readonly PendingEntry[]> {
  return context.ask(logRef(), { type: "log.pending", after: -1, limit: count });
}

/** Writes what the tree needs with these leaves behind its first `from`, and returns its head. */
async function writeBatch(
  { log, sha256 }: LogSequencerPorts,
  { from, hasLost }: { readonly from: number; readonly hasLost: boolean },
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
    // Behind the head there may be what a lost home wrote, and nobody was shown.
    hasLost ? { over: from } : {},
  );
  return { size, root: formatHash(await treeRoot({ size, read: overlay(tiles, stored), sha256 })) };
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
