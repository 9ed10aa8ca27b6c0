// The envelope specification as JSON, and the index of schemas in it.

import {
  anyObject,
  anyText,
  described,
  integer,
  keyId,
  listOf,
  literal,
  named,
  type Of,
  object,
  oneOf,
  publicJwk,
} from "../shape.ts";

const schema = described(anyObject, "A JSON Schema (2020-12).");

export const envelopeSpecificationAnswer = named(
  "EnvelopeSpecification",
  object({
    v: literal(1),
    title: anyText,
    sections: listOf(object({ name: anyText, title: anyText, rules: listOf(anyText) })),
    envelope_schema: schema,
    record_seal_schema: schema,
    removal_schema: described(anyObject, "The document by which a business takes a record out of serving."),
    examples: object({
      pre_authentication_encoding: described(
        object({ payload_type: anyText, payload: anyText, encoding: anyText }),
        "`payload` and the signed bytes, in base64.",
      ),
      key_id: object({ public_key: publicJwk, key_id: keyId }),
    }),
    payloads: listOf(
      object({
        kind: anyText,
        version: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        payload_type: anyText,
        standing: described(
          oneOf(["issued", "verified"]),
          "`verified`: an older format, which is verified and no longer issued.",
        ),
        says: anyText,
        signed_by: anyText,
        signatures: described(
          oneOf(["one", "pair"]),
          "`pair`: an ES256 and an ML-DSA-65 signature, both required.",
        ),
        members: listOf(anyText),
        rules: described(listOf(anyText), "What the schema cannot say."),
        schema: described(anyText, "Where the JSON Schema of the payload is served."),
      }),
    ),
    records: described(
      listOf(object({ schema: anyText, path: anyText })),
      "The schemas of what a seal may be about.",
    ),
  }),
);
export type EnvelopeSpecification = Of<typeof envelopeSpecificationAnswer>;
