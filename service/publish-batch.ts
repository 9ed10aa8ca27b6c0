// The batch of a publish request: its seal, the key that made it, and whether the records are those it is over.

import type { ActorSystem } from "../actors/system/definition.ts";
import type { CryptoPort } from "../crypto/port.ts";
import type { BusinessKeys } from "../protocol/business-keys.ts";
import { equalBytes } from "../protocol/bytes.ts";
import { parseHash } from "../protocol/hash.ts";
import { pushIdOf } from "../protocol/identifiers.ts";
import { buildTree, leafHash, type MerkleTree } from "../protocol/merkle.ts";
import type { Trust } from "../verifier/trust.ts";
import type { Caller } from "./caller.ts";
import { keysOf, readSigner } from "./home-evidence.ts";
import type { PublishBody } from "./publish-body.ts";
import { type Checked, openBatchSeal, type PushSeal, sealRefusal } from "./publish-checks.ts";

export interface Batch {
  readonly seal: PushSeal;
  readonly pushId: string;
  readonly tree: MerkleTree;
}

/** Batch seal and Merkle root. A seal by another key of the business is right here: that its push is known is judged later. */
export async function checkBatch(
  deps: { readonly actors: ActorSystem; readonly crypto: CryptoPort; readonly trust: () => Trust },
  request: { readonly caller: Caller; readonly collection: string },
  body: PublishBody,
): Promise<Checked<Batch>> {
  const { crypto } = deps;
  const keys = await sealingKeys(deps.actors, request.caller, body);
  const opened = openBatchSeal(deps.trust(), keys, body.batchSeal);
  if (!opened.ok) return sealRefusal(opened.code, opened.detail);
  const { seal, payload } = opened.value;
  if (seal.record_type !== request.collection) {
    return sealRefusal(
      "record_type_mismatch",
      `The seal is for ${seal.record_type}, but the request is for ${request.collection}.`,
    );
  }
  if (seal.tree_size !== body.records.length) {
    return sealRefusal(
      "inclusion_invalid",
      `The seal covers ${seal.tree_size} records, but the request has ${body.records.length}.`,
    );
  }
  const tree = buildTree(
    body.records.map((record) => leafHash(record, crypto.sha256)),
    crypto.sha256,
  );
  const root = parseHash(seal.root);
  if (root === null || !equalBytes(root, tree.root)) {
    return sealRefusal(
      "hash_mismatch",
      "The records are not exactly those that the seal's root covers, in order.",
    );
  }
  return {
    ok: true,
    value: { seal, pushId: pushIdOf(request.caller.party.uuid, payload, crypto.sha256), tree },
  };
}

/** The caller's key, or the one that it succeeded: an accepted batch is resumed under a successor key too. */
async function sealingKeys(
  actors: ActorSystem,
  { key, party }: Caller,
  body: PublishBody,
): Promise<BusinessKeys> {
  const isCallers = body.batchSeal.signatures[0]?.keyid === key.key_id;
  return keysOf(party.uuid, [isCallers ? key : await readSigner(actors, party.uuid, body.batchSeal)]);
}
