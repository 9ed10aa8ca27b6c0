// The terms of AI companies: a file of the operator's (`SVC_TERMS`). What was in force once must be readable as it was, so a
// version that is published stays in the file.

import { list, matching, object, text, timestamp } from "../protocol/shape.ts";
import { termsVersion } from "../protocol/wire/terms.ts";
import type { TermsText } from "../service/terms.ts";
import { readVersionedFile } from "./versioned-file.ts";

const termsFile = object({
  versions: list(
    object({
      version: termsVersion,
      effective_from: timestamp,
      language: matching(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, "a BCP 47 tag such as en or pt-BR"),
      text: text(1_000_000),
    }),
    { min: 1, max: 1_000 },
  ),
});

/** Reads the versions, oldest first. Throws {@link ConfigError}, which names the place in the file. */
export async function loadTerms(path: string): Promise<readonly TermsText[]> {
  const { versions } = await readVersionedFile(termsFile, { setting: "SVC_TERMS", path });
  return versions;
}

const sandboxText = [
  "# Terms of this sandbox",
  "",
  "Everything here is made up: businesses, records, keys and these terms. Nothing that you do here is billed, and nothing",
  "that it answers may be shown to anybody as real. A deployment publishes its own terms here.",
  "",
];

const later = ["An entitlement of this sandbox says nothing about any deployment.", ""];

/** A sandbox has terms that say what it is, and a version that a later one has replaced. */
export const sandboxTerms: readonly TermsText[] = [
  {
    ...{ version: 1, effective_from: "2026-01-01T00:00:00.000Z", language: "en" },
    text: sandboxText.join("\n"),
  },
  {
    ...{ version: 2, effective_from: "2026-02-01T00:00:00.000Z", language: "en" },
    text: [...sandboxText, ...later].join("\n"),
  },
];
