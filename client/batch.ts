// A batch of records, sealed and ready to be pushed (specification, «Seals» and «B. Business machine API»).

import { toBase64, toHex, utf8 } from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp, pushIdOf } from "../protocol/identifiers.ts";
import {
  batchRecordsMax,
  bulkFileBytesMax,
  bulkRecordsMax,
  publishBytesMax,
  recordCharactersMax,
} from "../protocol/limits.ts";
import { leafHash, merkleRoot } from "../protocol/merkle.ts";
import { sealPayload } from "../protocol/seal.ts";
import type { SigningKey } from "./signing-key.ts";

export { batchRecordsMax, recordCharactersMax };

/** Space in the body reserved for the seal and the punctuation around it. */
const bodyOverheadBytes = 4_096;

export interface SealFacts {
  readonly businessUuid: string;
  /** The certificate and the AI policy version in force, as the seal context names them. */
  readonly certId: string;
  readonly aiPolicyVersion: number;
  readonly recordType: string;
  /** Must be greater than every seq the key has used before. */
  readonly seq: number;
  /** Unix milliseconds; must be within five minutes of the service's clock. */
  readonly sealedAtMs: number;
}

/** Everything needed to send exactly this batch again, as plain JSON. */
export interface SealedBatch {
  readonly push_id: string;
  readonly seq: number;
  readonly sealed_at: string;
  /** `sha256:<hex>` Merkle root over the records. */
  readonly root: string;
  readonly batch_seal: Envelope;
}

/** @internal The RFC 6962 root over the exact bytes of the records, in order, as `sha256:<hex>`. */
export function recordsRoot(records: readonly Uint8Array[]): string {
  return rootOf(records.map((record) => leafHash(record)));
}

/** The RFC 6962 root over leaf hashes, as `sha256:<hex>`. */
export function rootOf(leaves: readonly Uint8Array[]): string {
  return `sha256:${toHex(merkleRoot(leaves))}`;
}

/**
 * Seals the exact bytes of 1 to 10,000 records, in their order, with an integration key (specification, «Seals»: path A,
 * seal format 2). Throws RangeError for another number of records.
 */
export async function sealBatch(
  records: readonly Uint8Array[],
  facts: SealFacts,
  key: SigningKey,
): Promise<SealedBatch> {
  if (records.length === 0 || records.length > batchRecordsMax) {
    throw new RangeError(`A batch has 1 to ${batchRecordsMax} records, not ${records.length}.`);
  }
  return await sealLeaves(
    records.map((record) => leafHash(record)),
    facts,
    key,
  );
}

/**
 * Seals records by their leaf hashes (RFC 6962 §2.1): 1 to 100,000, as a bulk file may have. Throws RangeError for another
 * number of them.
 */
export async function sealLeaves(
  leaves: readonly Uint8Array[],
  facts: SealFacts,
  key: SigningKey,
): Promise<SealedBatch> {
  if (leaves.length === 0 || leaves.length > bulkRecordsMax) {
    throw new RangeError(`A seal names 1 to ${bulkRecordsMax} records, not ${leaves.length}.`);
  }
  const root = rootOf(leaves);
  const sealedAt = formatTimestamp(facts.sealedAtMs);
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: facts.certId,
    root,
    tree_size: leaves.length,
    seq: facts.seq,
    sealed_at: sealedAt,
    record_type: facts.recordType,
    ai_policy_version: facts.aiPolicyVersion,
  });
  const payloadType = payloadTypes["batch-seal.v2"];
  const sig = await key.sign(pae(payloadType, payload));
  return {
    push_id: pushIdOf(facts.businessUuid, payload),
    seq: facts.seq,
    sealed_at: sealedAt,
    root,
    batch_seal: makeEnvelope(payloadType, payload, [{ keyid: key.keyId, sig }]),
  };
}

/** The exact body bytes of POST /v1/publish/{type}. */
export function publishBody(batchSeal: Envelope, records: readonly Uint8Array[]): Uint8Array {
  const items = records.map((record) => `"${toBase64(record)}"`).join(",");
  return utf8(`{"batch_seal":${JSON.stringify(batchSeal)},"records":[${items}]}`);
}

export interface BatchRange {
  /** Index of the batch's first record. */
  readonly first: number;
  readonly count: number;
}

/** The most that one batch, or one bulk file, may have. */
export interface BatchLimits {
  readonly recordsMax: number;
  /** Of the base64 texts of the records with the punctuation between them. */
  readonly bytesMax: number;
}

/** Limits of a batch in one request. */
export const requestLimits: BatchLimits = {
  recordsMax: batchRecordsMax,
  bytesMax: publishBytesMax - bodyOverheadBytes,
};
/** Limits of a bulk file (specification, «Limits»). */
export const bulkLimits: BatchLimits = { recordsMax: bulkRecordsMax, bytesMax: bulkFileBytesMax };

/** Splits records, given by their lengths in bytes, into batches in order, none of which exceeds the limits. */
export function planBatches(
  lengths: readonly number[],
  { recordsMax, bytesMax }: BatchLimits = requestLimits,
): readonly BatchRange[] {
  const batches: { first: number; count: number }[] = [];
  let bytes = 0;
  for (const [index, length] of lengths.entries()) {
    const size = base64Length(length) + 3;
    const open = batches.at(-1);
    if (open === undefined || open.count >= recordsMax || bytes + size > bytesMax) {
      batches.push({ first: index, count: 1 });
      bytes = size;
    } else {
      open.count += 1;
      bytes += size;
    }
  }
  return batches;
}

/** Length of the padded base64 encoding of `byteLength` bytes. */
export function base64Length(byteLength: number): number {
  return 4 * Math.ceil(byteLength / 3);
}
