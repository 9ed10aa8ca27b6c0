// Seals: a business's signature over the exact bytes of a record, or over the Merkle root of a batch of records
// (specification, «Seals»).

import { isObject } from "../std/json-pointer.ts";
import {
  type Envelope,
  envelopeShape,
  openPayload,
  type PayloadOf,
  parseEnvelope,
  payloadTypes,
} from "./dsse.ts";
import { canonicalBytes, type JsonValue } from "./json/canonical-json.ts";
import { bulkRecordsMax } from "./limits.ts";
import type { Verdict } from "./reason-codes.ts";
import { ok, refuse } from "./result.ts";
import {
  described,
  either,
  hash,
  integer,
  keyId,
  list,
  literal,
  matching,
  named,
  type Of,
  object,
  readShape,
  timestamp,
} from "./shape.ts";

/** Bounds what is read; whether a path has the length that its tree requires is judged with the tree (RFC 6962 §2.1.1). */
const proofLengthMax = 64;

const index = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const inclusionShape = object({
  batch_seal: envelopeShape,
  leaf_index: index,
  tree_size: index,
  proof: described(
    list(hash, { min: 0, max: proofLengthMax }),
    "RFC 6962 audit path, from leaf to root: `sha256:<hex>` node hashes.",
  ),
});

/** A pushed record's seal: the seal of its batch and the path from its leaf to the sealed root. */
export type InclusionSeal = Of<typeof inclusionShape>;

/** The seal of one record, as it is served. */
export const recordSealShape = named(
  "RecordSeal",
  described(
    either(envelopeShape, inclusionShape),
    "An envelope, or for a pushed record the seal of its batch with the RFC 6962 audit path of its leaf.",
  ),
);

export type RecordSeal =
  | { readonly kind: "single"; readonly envelope: Envelope }
  | { readonly kind: "batch"; readonly envelope: Envelope; readonly inclusion: InclusionSeal };

const versionNumber = integer({ min: 0, max: 2_147_483_647 });
const common = {
  key_id: keyId,
  cert_id: hash,
  sealed_at: timestamp,
  record_type: matching(/^[a-z_]{1,32}$/, "a record type"),
};
/** The hash of the exact record bytes. */
const recordPart = { hash };
const batchPart = {
  /** The RFC 6962 root over the records' raw bytes, in order. */
  root: hash,
  tree_size: integer({ min: 1, max: bulkRecordsMax }),
  seq: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
};
const policyPart = { v: literal(2), ai_policy_version: versionNumber };
const termsPart = { v: literal(1), terms_version: versionNumber };

const versions = [1, 2];
export const sealV1 = { version: 1, versions, shape: object({ ...common, ...recordPart, ...termsPart }) };
export const sealV2 = { version: 2, versions, shape: object({ ...common, ...recordPart, ...policyPart }) };
export const batchSealV1 = { version: 1, versions, shape: object({ ...common, ...batchPart, ...termsPart }) };
export const batchSealV2 = {
  version: 2,
  versions,
  shape: object({ ...common, ...batchPart, ...policyPart }),
};

export type SealV1 = PayloadOf<typeof sealV1>;
export type SealV2 = PayloadOf<typeof sealV2>;
export type BatchSealV1 = PayloadOf<typeof batchSealV1>;
export type BatchSealV2 = PayloadOf<typeof batchSealV2>;
export type Seal = SealV1 | SealV2;
export type BatchSeal = BatchSealV1 | BatchSealV2;

/** Opens an envelope that must be a record seal of format 1 or 2. It only reads: the signature is not verified. */
export function openSeal(envelope: Envelope): Verdict<Seal> {
  const { "seal.v1": first, "seal.v2": second } = payloadTypes;
  return envelope.payloadType === first
    ? openPayload(envelope, first, sealV1)
    : openPayload(envelope, second, sealV2);
}

/** Opens an envelope that must be a batch seal of format 1 or 2. It only reads: the signature is not verified. */
export function openBatchSeal(envelope: Envelope): Verdict<BatchSeal> {
  const { "batch-seal.v1": first, "batch-seal.v2": second } = payloadTypes;
  return envelope.payloadType === first
    ? openPayload(envelope, first, batchSealV1)
    : openPayload(envelope, second, batchSealV2);
}

/** The payload bytes to sign: the RFC 8785 form of a seal of any format. */
export function sealPayload(seal: Seal | BatchSeal): Uint8Array {
  return canonicalBytes({ ...seal });
}

/**
 * Reads the `seal` of a fetched record: an envelope or, for a pushed record, `{batch_seal, leaf_index, tree_size, proof[]}`.
 * Refuses with `envelope_malformed`.
 */
export function parseRecordSeal(value: JsonValue): Verdict<RecordSeal> {
  if (!isObject(value) || !Object.hasOwn(value, "batch_seal")) {
    const envelope = parseEnvelope(value);
    return envelope.ok ? ok({ kind: "single", envelope: envelope.value }) : envelope;
  }
  const read = readShape(inclusionShape, value);
  if (!read.ok) return refuse("envelope_malformed", read.fault.detail, read.fault.pointer);
  return ok({ kind: "batch", envelope: read.value.batch_seal, inclusion: read.value });
}
