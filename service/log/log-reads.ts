// What anybody may read of the transparency log (specification, «C. Public verification API»): its checkpoint, proofs, and the log
// itself as C2SP tlog-tiles.
//   R1. Nothing is answered that the published checkpoint does not cover: what is being sequenced cannot be read before.
//   R2. A tile or bundle never changes, so it may be cached for ever; what it is missing from a region is still on its way there.

import { formatHash, parseHash, type Sha256 } from "../../protocol/bytes.ts";
import { formatPolicy, type WitnessPolicy } from "../../protocol/log/cosignatures.ts";
import { type LogEntry, parseBundleEntry, parseEntry, receiptBatchEntry } from "../../protocol/log/leaves.ts";
import { type NoteKey, verifierKeyOf } from "../../protocol/log/note.ts";
import {
  consistencyProof,
  entriesPath,
  inclusionProof,
  type KnownRoots,
  parseTilePath,
  type TiledTree,
  tilePath,
  tileWidth,
  widthInTree,
} from "../../protocol/log/tiles.ts";
import { buildTree } from "../../protocol/merkle.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import type { Refusal } from "../../protocol/result.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { StoreError } from "../../storage/actor-store.ts";
import type { LogStore, StoredCheckpoint } from "../../storage/log-store.ts";
import { leafIn, type ReceiptStore } from "../../storage/receipt-store.ts";
import { type InclusionEvidence, verifyLogInclusion } from "../../verifier/log.ts";
import type { Trust } from "../../verifier/trust.ts";
import {
  answerJson,
  type Given,
  isRefused,
  type Outcome,
  type Refused,
  refusedWith,
  wrongParameter,
} from "../answer.ts";

export interface LogReadsDeps {
  readonly log: LogStore;
  readonly receipts: ReceiptStore;
  readonly sha256: Sha256;
  /** Whose cosignatures a checkpoint has before it is published. */
  readonly policy: WitnessPolicy;
  /** The keys of the log under its origin. */
  readonly keys: () => readonly NoteKey[];
}

/** The query of an inclusion read; `region` and `name` say of which batch a receipt is. */
export type InclusionQuery = Given<"leaf" | "region" | "name">;

export interface LogReads {
  checkpoint(): Promise<Outcome>;
  witnesses(): Promise<Outcome>;
  /** The same as a policy file, with the log's keys. */
  policyFile(): Promise<Outcome>;
  inclusion(query: InclusionQuery): Promise<Outcome>;
  consistency(query: Given<"first" | "second">): Promise<Outcome>;
  /** `path` is that of a tile or bundle below the log's address. */
  object(path: string): Promise<Outcome>;
}

/** A checkpoint is replaced at most this much later by what a reader is shown. */
const checkpointSeconds = 5;
const policySeconds = 300;
const forEver = "public, max-age=31536000, immutable";

/** Roots of subtrees that are kept, in two megabytes at most. Those near the root are used again and again, and stay. */
const knownRootsMax = 4_096;

type ReadDeps = LogReadsDeps & { readonly known: KnownRoots };

/** What anyone may read of the transparency log and of receipt batches: checkpoint, inclusion, consistency. */
export function createLogReads(logDeps: LogReadsDeps): LogReads {
  const deps: ReadDeps = { ...logDeps, known: new BoundedMap<string, Uint8Array>(knownRootsMax) };
  return {
    checkpoint: async () => {
      const checkpoint = await deps.log.readCheckpoint();
      return checkpoint === null ? noCheckpoint() : answerText(checkpoint);
    },
    witnesses: async () => showPolicy(deps),
    policyFile: async () => showPolicyFile(deps),
    inclusion: (query) => readInclusion(deps, query),
    consistency: (query) => readConsistency(deps, query),
    object: (path) => readObject(deps, path),
  };
}

/** As it is published: a reader sees by whom a checkpoint will be cosigned, and may want others. */
function showPolicy({ policy, sha256 }: LogReadsDeps): Outcome {
  const witnesses = policy.witnesses.map((key) => ({ name: key.name, key: verifierKeyOf(key, sha256) }));
  const headers = { "cache-control": `public, max-age=${policySeconds}` };
  return answerJson(200, { quorum: policy.quorum, witnesses }, headers);
}

function showPolicyFile({ keys, policy, sha256 }: LogReadsDeps): Outcome {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": `public, max-age=${policySeconds}`,
  };
  return { kind: "answer", status: 200, headers, body: formatPolicy({ logs: keys(), policy }, sha256) };
}

function noCheckpoint(): Refused {
  return refusedWith("not_found", "There is no verified checkpoint of the transparency log yet.");
}

function answerText({ note }: StoredCheckpoint): Outcome {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": `public, max-age=${checkpointSeconds}`,
  };
  return { kind: "answer", status: 200, headers, body: note };
}

