// The work of the log's sequencer outside the actor. Every piece may be repeated, by whatever process, and then does the same:
// what it reads is committed, and what it writes follows from that alone. Before it, each asks whether the head is the newest (LS5).

import { equalBytes, formatHash, hashOf, parseHash, type Sha256, utf8 } from "../../protocol/bytes.ts";
import { entryBytes, formatBundle, parseBundle, parseEntry } from "../../protocol/log/leaves.ts";
import { formatCheckpoint } from "../../protocol/log/note.ts";
import {
  consistencyProof,
  entriesPath,
  extendTree,
  newTiles,
  type ReadTiles,
  type Tile,
  TileFault,
  tilePath,
  tileWidth,
  treeRoot,
  widthInTree,
} from "../../protocol/log/tiles.ts";
import { leafHash } from "../../protocol/merkle.ts";
import type { LeafPlace, LogObject, LogStore, StoredCheckpoint } from "../../storage/log-store.ts";
import type { Cosign } from "../../transport/witness-port.ts";
import {
  batchMax,
  type HeadFinding,
  type HeadStanding,
  type LogSequencerProtocol,
  type PendingEntry,
  type TreeHead,
} from "../messages/log-sequencer.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { logRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

type Told<T extends keyof LogSequencerProtocol> = CommandOf<LogSequencerProtocol, T>;
type Batch = { readonly count: number; readonly up_to: number };

/** What the sequencer does between its states: chooses leaves, writes tiles, publishes heads (LS1 to LS5). */
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
    note: await sign(text),
    size: head.size,
    publishedSize: published?.size ?? 0,
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
  log: LogStore,
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

// Whether the log may go on from its head: the decision alone, from what is known and what is there.
//   J1. A tree is signed only if it contains every tree that is known to have been signed: one tree has the root of each at its
//       size, as computed from what is stored.
//   J2. The log never goes back: where a larger tree than the head was published, that one is the head.

/** The root of the first `size` leaves as what is stored gives it; null where something of them is missing. */
export type StoredRoot = (size: number) => string | null;

/** Whether the tiles that are stored lead to a head and to all heads that were published before it. */
export function judgeHead(
  head: TreeHead,
  published: readonly TreeHead[],
  storedRoot: StoredRoot,
): Exclude<HeadFinding, { readonly kind: "refused" }> | FaultyHead {
  const known = [head, ...published];
  for (const { size, root } of known) {
    const stored = storedRoot(size);
    if (stored === null)
      return refused("log_incomplete", `of the tree of ${size} leaves not everything is here`);
    if (stored !== root) {
      const what = size === head.size && root === head.root ? "the head" : "the published tree";
      return refused(
        "log_forked",
        `${what} of ${size} leaves has the root ${root}, and what is here gives ${stored}`,
      );
    }
  }
  const newest = known.reduce((last, each) => (each.size > last.size ? each : last));
  return newest === head
    ? { kind: "kept" }
    : { kind: "adopted", head: { size: newest.size, root: newest.root } };
}

type FaultyHead = Extract<HeadFinding, { readonly kind: "refused" }>;

function refused(reason: FaultyHead["reason"], detail: string): FaultyHead {
  return { kind: "refused", reason, detail };
}

// Whether the log's head is the newest, before anything is written or signed on top of it.
//   H1. Nothing is signed to find out: witnesses are asked about the newest checkpoint that was published already.
//   H2. What is missing is said and looked for again: a copy that is late, or is being repaired, may have it later.

interface LogSequencerPorts {
  readonly log: LogStore;
  readonly origin: string;
  readonly sha256: Sha256;
  /** Signs the checkpoint's text; returns the note. */
  readonly sign: (text: string) => Promise<string>;
  /** Why this node cannot sign checkpoints; null where it can. */
  readonly keyFault: () => string | null;
  readonly cosign: Cosign;
  /** Names the policy by which `cosign` asks. */
  readonly policy: string;
  /** Tells operators why the log stands still. */
  readonly report: (reason: string, detail: string) => void;
}

type Ports = Pick<LogSequencerPorts, "log" | "sha256" | "keyFault" | "cosign" | "report">;

/** Whether the head is certainly the newest: the home was not lost, and what is published is what the sequencer published. */
async function isSafe({ log, keyFault }: Ports, standing: HeadStanding): Promise<boolean> {
  const { isConfirmed, published, publishing } = standing;
  if (!isConfirmed || keyFault() !== null) return false;
  const checkpoint = await log.readCheckpoint();
  // Its own last one may not have reached the copies that were asked.
  if (checkpoint === null || checkpoint.size < (published?.size ?? 0)) return true;
  return isSame(checkpoint, published) || isSame(checkpoint, publishing);
}

function isSame({ size, root }: TreeHead, other: TreeHead | null): boolean {
  return other !== null && size === other.size && root === other.root;
}

