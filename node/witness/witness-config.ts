// The witnesses of this deployment's log: who has to cosign a checkpoint before it is published.

import { nativeCrypto } from "../../crypto/native.ts";
import { parseVerifierKey } from "../../protocol/log/note.ts";
import { ConfigError } from "../config-error.ts";
import type { WitnessAddress } from "./witness-client.ts";

export interface WitnessConfig {
  readonly witnesses: readonly WitnessAddress[];
  /** How many of them have to cosign. */
  readonly quorum: number;
  /** Whether anything was set: a sandbox that was told nothing runs witnesses of its own. */
  readonly isSet: boolean;
}

const setting = "SVC_LOG_WITNESSES";
const quorumSetting = "SVC_LOG_WITNESS_QUORUM";
const privateSetting = "SVC_LOG_WITNESS_PRIVATE";
const witnessesMax = 16;

/** Throws {@link ConfigError}. */
export function parseWitnesses(env: Readonly<Record<string, string | undefined>>): WitnessConfig {
  const allowed = env[privateSetting] ?? "no";
  if (allowed !== "yes" && allowed !== "no")
    throw new ConfigError(privateSetting, `is ${JSON.stringify(allowed)}; use yes or no`);
  const text = env[setting]?.trim() ?? "";
  const witnesses =
    text === "" ? [] : text.split(",").map((each) => parseWitness(each.trim(), allowed === "yes"));
  if (witnesses.length > witnessesMax)
    throw new ConfigError(setting, `names ${witnesses.length} witnesses; use at most ${witnessesMax}`);
  const twin = witnesses.find(({ key }, at) =>
    witnesses.slice(0, at).some(({ key: other }) => other.name === key.name || isSame(other, key)),
  );
  if (twin !== undefined)
    throw new ConfigError(setting, `names ${twin.key.name} or its key twice; a witness counts once`);
  return Object.freeze({ witnesses, quorum: parseQuorum(env, witnesses.length), isSet: setting in env });
}

function isSame(one: { readonly publicKey: Uint8Array }, other: { readonly publicKey: Uint8Array }): boolean {
  return one.publicKey.every((byte, at) => byte === other.publicKey[at]);
}

function parseWitness(text: string, mayBePrivate: boolean): WitnessAddress {
  const [verifierKey = "", address = "", ...more] = text.split(/\s+/);
  const key = parseVerifierKey(verifierKey, nativeCrypto.sha256);
  if (key?.kind !== "cosignature" || more.length > 0)
    throw new ConfigError(
      setting,
      `names ${JSON.stringify(text)}; use the key that the witness prints, a space and its URL, separated by commas`,
    );
  const url = URL.parse(address);
  const isPlainUrl = url !== null && url.username === "" && url.search === "" && url.hash === "";
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && mayBePrivate);
  if (!isPlainUrl || !isAllowed)
    throw new ConfigError(
      setting,
      `names ${JSON.stringify(address)}; use an https URL, or set ${privateSetting}=yes for a private network`,
    );
  return { key, url: url.href.replace(/\/$/, ""), mayBePrivate };
}

/** All of them, unless it is set. */
function parseQuorum(env: Readonly<Record<string, string | undefined>>, count: number): number {
  const text = env[quorumSetting];
  if (text === undefined) return count;
  const quorum = /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (quorum <= count) return quorum;
  throw new ConfigError(
    quorumSetting,
    `is ${JSON.stringify(text)}; use a whole number from 0 to ${count}, the number of witnesses in ${setting}`,
  );
}
