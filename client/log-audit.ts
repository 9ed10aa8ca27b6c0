// Follows a transparency log as its monitor: every entry, every tile and every proof since the last audit, over tiles alone.
//
// The server is not trusted:
// 1. Nothing is believed that does not follow from a checkpoint which a known key of the log signed.
// 2. Entries are reported to the caller before the last check, so the caller uses none of them unless the audit returns.
// 3. What is kept is the right edge of the tree: at most 255 hashes for each of its levels, however large the tree is.
// 4. The state that is returned is of a tree all of whose entries were seen; an audit that is refused leaves no state.

import {
  equalBytes,
  parseBase64,
  parseHash,
  type Sha256,
  sha256,
  toBase64,
  utf8,
} from "../protocol/bytes.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { parseAnchors } from "../protocol/keys/anchors.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { judgeCosignatures, parseWitnessPolicy, type WitnessPolicy } from "../protocol/log/cosignatures.ts";
import { keyAddedEntry, type LogEntry, parseBundle, parseEntry } from "../protocol/log/leaves.ts";
import {
  type Checkpoint,
  isSignedBy,
  type NoteKey,
  parseCheckpoint,
  parseNote,
  type VerifySignature,
} from "../protocol/log/note.ts";
import {
  consistencyRanges,
  entriesPath,
  extendTree,
  rangeRoots,
  type TileId,
  tilePath,
  tileWidth,
  widthInTree,
} from "../protocol/log/tiles.ts";
import { leafHash, verifyConsistency } from "../protocol/merkle.ts";
import { logKeys } from "../verifier/log.ts";
import { verifyKeySet } from "../verifier/trust.ts";
import { LogFault, type ReadLog } from "./log-reader.ts";

/** Whose log it is, and who may sign for it. */
export interface AuditedLog {
  readonly origin: string;
  readonly keys: readonly NoteKey[];
  readonly verify: VerifySignature;
  readonly sha256: Sha256;
  readonly read: ReadLog;
  /** Who has to have cosigned the checkpoint that is served; nobody unless given. */
  readonly witnesses?: WitnessPolicy;
}

/** How far the log was audited. */
export interface AuditState {
  /** The signed checkpoint; its size is that of the edge. */
  readonly checkpoint: string;
  /** The last tile of each level that is not full, entry level first; 32 bytes a hash. */
  readonly edge: readonly Uint8Array[];
}

export interface AuditedEntry extends LogEntry {
  readonly index: number;
}

export interface Audit {
  readonly from: number;
  readonly size: number;
  readonly state: AuditState;
}

/**
 * Audits the log from a state, or from its beginning. Throws {@link LogFault} for a log that is not honest, and what
 * `read` throws where it cannot be reached.
 */
export async function auditLog(
  log: AuditedLog,
  state: AuditState | null,
  onEntry: (entry: AuditedEntry) => void,
): Promise<Audit> {
  const known = state === null ? null : await openState(log, state);
  const note = await log.read.checkpoint();
  const current = readCheckpoint(log, note);
  judgeWitnesses(log, note);
  const from = known?.size ?? 0;
  if (current.size < from)
    throw new LogFault("log_rolled_back", `The log has ${current.size} entries and had ${from}.`);
  if (known !== null && current.size === from && !equalBytes(known.root, current.root))
    throw new LogFault("log_forked", `The log signed two trees of ${from} entries.`);
  const edge = state?.edge ?? [];
  if (known !== null && from > 0 && from < current.size) await followed(log, known, current, edge);
  const grown = await readLeaves(log, { edge, from, size: current.size }, onEntry);
  if (!equalBytes(await rootOf(log, grown, current.size), current.root))
    throw new LogFault("tile_wrong", "The tiles and entries do not hash to the root of the checkpoint.");
  return { from, size: current.size, state: { checkpoint: note, edge: grown } };
}

