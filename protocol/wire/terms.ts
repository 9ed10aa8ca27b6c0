// GET /v1/terms and POST /v1/terms/agreements: the terms of AI companies, and agreeing to them.

import {
  anyText,
  described,
  hash,
  integer,
  listOf,
  namedObject,
  nullable,
  type Of,
  object,
  text,
  timestamp,
  uuid,
} from "../shape.ts";

/** The number of a version. */
export const termsVersion = integer({ min: 1, max: 1_000_000 });

const facts = {
  version: termsVersion,
  effective_from: described(timestamp, "From when on this version is in force, until that of a later one."),
  language: described(text(35), "BCP 47 tag of the text."),
  sha256: described(hash, "SHA-256 of the text's UTF-8."),
};

export const termsFacts = namedObject("TermsVersion", facts);
export type TermsFacts = Of<typeof termsFacts>;

/** One agreement of an AI company. */
export const agreement = {
  version: described(termsVersion, "The version that the company agreed to."),
  sha256: described(hash, "SHA-256 of the UTF-8 of the text that it agreed to."),
  agreed_at: described(timestamp, "When it first agreed to it."),
};

export const agreementBody = object({
  version: described(termsVersion, "The version that your company agrees to."),
  sha256: described(hash, "SHA-256 of the UTF-8 of the text that you read: the `sha256` of that version."),
});
export type AgreementBody = Of<typeof agreementBody>;

export const agreementAnswer = namedObject("TermsAgreement", { ai_company_uuid: uuid, ...agreement });
export type AgreementAnswer = Of<typeof agreementAnswer>;

export const termsAnswer = namedObject("Terms", {
  ...facts,
  media_type: described(text(64), "That of the text."),
  text: anyText,
  current_version: described(
    nullable(termsVersion),
    "The version that is in force now; null before the first.",
  ),
  agreed: described(
    nullable(object(agreement)),
    "Your company's agreement to the version of this answer; null if it has not agreed to it.",
  ),
  versions: described(listOf(termsFacts), "All that are published, those to come included; oldest first."),
});
export type TermsAnswer = Of<typeof termsAnswer>;