/** Compares the head with everything that is known to have been published, and takes over what is newer. */
async function checkHead(
  ports: Ports,
  context: ActivityContext,
): Promise<CommandOf<LogSequencerProtocol, "log.judge">> {
  const standing = await context.ask(logRef(), { type: "log.standing" });
  const { era, supplied } = standing;
  const stored = await ports.log.readNewestCheckpoint();
  const published = stored === null ? null : { size: stored.size, root: stored.root };
  const signed = [stored, supplied].filter((each) => each !== null);
  const newest = signed.toSorted((a, b) => b.size - a.size)[0] ?? null;
  const finding =
    keyFinding(ports) ??
    (hasLost(standing, newest) ? await witnessFinding(ports, newest) : null) ??
    (await treeFinding(ports, standing.head, signed));
  if (finding.kind === "refused") ports.report(finding.reason, finding.detail);
  return { type: "log.judge", era, finding, published };
}

/** Whether commits of the sequencer may be missing, so that witnesses may know of more than is known here. */
function hasLost<T extends TreeHead>({ isTakenOver, head }: HeadStanding, newest: T | null): newest is T {
  return newest !== null && (isTakenOver || newest.size > head.size);
}

function keyFinding({ keyFault }: Ports): HeadFinding | null {
  const fault = keyFault();
  return fault === null ? null : refused("log_key_missing", fault);
}

/** What keeps the witnesses from confirming the newest checkpoint that is known here; null where enough of them did. */
async function witnessFinding(
  { log, sha256, cosign }: Ports,
  { note, size }: StoredCheckpoint,
): Promise<HeadFinding | null> {
  const tree = { size, read: readTilesOf(log), sha256 };
  const answer = await cosign({
    note,
    size,
    publishedSize: size,
    proofFrom: (from) => consistencyProof(tree, from),
  });
  if (answer.disputed !== undefined)
    return refused(
      "checkpoint_behind_witness",
      `the newest checkpoint here has ${size} leaves, and ${answer.disputed}`,
    );
  return "missing" in answer ? refused("head_unconfirmed", answer.missing) : null;
}

async function treeFinding(
  { log, sha256 }: Ports,
  head: TreeHead,
  signed: readonly TreeHead[],
): Promise<HeadFinding> {
  const roots = new Map<number, string>();
  const gaps: string[] = [];
  const rebuilt = new Map<number, Awaited<ReturnType<typeof rebuild>>>();
  for (const { size } of [head, ...signed]) {
    try {
      if (size <= head.size) roots.set(size, await rootOfTiles({ log, sha256 }, size));
      else {
        const tree = await rebuild({ log, sha256 }, head.size, size);
        rebuilt.set(size, tree);
        roots.set(size, tree.root);
      }
    } catch (error) {
      if (!(error instanceof LogGap || error instanceof TileFault)) throw error;
      gaps.push(error.message);
    }
  }
  const finding = judgeHead(head, signed, (size) => roots.get(size) ?? null);
  if (finding.kind === "refused" && finding.reason === "log_incomplete")
    return refused(finding.reason, `${finding.detail}: ${gaps.join(" ")}`);
  if (finding.kind !== "adopted") return finding;
  // What did not reach this region of tiles and of the index of leaves follows from the entries.
  const { objects, leaves } = rebuilt.get(finding.head.size) ?? { objects: [], leaves: [] };
  await log.write(objects, leaves);
  return finding;
}

// The log's tree as its store has it.

/** Something of the tree is not there, or not yet. */
class LogGap extends Error {
  override readonly name = "LogGap";
}

export interface StoredTree {
  readonly log: LogStore;
  readonly sha256: Sha256;
}

/** A part of the tree as its bundles of entries give it. */
export interface Rebuilt {
  readonly root: string;
  readonly objects: readonly LogObject[];
  readonly leaves: readonly LeafPlace[];
}

/** The root of the first `size` leaves, from their tiles. Rejects with {@link LogGap}. */
async function rootOfTiles({ log, sha256 }: StoredTree, size: number): Promise<string> {
  return formatHash(await treeRoot({ size, read: readTilesOf(log), sha256 }));
}

/** The tree of `to` leaves from the tiles of its first `from` and the entries behind them. Rejects with {@link LogGap}. */
async function rebuild({ log, sha256 }: StoredTree, from: number, to: number): Promise<Rebuilt> {
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
function overlay(tiles: readonly Tile[], stored: ReadTiles): ReadTiles {
  const made = new Map(tiles.map((tile) => [tilePath(tile), tile.hashes]));
  return async (wanted) => {
    const missing = wanted.filter((tile) => !made.has(tilePath(tile)));
    const found = await stored(missing);
    const all = new Map([...made, ...missing.map((tile, at) => [tilePath(tile), found[at]] as const)]);
    return wanted.map((tile) => all.get(tilePath(tile)) as Uint8Array);
  };
}

function objectOf(tile: Tile): LogObject {
  return { path: tilePath(tile), bytes: tile.hashes };
}

async function readBundle(
  log: LogStore,
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
export function readTilesOf(log: LogStore): ReadTiles {
  return async (tiles) => {
    const paths = tiles.map(tilePath);
    const objects = await log.read(paths);
    return objects.map((bytes, at) => {
      if (bytes === null) throw new LogGap(`${paths[at]} is not there.`);
      return bytes;
    });
  };
}
