// Every text that a page shows, in one typed catalogue: another language is one more value of this type. Sentences that are
// signed are not here; they are part of what is signed (protocol/certificate.ts).

import { certificate, record } from "./en/public.ts";

export interface Texts {
  /** The language tag (BCP 47). */
  readonly language: string;
  readonly record: typeof record;
  readonly certificate: typeof certificate;
}

export const english: Texts = { language: "en", record, certificate };
