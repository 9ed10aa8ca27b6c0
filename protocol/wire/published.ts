// The answers that are the same for everybody (specification, «C. Public verification API»): vocabularies, projections, schemas.

import { collectionNames } from "../identifiers.ts";
import { vocabularyNames } from "../records/vocabularies/vocabulary-document.ts";
import {
  anyText,
  described,
  dictionary,
  either,
  flag,
  hash,
  integer,
  list,
  listOf,
  literal,
  matching,
  named,
  type Of,
  object,
  oneOf,
  optional,
  text,
} from "../shape.ts";

const counter = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const projectionAnswer = named(
  "ProjectionAnswer",
  object({
    version: text(64),
    spec_version: counter,
    sha256: hash,
    record_type: oneOf([...collectionNames, "ads"]),
    field_map: described(dictionary(anyText), "Where each member of a row comes from, in a word."),
    rules: listOf(
      object({
        member: anyText,
        rule: oneOf([
          ...["fact", "seal", "copy", "copy_each", "number", "is_present", "is_not_empty", "constant"],
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
  }),
);

const entries = listOf(object({ code: anyText, name: anyText }));
const vocabularyHead = { name: oneOf(vocabularyNames), version: counter, standard: anyText };

export const vocabularyAnswer = named(
  "VocabularyAnswer",
  either(
    object({ ...vocabularyHead, entries }),
    object({
      ...vocabularyHead,
      verticals: listOf(object({ code: anyText, name: anyText, categories: entries })),
      lists: dictionary(entries),
    }),
    object({ ...vocabularyHead, pattern: anyText, rule: anyText }),
  ),
);

/** The index of the public test vectors, as it stands in their folder. */
export const testVectorIndex = named(
  "TestVectorIndex",
  object({
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
  }),
);

export const vocabularyIndexAnswer = named(
  "VocabularyIndex",
  object({
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
  }),
);
export type VocabularyIndex = Of<typeof vocabularyIndexAnswer>;
