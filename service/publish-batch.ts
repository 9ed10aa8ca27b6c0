// The batch of a publish request: its seal, the key that made it, and whether the records match what it covers.

import type { ActorSystem } from "../actors/system/definition.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { type Envelope, openEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { formatHash } from "../protocol/hash.ts";
import { type CollectionName, pushIdOf } from "../protocol/identifiers.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import { buildTree, leafHash, type MerkleTree } from "../protocol/merkle.ts";
import { type BatchSealV2, parseBatchSealV2 } from "../protocol/seal.ts";
import type { Pace } from "../std/pace.ts";
import { verifySealer } from "../verifier/business-keys.ts";
import type { Trust } from "../verifier/trust.ts";
import { isRefused, type Refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { readSigner } from "./home-evidence.ts";
import type { PublishBody } from "./publish-body.ts";
import { keysOf } from "./published-keys.ts";
import { sealRefused } from "./seal-refused.ts";

/** The type that is published in batches. */
export const publishedType = "products" satisfies CollectionName;

/** A pushed batch is always sealed in the current format. */
export type PushSeal = BatchSealV2;

export interface SealedBatch {
  readonly seal: PushSeal;
  readonly pushId: string;
  /** The seal's leaf in the log. */
  readonly sealLeaf: string;
}

export interface Batch extends SealedBatch {
  readonly tree: MerkleTree;
}

/** What a batch seal is judged against, besides itself. */
export interface SealQuestion {
  readonly caller: Caller;
  /** The type that the request is about. */
  readonly collection: string;
  readonly batchSeal: Envelope;
}

interface SealDeps {
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
  readonly trust: () => Trust;
}

/** Checks the batch seal of a publish request, and the Merkle root over its records. */
export async function openBatch(
  deps: SealDeps & { readonly pace: Pace },
  request: { readonly caller: Caller; readonly collection: string },
  { batchSeal, records }: PublishBody,
): Promise<Batch | Refused> {
  const { sha256 } = deps.crypto;
  const opened = await judgeBatchSeal(deps, { ...request, batchSeal });
  if (isRefused(opened)) return opened;
  const miscounted = countFault(opened.seal, records.length, "the request");
  if (miscounted) return miscounted;
  const hashes: Uint8Array[] = [];
  for (const record of records) {
    const due = deps.pace();
    if (due !== null) await due;
    hashes.push(leafHash(record, sha256));
  }
  const tree = buildTree(hashes, sha256);
  return rootFault(opened.seal, formatHash(tree.root)) ?? { ...opened, tree };
}

/**
 * Checks the batch seal itself. A seal by another key of the business is accepted here: whether its push is known is
 * judged later.
 */
export async function judgeBatchSeal(
  deps: SealDeps,
  { caller, collection, batchSeal }: SealQuestion,
): Promise<SealedBatch | Refused> {
  const { key, party } = caller;
  // The caller's key, or the one that it succeeded: an accepted batch is resumed under a successor key as well.
  const isCallers = batchSeal.signatures[0]?.keyid === key.key_id;
  const signer = isCallers ? key : await readSigner(deps.actors, party.uuid, batchSeal);
  const opened = openEnvelope(batchSeal, payloadTypes["batch-seal.v2"]);
  if (!opened.ok) return sealRefused(opened.code, opened.detail);
  const parsed = parseBatchSealV2(opened.value);
  if (!parsed.ok) return sealRefused(parsed.code, parsed.detail);
  const seal = parsed.value;
  const keys = keysOf(party.uuid, [signer]);
  const sealer = verifySealer(deps.trust(), keys, batchSeal, { keyId: seal.key_id, kinds: ["system"] });
  if (!sealer.ok) return sealRefused(sealer.code, sealer.detail);
  if (seal.record_type !== collection) {
    const detail = `The seal is for ${seal.record_type}, but the request is for ${collection}.`;
    return sealRefused("record_type_mismatch", detail);
  }
  const { sha256 } = deps.crypto;
  return {
    seal,
    pushId: pushIdOf(party.uuid, opened.value, sha256),
    sealLeaf: sealLeafOf(batchSeal, sha256),
  };
}

/** `where` says what has that many records. */
export function countFault(seal: PushSeal, records: number, where: string): Refused | null {
  if (seal.tree_size === records) return null;
  const detail = `The seal is over ${seal.tree_size} records, ${where} has ${records}.`;
  return sealRefused("inclusion_invalid", detail);
}

export function rootFault(seal: PushSeal, root: string): Refused | null {
  if (root === seal.root) return null;
  const detail = "The records are not exactly those that the seal's root covers, in order.";
  return sealRefused("hash_mismatch", detail);
}
