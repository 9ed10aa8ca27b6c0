// A batch of records, sealed and ready to be pushed (specification, «Seals» and «B. Business machine API»).

import { toBase64, toHex, utf8 } from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp, pushIdOf } from "../protocol/identifiers.ts";
import { batchRecordsMax, publishBytesMax, recordCharactersMax } from "../protocol/limits.ts";
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

/** The RFC 6962 root over the exact bytes of the records, in order, as `sha256:<hex>`. */
export function recordsRoot(records: readonly Uint8Array[]): string {
  return `sha256:${toHex(merkleRoot(records.map((record) => leafHash(record))))}`;
}

/** Seals 1 to 10,000 records with an integration key (path A, seal format 2). */
export async function sealBatch(
  records: readonly Uint8Array[],
  facts: SealFacts,
  key: SigningKey,
): Promise<SealedBatch> {
  if (records.length === 0 || records.length > batchRecordsMax) {
    throw new RangeError(`A batch has 1 to ${batchRecordsMax} records, not ${records.length}.`);
  }
  const root = recordsRoot(records);
  const sealedAt = formatTimestamp(facts.sealedAtMs);
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: facts.certId,
    root,
    tree_size: records.length,
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

/** Splits records into batches, in order; no batch exceeds `recordsMax` records or the request body limit. */
export function planBatches(
  records: readonly Uint8Array[],
  recordsMax: number = batchRecordsMax,
): readonly BatchRange[] {
  const batches: { first: number; count: number }[] = [];
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    const size = base64Length(record.length) + 3;
    const open = batches.at(-1);
    if (
      open === undefined ||
      open.count >= recordsMax ||
      bytes + size > publishBytesMax - bodyOverheadBytes
    ) {
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