async function readInclusion(deps: ReadDeps, query: InclusionQuery): Promise<Outcome> {
  const asked = parseInclusion(query);
  if (isRefused(asked)) return asked;
  const checkpoint = await deps.log.readCheckpoint();
  if (checkpoint === null) return noCheckpoint();
  const receipt = asked.batch === null ? null : await findReceipt(deps, asked.leaf, asked.batch);
  if (asked.batch !== null && receipt === null)
    return refusedWith("not_found", "No closed batch of this region and name contains this receipt.");
  const leaf = receipt?.batch.root ?? asked.leaf;
  const [index = null] = await deps.log.findLeaves([leaf]);
  if (index === null || index >= checkpoint.size)
    return refusedWith("not_found", "The log does not contain this leaf, or not yet.");
  const tree = publishedTree(deps, checkpoint);
  const [proof, entry] = await Promise.all([
    inclusionProof(tree, index),
    readEntry(deps.log, index, checkpoint.size),
  ]);
  if (entry === null) throw new Error(`Leaf ${index} of the log is no entry.`);
  // A home of the log that was lost may have noted a place in a tree that it never published.
  if (entry.leaf !== leaf) return refusedWith("not_found", "The log does not contain this leaf, or not yet.");
  return answerJson(
    200,
    {
      leaf: asked.leaf,
      leaf_type: entry.leaf_type,
      leaf_index: index,
      tree_size: checkpoint.size,
      proof: proof.map(formatHash),
      checkpoint: checkpoint.note,
      subject: entry.subject,
      ...(receipt === null ? {} : { batch: receipt.batch }),
    },
    { "cache-control": `public, max-age=${checkpointSeconds}` },
  );
}

interface AskedBatch {
  readonly region: string;
  readonly name: string;
}

function parseInclusion({
  leaf,
  region,
  name,
}: InclusionQuery): { readonly leaf: string; readonly batch: AskedBatch | null } | Refused {
  if (leaf === null || parseHash(leaf) === null)
    return wrongParameter("leaf", "leaf is a hash, sha256:<64 hex>.");
  if (region === null && name === null) return { leaf, batch: null };
  if (region === null || !/^[a-z]+-[a-z]+[0-9]+$/.test(region) || region.length > 64)
    return wrongParameter("region", "region is that of the receipt, such as eu-west1.");
  if (name === null || !/^[0-9]{12}(?:-[A-Za-z0-9_-]{1,64})?$/.test(name))
    return wrongParameter(
      "name",
      "name is that of the receipt's batch, or only its minute: YYYYMMDDHHMM, or YYYYMMDDHHMM-….",
    );
  return { leaf, batch: { region, name } };
}

interface ReceiptLevel {
  readonly batch: {
    readonly region: string;
    readonly name: string;
    readonly root: string;
    readonly leaf_index: number;
    readonly tree_size: number;
    readonly proof: readonly string[];
  };
}

/** A receipt states its minute; in which of the minute's batches it is, only the service knows. */
async function findReceipt(
  deps: LogReadsDeps,
  leaf: string,
  { region, name }: AskedBatch,
): Promise<ReceiptLevel | null> {
  const isMinute = !name.includes("-");
  const names = isMinute ? await deps.receipts.closedBatches(region, name) : [name];
  for (const each of names) {
    const found = await findInBatch(deps, leaf, { region, name: each });
    if (found !== null) return found;
  }
  return null;
}

/** The lower of a receipt's two levels: its path within its batch. Null if the batch does not contain it. */
async function findInBatch(
  { receipts, sha256 }: LogReadsDeps,
  leaf: string,
  { region, name }: AskedBatch,
): Promise<ReceiptLevel | null> {
  const closed = await receipts.readClosed(region, name);
  if (closed === null) return null;
  // Receipts that came after the batch was closed are behind those that its root covers in time, not in order.
  const leaves: Uint8Array[] = [];
  let index = -1;
  for await (const page of receipts.readBatch(region, name))
    for (const receipt of page) {
      if (index < 0 && receipt.hash === leaf) index = leaves.length;
      leaves.push(leafIn(receipt));
    }
  const tree = buildTree(leaves, sha256);
  if (index < 0 || formatHash(tree.root) !== closed.root) return null;
  const { leaf: root } = receiptBatchEntry({ region, batch: name, root: closed.root });
  const proof = tree.path(index).map(formatHash);
  return { batch: { region, name, root, leaf_index: index, tree_size: tree.size, proof } };
}

