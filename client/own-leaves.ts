// The leaves in the log that follow from what a business has: its seals, and the custody statements about its keys.

import { parseBase64, utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Envelope, makeEnvelope, paeHead, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { sha256 } from "../protocol/hash.ts";
import { contentHash, keyAddedEntry, sealLeafOf } from "../protocol/log/leaves.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { isObject } from "../std/is-object.ts";

const sealTypes: readonly string[] = [
  payloadTypes["seal.v1"],
  payloadTypes["seal.v2"],
  payloadTypes["batch-seal.v1"],
  payloadTypes["batch-seal.v2"],
];
const headMax = 128;

export function leafOfSeal(envelope: Envelope): string {
  return sealLeafOf(envelope, sha256);
}

/** The leaf of the seal that a signature over a message makes; null for a message that is no seal's. */
export function leafOfSigned(
  message: Uint8Array,
  { keyId, sig }: { readonly keyId: string; readonly sig: Uint8Array },
): string | null {
  const start = new TextDecoder().decode(message.subarray(0, headMax));
  const [, type = "", length = ""] = /^DSSEv1 \d+ (\S+) (\d+) /.exec(start) ?? [];
  if (!sealTypes.includes(type)) return null;
  const payload = message.slice(utf8(paeHead(type, Number(length))).length);
  return leafOfSeal(makeEnvelope(type, payload, [{ keyid: keyId, sig }]));
}

/** The leaves that custody statements of a business account for, and those of keys that the service says it holds for it. */
export interface CustodyLeaves {
  readonly own: readonly string[];
  /** Statements about hosted keys, and the registrations of these keys: of no key of the business, and not a secret either. */
  readonly hosted: readonly string[];
}

/**
 * What follows from the answer of `GET /v1/certificates/{uuid}/key-custody`. It needs no trust: a statement that has the hash of
 * a leaf is what was appended, and it says itself about which key it is.
 */
export function custodyLeaves(
  answer: string,
  { businessUuid, keyIds }: { readonly businessUuid: string; readonly keyIds: readonly string[] },
): CustodyLeaves {
  const read = parseStrictJson(utf8(answer));
  const { statements } = (read.ok ? (read.value ?? {}) : {}) as { readonly statements?: unknown };
  const found: { own: string[]; hosted: string[] } = { own: [], hosted: [] };
  for (const each of Array.isArray(statements) ? statements : []) {
    const envelope = (each as { readonly statement?: JsonValue } | null)?.statement;
    const { key_id, custody } = envelope === undefined ? {} : statementIn(envelope);
    if (envelope === undefined || typeof key_id !== "string") continue;
    const leaf = contentHash(envelope, sha256);
    if (keyIds.includes(key_id)) found.own.push(leaf);
    else if (custody === "hosted") found.hosted.push(leaf, keyAddedEntry(businessUuid, key_id, sha256).leaf);
  }
  return found;
}

function statementIn(text: JsonValue): { readonly key_id?: unknown; readonly custody?: unknown } {
  const envelope = parseEnvelope(text);
  if (!envelope.ok || envelope.value.payloadType !== payloadTypes["key-custody.v1"]) return {};
  const payload = parseStrictJson(parseBase64(envelope.value.payload) ?? utf8(""));
  const value = payload.ok ? payload.value : null;
  return isObject(value) ? value : {};
}
