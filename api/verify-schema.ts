// The body of POST /v1/verify (specification, «POST /v1/verify»).

import Type from "typebox";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { recordCharactersMax } from "../service/verify.ts";

const anyObject = (description: string) => Type.Object({}, { additionalProperties: true, description });

export const verifyRequestSchema = Type.Object(
  {
    record_base64: Type.Optional(
      Type.String({
        maxLength: recordCharactersMax,
        contentEncoding: "base64",
        description: "The record's exact bytes; a bare id or hash is never accepted.",
      }),
    ),
    seal: Type.Optional(
      anyObject(
        "The `seal` of a fetched record: an envelope, or `{batch_seal, leaf_index, tree_size, proof[]}`.",
      ),
    ),
    sidecar: Type.Optional(anyObject("Sidecar envelope.")),
    row: Type.Optional(
      anyObject("An index row, as served: its signature is checked and its projection run again."),
    ),
    ai_policy_bits: Type.Optional(
      anyObject(
        "As on a row; `record_base64` is then the business's sealed AI policy record and `seal` its seal.",
      ),
    ),
    key_events: Type.Optional(
      Type.Union([Type.Literal("warn"), Type.Literal("require")], {
        default: "warn",
        description: "Whether a missing leaf of the sealing key's registration refuses the seal.",
      }),
    ),
    ad_item: Type.Optional(
      anyObject("An ad exactly as the pool served it; alone. Ads are not offered by this version."),
    ),
  },
  { additionalProperties: false },
);

export const verifyMembers: readonly string[] = Object.keys(verifyRequestSchema.properties);

/** The same as plain data, without the marks that the schema library adds. */
export const verifyRequestDocument: JsonObject = JSON.parse(
  JSON.stringify(verifyRequestSchema),
) as JsonObject;

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