/** A state is as trusted as its checkpoint: its edge has to be of that tree. */
async function openState(log: AuditedLog, { checkpoint, edge }: AuditState): Promise<Checkpoint> {
  const known = readCheckpoint(log, checkpoint);
  const fault = new LogFault("state_invalid", "The stored hashes are not of the stored checkpoint's tree.");
  const isWhole = edge.every((tile, level) => tile.length === 32 * edgeWidth(level, known.size));
  if (!isWhole || !equalBytes(await rootOf(log, edge, known.size), known.root)) throw fault;
  return known;
}

function edgeWidth(level: number, size: number): number {
  return Math.floor(size / tileWidth ** level) % tileWidth;
}

function readCheckpoint(log: AuditedLog, note: string): Checkpoint {
  const parsed = parseNote(note);
  const read = parsed.ok ? parseCheckpoint(parsed.value.text) : parsed;
  if (!parsed.ok || !read.ok)
    throw new LogFault("checkpoint_malformed", read.ok ? "The checkpoint is not a note." : read.detail);
  if (read.value.origin !== log.origin)
    throw new LogFault(
      "log_origin_other",
      `The checkpoint is of ${read.value.origin}, not of ${log.origin}.`,
    );
  if (!isSignedBy(log, parsed.value, log.keys))
    throw new LogFault(
      "log_key_unknown",
      "No known key of the log signed the checkpoint, or a signature is wrong.",
    );
  return read.value;
}

/** The state's checkpoint was audited under the policy of its time; the one that is served has to satisfy today's. */
function judgeWitnesses(log: AuditedLog, text: string): void {
  const note = parseNote(text);
  if (log.witnesses === undefined || !note.ok) return;
  const judged = judgeCosignatures(log, note.value, log.witnesses);
  if (!judged.ok) throw new LogFault("checkpoint_invalid", judged.detail);
}

/** The root of the tree that an edge is of. */
async function rootOf(
  { sha256 }: AuditedLog,
  edge: readonly Uint8Array[],
  size: number,
): Promise<Uint8Array> {
  const read = async (tiles: readonly TileId[]) => tiles.map(({ level }) => edge[level] ?? new Uint8Array());
  const [root] = await rangeRoots({ size, read, sha256 }, [{ start: 0, end: size }]);
  return root as Uint8Array;
}

/** That the log continues the tree that was audited last: by the proof that it serves, and by one computed from its tiles. */
async function followed(
  log: AuditedLog,
  known: Checkpoint,
  current: Checkpoint,
  edge: readonly Uint8Array[],
): Promise<void> {
  const { sha256 } = log;
  const sizes = { firstSize: known.size, secondSize: current.size };
  const claim = { ...sizes, firstRoot: known.root, secondRoot: current.root };
  const served = (await log.read.consistency(known.size, current.size)).map((each) => parseHash(each));
  const path = served.filter((each) => each !== null);
  const isProven = path.length === served.length && verifyConsistency({ ...claim, path }, sha256);
  const read = (tiles: readonly TileId[]) => Promise.all(tiles.map((tile) => log.read.tile(tile)));
  const computed = await rangeRoots(
    { size: current.size, read, sha256 },
    consistencyRanges(known.size, current.size),
  );
  if (verifyConsistency({ ...claim, path: computed }, sha256)) {
    if (isProven) return;
    throw new LogFault(
      "consistency_invalid",
      "The tiles continue the tree, but the proof that is served does not.",
    );
  }
  if (isProven) throw new LogFault("tile_wrong", "The tiles are not those of the checkpoint's tree.");
  const index = Math.floor(known.size / tileWidth);
  const tile = await log.read.tile({ level: 0, index, width: widthInTree(0, index, current.size) });
  const [before, now] = [hashesOf(edge[0] ?? new Uint8Array()), hashesOf(tile)];
  if (isReordered(before, now.slice(0, before.length)))
    throw new LogFault("log_reordered", "The entries that were audited last are now in another order.");
  throw new LogFault(
    "log_forked",
    `The log does not continue the tree of ${known.size} entries that it signed.`,
  );
}

