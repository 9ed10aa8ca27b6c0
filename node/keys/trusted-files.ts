// The public files that define which keys are trusted: the anchors and the key set. Both are verified before anything
// relies on them.

import { readFileIfThere } from "../../crypto/durable-file.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { type Anchors, parseAnchors } from "../../protocol/keys/anchors.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type Trust, verifyKeySet } from "../../verifier/trust.ts";
import { ConfigError } from "../configuration/config-error.ts";

export const anchorsFile = "anchors.json";
export const keySetFile = "key-set.json";

/** The anchors in a file. Throws {@link ConfigError} if it is missing, has none, or has those of another environment. */
export async function loadAnchors(path: string, environment: Anchors["environment"]): Promise<Anchors> {
  const value = await loadJson(path, "the public anchors that `svc keys anchors` writes");
  const anchors = parseAnchors(value);
  if (!anchors.ok)
    throw new ConfigError(path, `holds no anchors: ${anchors.detail} (${anchors.pointer ?? ""})`);
  if (anchors.value.environment === environment) return anchors.value;
  throw new ConfigError(
    path,
    `holds ${anchors.value.environment} anchors; a ${environment} node needs ${environment} anchors`,
  );
}

export interface LoadedKeySet {
  readonly text: string;
  readonly trust: Trust;
}

/** The key set in a file. Throws {@link ConfigError} if it is missing or does not verify under the anchors. */
export async function loadKeySet(path: string, anchors: Anchors): Promise<LoadedKeySet> {
  const text = await loadText(path, "the key set that was issued for this service");
  const trust = trustIn(text, anchors);
  if (trust.ok) return { text, trust: trust.value };
  throw new ConfigError(path, `does not verify under the anchors: ${trust.detail} (${trust.code})`);
}

/** The trust that a key set's text gives its keys, judged as every verifier does. */
export function trustIn(text: string, anchors: Anchors): Result<Trust> {
  const parsed = parseStrictJson(utf8(text));
  if (!parsed.ok) return parsed;
  const trust = verifyKeySet(anchors, parsed.value, nativeCrypto);
  return trust.ok ? ok(trust.value) : refuse(trust.code, trust.detail);
}

/** Throws {@link ConfigError} for a file that is missing or not JSON; `what` completes «is missing; put … there». */
export async function loadJson(path: string, what: string): Promise<JsonValue> {
  const parsed = parseStrictJson(utf8(await loadText(path, what)));
  if (parsed.ok) return parsed.value;
  throw new ConfigError(path, `is not JSON: ${parsed.detail}`);
}

async function loadText(path: string, what: string): Promise<string> {
  const text = await readFileIfThere(path);
  if (text !== null) return text;
  throw new ConfigError(path, `is missing; put ${what} there`);
}
