// JSON Schemas that several surfaces share.

import type { JsonObject } from "../protocol/canonical-json.ts";

const base64: JsonObject = { type: "string", contentEncoding: "base64" };
export const hashSchema: JsonObject = { type: "string", pattern: "^sha256:[0-9a-f]{64}$" };
export const envelopeSchema: JsonObject = {
  type: "object",
  title: "Envelope",
  description:
    "DSSE envelope; the signed bytes are the pre-authentication encoding of payloadType and payload.",
  required: ["payloadType", "payload", "signatures"],
  properties: {
    payloadType: { type: "string" },
    payload: { ...base64, description: "Base64 of the canonical JSON bytes." },
    signatures: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      items: {
        type: "object",
        required: ["keyid", "sig"],
        properties: {
          keyid: { type: "string" },
          sig: base64,
          authenticatorData: base64,
          clientDataJSON: base64,
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};

export const recordSealSchema: JsonObject = {
  description:
    "An envelope, or for a pushed record the seal of its batch with the RFC 6962 audit path of its leaf.",
  anyOf: [
    envelopeSchema,
    {
      type: "object",
      required: ["batch_seal", "leaf_index", "tree_size", "proof"],
      properties: {
        batch_seal: envelopeSchema,
        leaf_index: { type: "integer", minimum: 0 },
        tree_size: { type: "integer", minimum: 1 },
        proof: { type: "array", items: hashSchema, description: "From leaf to root." },
      },
      additionalProperties: false,
    },
  ],
};
