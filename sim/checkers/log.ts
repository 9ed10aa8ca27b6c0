// The transparency log once nothing is in flight: it only grew, its tiles are those of its entries, every leaf is in it once, and so
// is what its sequencer acknowledged, and the seal of every push that was accepted.

import { equalBytes } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/canonical-json.ts";
import { formatHash } from "../../protocol/hash.ts";
import { judgeCosignatures } from "../../protocol/log/cosignatures.ts";
import { type LogEntry, parseBundle, parseEntry } from "../../protocol/log/entries.ts";
import { contentHash } from "../../protocol/log/leaves.ts";
import { noteKeyOf, parseCheckpoint, parseNote, verifyNote } from "../../protocol/log/note.ts";
import { entriesPath, extendTree, tilePath, tileWidth, widthInTree } from "../../protocol/log/tiles.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import type { StoredCheckpoint } from "../../storage/log-store.ts";
import { logCheckpoint, logObjects } from "../store/log-store.ts";
import type { Journal } from "../workload/journal.ts";
import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";
import { checkProofs } from "./log-proofs.ts";

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
