// The answers that are the same for everybody (specification, «C. Public verification API»): vocabularies, projections, schemas.
// Also the envelope specification, and the listing in the key directory.

import { collectionNames } from "../identifiers.ts";
import { vocabularyNames } from "../records/vocabularies/vocabulary-document.ts";
import {
  anyObject,
  anyText,
  described,
  dictionary,
  either,
  flag,
  hash,
  integer,
  keyId,
  list,
  listOf,
  literal,
  matching,
  named,
  namedObject,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  text,
  uuid,
} from "../shape.ts";

const counter = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const projectionAnswer = namedObject("ProjectionAnswer", {
  version: text(64),
  spec_version: counter,
  sha256: hash,
  record_type: oneOf([...collectionNames, "ads"]),
  field_map: described(dictionary(anyText), "Where each member of a row comes from, in a word."),
  rules: listOf(
    object({
      member: anyText,
      rule: oneOf([
        "fact",
        "seal",
        "copy",
        "copy_each",
        "number",
        "is_present",
        "is_not_empty",
        "constant",
        "by_country",
      ]),
      from: optional(anyText),
      each: optional(anyText),
      value: optional(either(anyText, count, flag)),
      country: optional(anyText),
      as: optional(oneOf(["number", "text"])),
    }),
  ),
  unsigned_fields: listOf(anyText),
  serve_time_fields: listOf(anyText),
  definition: object({
    record_schema: anyText,
    rules: dictionary(anyText),
    row: anyText,
    signature: anyText,
    sha256: anyText,
  }),
});

const entries = listOf(namedObject("VocabularyEntry", { code: anyText, name: anyText }));
const vocabularyHead = { name: oneOf(vocabularyNames), version: counter, standard: anyText };

export const vocabularyAnswer = named(
  "VocabularyAnswer",
  either(
    namedObject("VocabularyList", { ...vocabularyHead, entries }),
    namedObject("VocabularyTree", {
      ...vocabularyHead,
      verticals: listOf(
        namedObject("VocabularyVertical", { code: anyText, name: anyText, categories: entries }),
      ),
      lists: dictionary(entries),
    }),
    namedObject("VocabularyPattern", { ...vocabularyHead, pattern: anyText, rule: anyText }),
  ),
);

/** The index of the public test vectors, as it stands in their folder. */
export const testVectorIndex = namedObject("TestVectorIndex", {
  v: literal(1),
  files: list(
    object({
      path: described(
        matching(
          /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*\.json$/,
          "the path of a JSON file below the vectors",
        ),
        "Below `/v1/test-vectors/`.",
      ),
      sha256: described(
        matching(/^[0-9a-f]{64}$/, "64 lowercase hexadecimal digits"),
        "Of the file's bytes. As the query `sha256` of its read, the answer may be kept for ever.",
      ),
      cases: described(count, "How many cases it has; 0 if others refer to it."),
    }),
    { min: 0, max: 256 },
  ),
});

export const vocabularyIndexAnswer = namedObject("VocabularyIndex", {
  v: literal(1),
  vocabularies: listOf(
    object({
      ...vocabularyHead,
      versions: described(
        listOf(
          object({
            version: counter,
            sha256: described(hash, "Of the bytes that are served at `path`; their ETag is the same."),
            path: anyText,
          }),
        ),
        "Latest first. A published version never changes.",
      ),
    }),
  ),
});
export type VocabularyIndex = Of<typeof vocabularyIndexAnswer>;

// The envelope specification as JSON, and the index of schemas in it.

const schema = described(anyObject, "A JSON Schema (2020-12).");

export const envelopeSpecificationAnswer = namedObject("EnvelopeSpecification", {
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
});
export type EnvelopeSpecification = Of<typeof envelopeSpecificationAnswer>;

// POST /v1/key-directory/listing: whether the key directory lists the company that asks.

export const listingBody = object({
  listed: described(flag, "Whether the public key directory lists your company, with all of its keys."),
});
export type ListingBody = Of<typeof listingBody>;

export const listingAnswer = object({ ai_company_uuid: uuid, listed: flag });
export type ListingAnswer = Of<typeof listingAnswer>;
