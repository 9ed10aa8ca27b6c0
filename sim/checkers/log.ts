// The transparency log once nothing is in flight: it only grew, its tiles are those of its entries, every leaf is in it once, and so
// is what its sequencer acknowledged, and the seal of every push that was accepted.

import { equalBytes, formatHash, hashOf, utf8 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { judgeCosignatures } from "../../protocol/log/cosignatures.ts";
import { contentHash, type LogEntry, parseBundle, parseEntry } from "../../protocol/log/leaves.ts";
import { noteKeyOf, parseCheckpoint, parseNote, verifyNote } from "../../protocol/log/note.ts";
import { entriesPath, extendTree, tilePath, tileWidth, widthInTree } from "../../protocol/log/tiles.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import { createLogReads, type LogReads } from "../../service/log/log-reads.ts";
import type { StoredCheckpoint } from "../../storage/log-store.ts";
import type { ReceiptRow } from "../../storage/receipt-store.ts";
import {
  type InclusionEvidence,
  type ReceiptBatchEvidence,
  verifyLogConsistency,
  verifyLogInclusion,
  verifyReceiptInclusion,
} from "../../verifier/log.ts";
import type { Trust } from "../../verifier/trust.ts";
import { logCheckpoint, logObjects, openSimLogStore } from "../store/log-store.ts";
import { openSimReceiptStore } from "../store/receipt-store.ts";
import type { Journal } from "../workload/journal.ts";
import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";

export async function checkLog(world: World, journal: Journal, truth: Truth): Promise<void> {
  const { parts, observed } = world;
  const { sha256 } = parts.crypto;
  const region = parts.regions[0] ?? "";
  const objects = parts.stores.tables.of<Uint8Array>(logObjects).arrived(region);
  const checkpoint = parts.stores.tables.of<StoredCheckpoint>(logCheckpoint).arrived(region).get("")?.value;
  if (checkpoint === undefined) {
    if (observed.checkpoints.length > 0) observed.violate("log-grows", "the published checkpoint is gone");
    return;
  }
  observed.mark("log.sequenced");
  const bytes: Uint8Array[] = [];
  for (let index = 0; index * tileWidth < checkpoint.size; index += 1) {
    const width = widthInTree(0, index, checkpoint.size);
    const bundle = objects.get(entriesPath({ index, width }))?.value;
    const entries = bundle === undefined ? null : parseBundle(bundle, width);
    if (entries === null) {
      observed.violate("log-is-whole", `bundle ${index} of ${width} is not there`);
      return;
    }
    bytes.push(...entries);
  }
  const hashes = bytes.map((entry) => leafHash(entry, sha256));
  for (const { size, root, note } of [...observed.checkpoints, checkpoint]) {
    if (formatHash(merkleRoot(hashes.slice(0, size), sha256)) !== root)
      observed.violate(
        "log-grows",
        `the checkpoint of ${size} leaves has another root than the log of ${checkpoint.size}`,
      );
    checkNote(world, { size, root, note });
  }
  const nothing = async (): Promise<readonly Uint8Array[]> => [];
  for (const tile of await extendTree({ size: 0, read: nothing, sha256 }, hashes)) {
    const kept = objects.get(tilePath(tile))?.value;
    if (kept === undefined || !equalBytes(kept, tile.hashes))
      observed.violate("log-is-whole", `${tilePath(tile)} is not what the entries give`);
  }
  await checkProofs(world, checkLeaves(world, journal, truth, bytes));
}

/** A checkpoint is a note of the anchored log under its key, and says what the store says of it. */
function checkNote({ parts, observed }: World, { size, root, note }: StoredCheckpoint): void {
  const { anchors } = parts.keys.trust;
  const parsed = parseNote(note);
  const read = parsed.ok ? parseCheckpoint(parsed.value.text) : parsed;
  const key = noteKeyOf(anchors.log.key_name, parts.keys.service("").log("").publicJwk);
  const isSigned = parsed.ok && key !== null && verifyNote(parts.crypto, parsed.value, key) !== null;
  const isIt = read.ok && read.value.size === size && formatHash(read.value.root) === root;
  const { policy, crypto } = parts.witnesses;
  const cosigned = parsed.ok ? judgeCosignatures(crypto, parsed.value, policy) : parsed;
  if (!cosigned.ok) observed.violate("checkpoint-is-cosigned", `that of ${size} leaves: ${cosigned.detail}`);
  if (!isSigned || !isIt || !read.ok || read.value.origin !== anchors.log.origin)
    observed.violate("checkpoint-is-signed", `the note of ${size} leaves is not that of the tree`);
}

function checkLeaves(
  { parts, observed }: World,
  journal: Journal,
  truth: Truth,
  bytes: readonly Uint8Array[],
): readonly LogEntry[] {
  const places = new Map<string, number>();
  const all: LogEntry[] = [];
  for (const [index, each] of bytes.entries()) {
    const entry: LogEntry | null = parseEntry(each);
    if (entry === null) {
      observed.violate("log-is-whole", `leaf ${index} is no entry`);
      return all;
    }
    all.push(entry);
    const known = places.get(entry.leaf);
    if (known !== undefined)
      observed.violate("logged-once", `${entry.leaf_type} ${entry.leaf} is leaf ${known} and leaf ${index}`);
    places.set(entry.leaf, index);
  }
  for (const leaf of observed.leaves.acknowledged)
    if (!places.has(leaf))
      observed.violate("leaves-are-kept", `${leaf} was acknowledged and is not in the log`);
  for (const batch of journal.batches.values()) {
    if (
      truth.reports.get(batch.pushId) == null ||
      parts.before.pushes.some(({ id }) => id.endsWith(batch.pushId))
    )
      continue;
    const { batch_seal } = JSON.parse(new TextDecoder().decode(batch.body)) as {
      readonly batch_seal: JsonValue;
    };
    if (!places.has(contentHash(batch_seal, parts.crypto.sha256)))
      observed.violate("seals-are-logged", `the seal of ${batch.pushId} was accepted and is not in the log`);
  }
  return all;
}

// What anybody can read of the log at rest: that it contains what it does, and that it only grew. Every proof that a node answers
// verifies as a stranger verifies it, with nothing but the anchors and the key set.

/** At most so many of a kind are asked for: they cost time, and any leaf is as good as another. */
const asked = 24;

async function checkProofs(world: World, entries: readonly LogEntry[]): Promise<void> {
  const { parts } = world;
  const [region = ""] = parts.regions;
  const client = { model: parts.stores, life: null, region };
  const reads = createLogReads({
    log: parts.variation.log(openSimLogStore(client)),
    receipts: openSimReceiptStore(client),
    sha256: parts.crypto.sha256,
    policy: parts.witnesses.policy,
    keys: () => [],
  });
  const trust: Trust = {
    ...parts.keys.trust,
    ...parts.witnesses.crypto,
    witnessPolicy: parts.witnesses.policy,
  };
  await checkInclusion(world, reads, trust, spread(entries));
  await checkReceipts(world, reads, trust, region);
  await checkConsistency(world, reads, trust);
}

async function checkInclusion(
  { observed }: World,
  reads: LogReads,
  trust: Trust,
  entries: readonly LogEntry[],
): Promise<void> {
  for (const entry of entries) {
    const evidence = await bodyOf<InclusionEvidence>(
      reads.inclusion({ leaf: entry.leaf, region: null, name: null }),
    );
    const verdict = evidence && verifyLogInclusion(trust, entry, evidence);
    if (verdict?.ok) observed.mark("log.proven");
    else
      observed.violate("proofs-verify", `inclusion of ${entry.leaf_type} ${entry.leaf}: ${verdict?.detail}`);
  }
}

/** In two levels: in the batch, and the batch in the log. Late receipts are in no closed batch. */
async function checkReceipts(
  { parts, observed }: World,
  reads: LogReads,
  trust: Trust,
  region: string,
): Promise<void> {
  const rows = parts.stores.tables.of<ReceiptRow>("receipt").values(region);
  for (const { batch: name, envelope } of spread(rows.filter((row) => row.region === region))) {
    const bytes = utf8(envelope);
    const query = { leaf: hashOf(bytes, parts.crypto.sha256), region, name };
    const evidence = await bodyOf<InclusionEvidence & { readonly batch: ReceiptBatchEvidence }>(
      reads.inclusion(query),
    );
    if (evidence === null) continue;
    const verdict = verifyReceiptInclusion(trust, bytes, evidence);
    if (verdict.ok) observed.mark("log.receipt_proven");
    else observed.violate("proofs-verify", `inclusion of a receipt in ${name}: ${verdict.detail}`);
  }
}

/** From each checkpoint that was published to the next, and from the first to the last. */
async function checkConsistency({ observed }: World, reads: LogReads, trust: Trust): Promise<void> {
  const bySize = new Map(observed.checkpoints.map((each) => [each.size, each.note]));
  const published = [...bySize].sort(([a], [b]) => a - b);
  const [first] = published;
  const last = published.at(-1);
  const pairs = published.slice(1).map((later, at) => [published[at] ?? later, later] as const);
  if (first !== undefined && last !== undefined && published.length > 2) pairs.push([first, last]);
  for (const [[from, earlier], [to, later]] of spread(pairs)) {
    const answer = reads.consistency({ first: String(from), second: String(to) });
    const proof = (await bodyOf<{ readonly proof: readonly string[] }>(answer))?.proof;
    const verdict = proof && verifyLogConsistency(trust, earlier, later, proof);
    if (verdict?.ok) observed.mark("log.consistent");
    else observed.violate("proofs-verify", `consistency of ${from} and ${to} leaves: ${verdict?.detail}`);
  }
}

async function bodyOf<T>(answering: ReturnType<LogReads["inclusion"]>): Promise<T | null> {
  const answer = await answering;
  return answer.kind === "answer" ? (JSON.parse(String(answer.body)) as T) : null;
}

/** Not more than are asked for, from all over the list. */
function spread<T>(list: readonly T[]): readonly T[] {
  const step = Math.max(1, Math.ceil(list.length / asked));
  return list.filter((_each, at) => at % step === 0 || at === list.length - 1);
}
