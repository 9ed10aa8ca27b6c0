// Which logs a witness cosigns: `ORIGIN KEY`, one for each key.

import { sha256 } from "../../protocol/bytes.ts";
import { type NoteKey, parseVerifierKey } from "../../protocol/log/note.ts";
import type { WitnessedLog } from "../../service/log/witness.ts";
import { ConfigError } from "../configuration/config-error.ts";

/** Throws {@link ConfigError}. */
export function parseWitnessedLogs(setting: string, texts: readonly string[]): readonly WitnessedLog[] {
  const logs = new Map<string, NoteKey[]>();
  for (const text of texts) {
    const split = text.lastIndexOf(" ");
    const origin = text.slice(0, Math.max(0, split));
    const key = parseVerifierKey(text.slice(split + 1), sha256);
    if (origin === "" || /\p{Cc}/u.test(origin) || key?.kind !== "log")
      throw new ConfigError(
        setting,
        `is ${JSON.stringify(text)}; use the log's origin, a space and its verifier key (NAME+HASH+KEY)`,
      );
    logs.set(origin, [...(logs.get(origin) ?? []), key]);
  }
  if (logs.size === 0) throw new ConfigError(setting, "is missing; name a log as 'ORIGIN KEY'");
  return [...logs].map(([origin, keys]) => ({ origin, keys }));
}
