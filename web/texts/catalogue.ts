// Every text that a page shows, in one typed catalogue: another language is one more value of this type. Sentences that are
// signed are not here; they are part of what is signed (protocol/keys/certificate.ts).

import { business } from "./en/business.ts";
import { company } from "./en/company.ts";
import { docs } from "./en/docs.ts";
import { operations } from "./en/operations.ts";
import { portal } from "./en/portal.ts";
import { certificate, record, sandbox, verifier } from "./en/public.ts";

/** A language tag (BCP 47), in lower case. */
export type Language = string;

export interface Texts {
  readonly language: Language;
  /**
   * What the English words of a sealed document say (verifier/sealed-words.ts), line by line; null for English. It stands beside them: what
   * is signed is shown in English alone.
   */
  readonly sealedWords: ((words: readonly string[]) => readonly string[]) | null;
  /** What the published definitions of fields, codes and policies say, and the details of the API's problems, which are English. */
  readonly said: (published: string) => string;
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
  sealedWords: null,
  said: (published) => published,
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

/** A further language is one more entry. */
export const languages: Map<Language, Texts> = new Map([[english.language, english]]);

export function textsOf(language: Language): Texts {
  return languages.get(language) ?? english;
}
