// The body of POST /v1/verify and its answer (specification, «POST /v1/verify»): the schema that judges is the one that
// is published.

import type { JsonObject } from "../protocol/canonical-json.ts";
import { reasonCodes } from "../protocol/result.ts";
import { recordCharactersMax } from "../service/verify.ts";

const anyObject = (description: string): JsonObject => ({ type: "object", description });

const properties = {
  record_base64: {
    type: "string",
    maxLength: recordCharactersMax,
    contentEncoding: "base64",
    description: "The record's exact bytes; a bare id or hash is never accepted.",
  },
  seal: anyObject(
    "The `seal` of a fetched record: an envelope, or `{batch_seal, leaf_index, tree_size, proof[]}`.",
  ),
  sidecar: anyObject("Sidecar envelope."),
  row: anyObject("An index row, as served: its signature is checked and its projection run again."),
  ai_policy_bits: anyObject(
    "As on a row; `record_base64` is then the business's sealed AI policy record and `seal` its seal.",
  ),
  key_events: {
    type: "string",
    enum: ["warn", "require"],
    default: "warn",
    description: "Whether a missing leaf of the sealing key's registration refuses the seal.",
  },
  ad_item: anyObject(
    "An ad exactly as the pool served it, without other members. This version does not offer ads.",
  ),
} satisfies JsonObject;

export const verifyMembers: readonly string[] = Object.keys(properties);

export const verifyRequestDocument: JsonObject = { type: "object", properties, additionalProperties: false };

const section = (description: string, members: JsonObject = {}): JsonObject => ({
  type: ["object", "null"],
  description,
  required: ["valid"],
  properties: {
    valid: { type: "boolean" },
    reason: { type: "string", enum: reasonCodes, description: "Only with valid: false." },
    detail: { type: "string", description: "What is wrong, for a person; only with valid: false." },
    pointer: { type: "string", description: "Where in the document; only with valid: false." },
    ...members,
  },
});

const hash = { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } satisfies JsonObject;
const version = { type: "integer", minimum: 0 } satisfies JsonObject;
/** What a seal names. In the section itself it is verified, under `claimed` it is not. */
const sealMembers = {
  key_id: { type: "string" },
  cert_id: hash,
  sealed_at: { type: "string", format: "date-time" },
  record_type: { type: "string" },
  format: { enum: [1, 2] },
  ai_policy_version: { ...version, description: "Format 2." },
  terms_version: { ...version, description: "Format 1." },
  leaf: {
    type: ["object", "null"],
    description: "Place in the batch; null for a record sealed alone.",
    properties: { index: version, tree_size: version, root: hash },
  },
} satisfies JsonObject;

const sealChecks = {
  type: "object",
  description: "`not_checked`: there was no evidence for it, or an earlier check failed.",
  properties: {
    certificate: { enum: ["ok", "failed", "not_checked"] },
    ai_policy: { enum: ["ok", "failed", "not_checked"] },
    scope: { enum: ["ok", "failed", "not_checked"] },
    key_event: { enum: ["ok", "missing", "not_checked"] },
  },
} satisfies JsonObject;

const sealSectionDocument = section(
  "Which key sealed the record, under which certificate and AI policy version, and when. This section concerns only the seal and the record: another document that belongs to a different version is refused in its own section. The members besides checks and claimed are present, and verified, with valid: true.",
  {
    ...sealMembers,
    business_uuid: { type: "string", format: "uuid" },
    key_kind: { enum: ["system", "passkey", "hosted"] },
    custody: { enum: ["self", "hosted", "unstated"] },
    path: { enum: ["A", "B"] },
    hash,
    checks: sealChecks,
    claimed: {
      type: ["object", "null"],
      description:
        "Only with valid: false: what the refused seal says about itself, as it was read. Nothing vouches for it, and none of its members was verified. Null if the envelope or its payload could not be read.",
      properties: {
        ...sealMembers,
        hash: { ...hash, type: ["string", "null"], description: "Null for a batch, which names a root." },
      },
    },
    key_event: { type: "null", description: "Where the log has the leaf of the key; there is no log yet." },
  },
);

export const verifyAnswerDocument: JsonObject = {
  type: "object",
  required: [
    "valid",
    "seal",
    "log_inclusion",
    "sidecar",
    "projection",
    "ai_policy_bits",
    "ad",
    "warnings",
    "checked_at",
    "statement",
  ],
  properties: {
    valid: { type: "boolean", description: "Whether every section given is valid." },
    seal: sealSectionDocument,
    log_inclusion: { type: "object", properties: { status: { enum: ["not_in_log"] } } },
    sidecar: section(
      "Whether the service signed the sidecar, about this record, and about the seal given where that is valid.",
      {
        record_id: { type: "string" },
        business_uuid: { type: "string", format: "uuid" },
        generation: { type: "integer", minimum: 1 },
      },
    ),
    projection: section(
      "Whether the row's signature is valid, and whether running the projection again gives the row.",
    ),
    ai_policy_bits: section(
      "Whether the bits are those of the sealed booleans, and which contexts are blocked.",
    ),
    ad: { type: "null" },
    warnings: { type: "array", items: { type: "string" } },
    checked_at: { type: "string", format: "date-time" },
    statement: {
      type: "object",
      description:
        "Envelope of payload type verify-statement v1 over `{v, checked_at, record_hash}` and all of the above.",
    },
  },
};