function hashesOf(tile: Uint8Array): readonly string[] {
  return Array.from({ length: tile.length / 32 }, (_, at) =>
    String.fromCharCode(...tile.subarray(at * 32, at * 32 + 32)),
  );
}

function isReordered(first: readonly string[], second: readonly string[]): boolean {
  return first.join() !== second.join() && first.toSorted().join() === second.toSorted().join();
}

/** Reads the entries from one size to the other with all tiles that they make; returns the edge of the tree. */
async function readLeaves(
  log: AuditedLog,
  {
    edge: before,
    from,
    size,
  }: { readonly edge: readonly Uint8Array[]; readonly from: number; readonly size: number },
  onEntry: (entry: AuditedEntry) => void,
): Promise<readonly Uint8Array[]> {
  const edge = [...before];
  const read = async (tiles: readonly TileId[]) => tiles.map(({ level }) => edge[level] ?? new Uint8Array());
  for (let at = from; at < size; at = Math.min(size, at - (at % tileWidth) + tileWidth)) {
    const index = Math.floor(at / tileWidth);
    const hashes = await readBundle(log, { index, width: widthInTree(0, index, size) }, at, onEntry);
    const made = await extendTree({ size: at, read, sha256: log.sha256 }, hashes);
    for (const { hashes: ours, ...tile } of made) {
      const isFull = tile.width === tileWidth;
      edge[tile.level] = isFull ? new Uint8Array() : ours;
      // The tiles of level 0 were compared with the entries.
      if (isFull && tile.level > 0) await sameTile(log, tile, ours);
    }
  }
  for (const [level, ours] of edge.entries()) {
    const index = Math.floor(size / tileWidth ** (level + 1));
    if (from < size && ours.length > 0) await sameTile(log, { level, index, width: ours.length / 32 }, ours);
  }
  return edge;
}

async function sameTile(log: AuditedLog, tile: TileId, ours: Uint8Array): Promise<void> {
  if (!equalBytes(await log.read.tile(tile), ours))
    throw new LogFault("tile_wrong", `${tilePath(tile)} does not follow from the entries.`);
}

/** The leaf hashes of a bundle from leaf `from` on, all of whose entries are those of their tile. */
async function readBundle(
  log: AuditedLog,
  bundle: { readonly index: number; readonly width: number },
  from: number,
  onEntry: (entry: AuditedEntry) => void,
): Promise<readonly Uint8Array[]> {
  const { index, width } = bundle;
  const first = index * tileWidth;
  const path = entriesPath(bundle);
  const [tile, bytes] = [await log.read.tile({ level: 0, ...bundle }), await log.read.entries(bundle)];
  const entries = parseBundle(bytes, width);
  if (entries === null) throw new LogFault("entries_wrong", `${path} does not consist of ${width} entries.`);
  const hashes = entries.map((entry) => leafHash(entry, log.sha256));
  const wrong = hashes.findIndex((hash, at) => !equalBytes(hash, tile.subarray(at * 32, at * 32 + 32)));
  const inTile = hashesOf(tile);
  if (wrong >= 0 && isReordered(hashes.flatMap(hashesOf), inTile))
    throw new LogFault("log_reordered", `${path} has the entries of the tree in another order.`);
  if (wrong >= 0)
    throw new LogFault("entries_wrong", `Entry ${first + wrong} does not hash to the leaf in the tree.`);
  for (const [at, each] of entries.entries()) {
    const entry = parseEntry(each);
    if (entry === null) throw new LogFault("entry_malformed", `Entry ${first + at} is not well formed.`);
    if (first + at >= from) onEntry({ ...entry, index: first + at });
  }
  return hashes.slice(from - first);
}

// How far a log was audited, as a text that is kept in a file; and whose log it is, by pinned anchors.

/** What verifies a log's signatures. */
export const portablePrimitives = { verify: verifySignature, sha256 };

