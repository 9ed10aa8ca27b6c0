// GET /v1/terms: the terms of AI companies.

import {
  anyText,
  described,
  hash,
  integer,
  listOf,
  named,
  nullable,
  type Of,
  object,
  text,
  timestamp,
} from "../shape.ts";

/** The number of a version. */
export const termsVersion = integer({ min: 1, max: 1_000_000 });

const facts = {
  version: termsVersion,
  effective_from: described(timestamp, "From when on this version is in force, until that of a later one."),
  language: described(text(35), "BCP 47 tag of the text."),
  sha256: described(hash, "SHA-256 of the text's UTF-8."),
};

export const termsFacts = named("TermsVersion", object(facts));
export type TermsFacts = Of<typeof termsFacts>;

export const termsAnswer = named(
  "Terms",
  object({
    ...facts,
    media_type: described(text(64), "That of the text."),
    text: anyText,
    current_version: described(
      nullable(termsVersion),
      "The version that is in force now; null before the first.",
    ),
    versions: described(listOf(termsFacts), "All that are published, those to come included; oldest first."),
  }),
);
export type TermsAnswer = Of<typeof termsAnswer>;
