// The terms of AI companies: a file of the operator's (`SVC_TERMS`). What was in force once must be readable as it was, so a
// version that is published stays in the file.

import { readFile } from "node:fs/promises";
import { firstFault, list, matching, type Of, object, text, timestamp } from "../protocol/shape.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { termsVersion } from "../protocol/wire/terms.ts";
import type { TermsText } from "../service/terms.ts";
import { ConfigError } from "./config-error.ts";

const setting = "SVC_TERMS";
const fileBytesMax = 4 * 1024 * 1024;

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
  const { versions } = await readTermsFile(path);
  for (const [at, { version, effective_from }] of versions.entries()) {
    const earlier = versions[at - 1];
    if (earlier !== undefined && !(earlier.version < version && earlier.effective_from < effective_from))
      throw new ConfigError(
        setting,
        `/versions/${at} in ${path} does not come after the one before; order them by version and effective_from`,
      );
  }
  return versions;
}

async function readTermsFile(path: string): Promise<Of<typeof termsFile>> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new ConfigError(
      setting,
      `${path} cannot be read (${String(error)}); name a JSON file, or unset it`,
    );
  });
  if (bytes.length > fileBytesMax)
    throw new ConfigError(setting, `${path} has ${bytes.length} bytes; use at most ${fileBytesMax}`);
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok)
    throw new ConfigError(setting, `${path} is not strict JSON (${parsed.detail}); write {"versions":[…]}`);
  const fault = firstFault(termsFile, parsed.value);
  if (fault !== null)
    throw new ConfigError(setting, `${fault.pointer || "the document"} in ${path}: ${fault.detail}`);
  return parsed.value as Of<typeof termsFile>;
}

/** A sandbox has terms that say what it is. */
export const sandboxTerms: readonly TermsText[] = [
  {
    version: 1,
    effective_from: "2026-01-01T00:00:00.000Z",
    language: "en",
    text: [
      "# Terms of this sandbox",
      "",
      "Everything here is made up: businesses, records, keys and these terms. Nothing that you do here is billed, and nothing",
      "that it answers may be shown to anybody as real. A deployment publishes its own terms here.",
      "",
    ].join("\n"),
  },
];