/** The text in which the state of an audit is kept, one line of JSON; {@link parseAuditState} reads it. */
export function formatAuditState({ checkpoint, edge }: AuditState): string {
  return `${JSON.stringify({ version: 1, checkpoint, edge: edge.map(toBase64) })}\n`;
}

/** Throws {@link LogFault} for a text that is not of {@link formatAuditState}. */
export function parseAuditState(text: string): AuditState {
  const parsed = parseStrictJson(utf8(text));
  const { version, checkpoint, edge } = (parsed.ok ? (parsed.value ?? {}) : {}) as Record<string, unknown>;
  const tiles = Array.isArray(edge) ? edge.map((each) => parseBase64(String(each))) : [null];
  const whole = tiles.filter((each) => each !== null);
  if (version !== 1 || typeof checkpoint !== "string" || whole.length !== tiles.length)
    throw new LogFault("state_invalid", "The file is not the state of an audit.");
  return { checkpoint, edge: whole };
}

/** The log that anchors name, with its keys in a key set that leads to them; a text says why there is none. */
export function anchoredLog(
  anchorsText: string,
  keySetText: string,
): { readonly origin: string; readonly keys: readonly NoteKey[] } | string {
  const read = parseStrictJson(utf8(anchorsText));
  const anchors = read.ok ? parseAnchors(read.value) : read;
  if (!anchors.ok) return `The anchors are not anchors: ${anchors.detail}`;
  const keySet = parseStrictJson(utf8(keySetText));
  const trust = keySet.ok ? verifyKeySet(anchors.value, keySet.value, portablePrimitives) : keySet;
  if (!trust.ok) return `The key set does not lead to the anchors: ${trust.detail}`;
  return { origin: anchors.value.log.origin, keys: logKeys(trust.value) };
}

/** The policy that `GET /v1/log/witnesses` answers; null for another text. */
export function parseServedPolicy(text: string): WitnessPolicy | null {
  const read = parseStrictJson(utf8(text));
  const { quorum, witnesses } = (read.ok ? (read.value ?? {}) : {}) as Record<string, unknown>;
  if (typeof quorum !== "number" || !Array.isArray(witnesses)) return null;
  const keys = witnesses.map((each: { readonly key?: unknown } | null) => String(each?.key));
  return parseWitnessPolicy({ keys, quorum }, sha256);
}

// What a business can account for of the entries in its name: the registrations of its own keys, and the seals that it made. What
// else is there lets somebody else act as the business, or is something that it forgot: the log makes it visible.

export interface OwnActs {
  readonly businessUuid: string;
  readonly keyIds: readonly string[];
  /** Leaves of its seals, and of whatever else was looked at and found to be its own. */
  readonly leaves: ReadonlySet<string>;
  /** Leaves about keys that the service says it holds for the business. */
  readonly hosted?: ReadonlySet<string>;
}

/**
 * `to_look_at`: a certificate or a key that the service holds, which no file of the business foretells. `unaccounted`: a seal that it did
 * not make, or a `key_event` of none of its keys: the log has only a hash, so a custody statement that is not among its leaves is one too.
 */
export type Standing = "other" | "accounted" | "to_look_at" | "unaccounted";

/** Judges entries of the log by what a business knows to be its own. */
export function accountOfEntries({
  businessUuid,
  keyIds,
  leaves,
  hosted,
}: OwnActs): (entry: LogEntry) => Standing {
  const keys = new Set(keyIds.map((keyId) => keyAddedEntry(businessUuid, keyId, sha256).leaf));
  return ({ subject, leaf_type, leaf }) => {
    if (subject !== businessUuid) return "other";
    if (leaves.has(leaf) || (leaf_type === "key_event" && keys.has(leaf))) return "accounted";
    if (leaf_type === "key_event" && hosted?.has(leaf)) return "to_look_at";
    return leaf_type === "certificate" ? "to_look_at" : "unaccounted";
  };
}
