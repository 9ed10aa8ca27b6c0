// The batch of a publish request: its seal, the key that made it, and whether the records match what it covers.

import type { ActorSystem } from "../actors/system/definition.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { openEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { formatHash } from "../protocol/hash.ts";
import { type CollectionName, pushIdOf } from "../protocol/identifiers.ts";
import { buildTree, leafHash, type MerkleTree } from "../protocol/merkle.ts";
import { type BatchSealV2, parseBatchSealV2 } from "../protocol/seal.ts";
import { verifySealer } from "../verifier/business-keys.ts";
import type { Trust } from "../verifier/trust.ts";
import type { Refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { readSigner } from "./home-evidence.ts";
import type { PublishBody } from "./publish-body.ts";
import { keysOf } from "./published-keys.ts";
import { sealRefused } from "./seal-refused.ts";

/** The type that is published in batches. */
export const publishedType = "products" satisfies CollectionName;

/** A pushed batch is always sealed in the current format. */
export type PushSeal = BatchSealV2;

export interface Batch {
  readonly seal: PushSeal;
  readonly pushId: string;
  readonly tree: MerkleTree;
}

/**
 * Checks the batch seal and the Merkle root. A seal by another key of the business is accepted here: whether its push is
 * known is judged later.
 */
export async function openBatch(
  deps: { readonly actors: ActorSystem; readonly crypto: CryptoPort; readonly trust: () => Trust },
  request: { readonly caller: Caller; readonly collection: string },
  { batchSeal, records }: PublishBody,
): Promise<Batch | Refused> {
  const { sha256 } = deps.crypto;
  const { key, party } = request.caller;
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
  if (seal.record_type !== request.collection) {
    const detail = `The seal is for ${seal.record_type}, but the request is for ${request.collection}.`;
    return sealRefused("record_type_mismatch", detail);
  }
  if (seal.tree_size !== records.length) {
    const detail = `The seal is over ${seal.tree_size} records, the request has ${records.length}.`;
    return sealRefused("inclusion_invalid", detail);
  }
  const tree = buildTree(
    records.map((record) => leafHash(record, sha256)),
    sha256,
  );
  if (formatHash(tree.root) !== seal.root) {
    const detail = "The records are not exactly those that the seal's root covers, in order.";
    return sealRefused("hash_mismatch", detail);
  }
  return { seal, pushId: pushIdOf(party.uuid, opened.value, sha256), tree };
}