async function readConsistency(
  deps: ReadDeps,
  query: { readonly first: string | null; readonly second: string | null },
): Promise<Outcome> {
  const first = sizeOf(query.first);
  if (first === null) return wrongParameter("first", "first is an integer of at least 1.");
  const second = query.second === null ? undefined : sizeOf(query.second);
  if (second === null) return wrongParameter("second", "second is an integer of at least 1.");
  const checkpoint = await deps.log.readCheckpoint();
  if (checkpoint === null) return noCheckpoint();
  const to = second ?? checkpoint.size;
  if (first > to || to > checkpoint.size)
    return refusedWith("not_found", `Sizes are such that 1 <= first <= second <= ${checkpoint.size}.`);
  const proof = await consistencyProof(publishedTree(deps, checkpoint), first, to);
  return answerJson(
    200,
    { from_size: first, to_size: to, proof: proof.map(formatHash), checkpoint: checkpoint.note },
    { "cache-control": `public, max-age=${checkpointSeconds}` },
  );
}

/** A size is a positive integer; one beyond what can be counted is out of range like any other that is too large. */
function sizeOf(text: string | null): number | null {
  if (text === null || !/^0*[1-9][0-9]*$/.test(text)) return null;
  return Number(text);
}

async function readObject({ log }: LogReadsDeps, path: string): Promise<Outcome> {
  const tile = parseTilePath(path);
  if (tile === null) return refusedWith("not_found", "This is not the path of a tile (C2SP tlog-tiles).");
  const checkpoint = await log.readCheckpoint();
  const { level, index, width } = tile;
  const isPublished = checkpoint !== null && width <= widthInTree(level, index, checkpoint.size);
  const [bytes = null] = isPublished ? await log.read([path]) : [];
  if (bytes === null)
    return refusedWith("not_found", "The log has no such tile, or has not published one of this width.");
  const headers = { "content-type": "application/octet-stream", "cache-control": forEver };
  return { kind: "answer", status: 200, headers, body: bytes };
}

// Proofs from the transparency log for what the service itself answers about (specification, «POST /v1/verify»).
//   P1. A proof is given only if the pure verifier accepts it under the published checkpoint: what is said of the log is what
//       anybody who reads it would find.
//   P2. «The log does not contain it» is said only of a leaf that the log was asked for. A log that cannot be read is an error.
//   P3. A home of the log that was lost may have noted places of leaves in a tree that it never published. Where another entry is
//       proven to be there, the leaf is not.

export interface LogTreeDeps {
  readonly log: LogStore;
  readonly sha256: Sha256;
  /** What earlier proofs from the same log found. */
  readonly known?: KnownRoots;
}

/** Whether the published log contains an entry. `refused`: what was found there does not verify. */
export type LogFinding =
  | { readonly kind: "proven"; readonly evidence: InclusionEvidence }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly refusal: Refusal<ReasonCode> };

/** The findings on entries, in their order, all against one checkpoint. */
export async function findInLog(
  log: LogStore,
  trust: Trust,
  entries: readonly LogEntry[],
): Promise<readonly LogFinding[]> {
  const checkpoint = entries.length === 0 ? null : await log.readCheckpoint();
  if (checkpoint === null) return entries.map(() => ({ kind: "absent" }));
  const places = await log.findLeaves(entries.map(({ leaf }) => leaf));
  const tree = publishedTree({ log, sha256: trust.sha256 }, checkpoint);
  return Promise.all(
    entries.map(async (entry, at): Promise<LogFinding> => {
      const index = places[at] ?? null;
      if (index === null || index >= checkpoint.size) return { kind: "absent" };
      const proof = (await inclusionProof(tree, index)).map(formatHash);
      const { size, note } = checkpoint;
      const evidence = { leaf_index: index, tree_size: size, proof, checkpoint: note };
      const verdict = verifyLogInclusion(trust, entry, evidence);
      if (verdict.ok) return { kind: "proven", evidence };
      const there = await readEntry(log, index, checkpoint.size);
      const isOther =
        there !== null && there.leaf !== entry.leaf && verifyLogInclusion(trust, there, evidence).ok;
      return isOther ? { kind: "absent" } : { kind: "refused", refusal: verdict };
    }),
  );
}

/** The entry at an index of the tree of `size` leaves; null if what is there is none. */
export async function readEntry(log: LogStore, index: number, size: number): Promise<LogEntry | null> {
  const bundle = Math.floor(index / tileWidth);
  const width = widthInTree(0, bundle, size);
  const [bytes = null] = await log.read([entriesPath({ index: bundle, width })]);
  const entry = parseBundleEntry(bytes ?? missingTile(), width, index % tileWidth);
  return entry && parseEntry(entry);
}

/** The published tree. */
function publishedTree({ log, sha256, known }: LogTreeDeps, { size }: StoredCheckpoint): TiledTree {
  return {
    size,
    sha256,
    known,
    read: async (tiles) => {
      const objects = await log.read(tiles.map(tilePath));
      return objects.map((bytes) => bytes ?? missingTile());
    },
  };
}

/** Another region wrote it, and it is on its way here. */
export function missingTile(): never {
  throw new StoreError("not_applied", "a tile of the log is not readable in this region yet");
}
