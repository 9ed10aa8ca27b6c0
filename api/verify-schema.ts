// The body of POST /v1/verify and its answer (specification, «POST /v1/verify»): the schema that judges is the one that
// is published.

import type { JsonObject } from "../protocol/canonical-json.ts";
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
  ad_item: anyObject("An ad exactly as the pool served it; alone. Ads are not offered by this version."),
} satisfies JsonObject;

export const verifyMembers: readonly string[] = Object.keys(properties);

export const verifyRequestDocument: JsonObject = { type: "object", properties, additionalProperties: false };

const section = (description: string): JsonObject => ({
  type: ["object", "null"],
  description,
  properties: {
    valid: { type: "boolean" },
    reason: { type: "string", description: "Verification reason code; with valid: false." },
  },
});

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
    seal: section(
      "Which key sealed, under which certificate and AI policy version, when; `checks` names certificate, ai_policy, scope and key_event.",
    ),
    log_inclusion: { type: "object", properties: { status: { enum: ["not_in_log"] } } },
    sidecar: section("Only when no seal was given; otherwise the sidecar is judged with the seal."),
    projection: section(
      "Whether the row's signature is valid and whether the projection, run again, gives the row.",
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
