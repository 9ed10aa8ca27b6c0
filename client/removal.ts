// Withdrawal and deletion: a document that takes one record out of serving, sealed over its exact bytes (specification,
// «Seals»).

import { utf8 } from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { collectionNames, formatTimestamp, recordType } from "../protocol/identifiers.ts";
import { sealPayload } from "../protocol/seal.ts";
import type { SigningKey } from "./signing-key.ts";

export interface RemovalFacts {
  readonly recordId: string;
  readonly action: "withdraw" | "delete";
  /** The certificate and the AI policy version in force, as the seal context names them. */
  readonly certId: string;
  readonly aiPolicyVersion: number;
  /** Unix milliseconds; within five minutes of the service's clock, and after the record was sealed. */
  readonly atMs: number;
}

export interface SealedRemoval {
  /** Path name of the record's type. */
  readonly type: string;
  readonly action: "withdraw" | "delete";
  /** The exact bytes of the document. */
  readonly document: Uint8Array;
  readonly seal: Envelope;
}

/** Whether a text is the id of a record that can be removed, as opposed to a business's own id. */
export function isRecordIdText(text: string): boolean {
  return collectionNames.some((name) => name === recordType(text));
}

/** Seals a withdrawal or deletion with an integration key. Throws RangeError for what is not a record id. */
export async function sealRemoval(facts: RemovalFacts, key: SigningKey): Promise<SealedRemoval> {
  const { recordId, action, atMs } = facts;
  const collection = collectionNames.find((name) => name === recordType(recordId));
  if (collection === undefined)
    throw new RangeError(`${JSON.stringify(recordId)} is not the id of a record.`);
  const at = formatTimestamp(atMs);
  const document = utf8(JSON.stringify({ record_id: recordId, action, at }));
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: facts.certId,
    hash: hashOf(document),
    sealed_at: at,
    record_type: collection,
    ai_policy_version: facts.aiPolicyVersion,
  });
  const payloadType = payloadTypes["seal.v2"];
  const sig = await key.sign(pae(payloadType, payload));
  return {
    type: collection.replaceAll("_", "-"),
    action,
    document,
    seal: makeEnvelope(payloadType, payload, [{ keyid: key.keyId, sig }]),
  };
}
