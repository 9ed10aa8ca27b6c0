// Every text that a page shows, in one typed catalogue: another language is one more value of this type. Sentences that are
// signed are not here; they are part of what is signed (protocol/keys/certificate.ts).

import { business } from "./en/business.ts";
import { company } from "./en/company.ts";
import { docs } from "./en/docs.ts";
import { operations } from "./en/operations.ts";
import { portal } from "./en/portal.ts";
import { certificate, record, sandbox, verifier } from "./en/public.ts";

export type Language = "en";

export interface Texts {
  /** The language tag (BCP 47). */
  readonly language: Language;
  readonly record: typeof record;
  readonly certificate: typeof certificate;
  readonly sandbox: typeof sandbox;
  readonly verifier: typeof verifier;
  readonly docs: typeof docs;
  readonly operations: typeof operations;
  readonly portal: typeof portal;
  readonly business: typeof business;
  readonly company: typeof company;
}

export const english: Texts = {
  language: "en",
  record,
  certificate,
  sandbox,
  verifier,
  docs,
  operations,
  portal,
  business,
  company,
};

const languages: Readonly<Record<Language, Texts>> = { en: english };

export function textsOf(language: Language): Texts {
  return languages[language];
}
