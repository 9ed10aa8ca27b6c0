// The leaves in the log that follow from what a business has: its seals, and the custody statements about its keys.

import { parseBase64, parseUtf8, utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Envelope, makeEnvelope, paeHead, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { sha256 } from "../protocol/hash.ts";
import { contentHash, sealLeafOf } from "../protocol/log/leaves.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";

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

/**
 * The leaves of the custody statements about these keys in what `GET /v1/certificates/{uuid}/key-custody` answers. It needs no
 * trust: a statement that has the hash of a leaf is what was appended, and it says itself about which key it is.
 */
export function custodyLeaves(answer: string, keyIds: readonly string[]): readonly string[] {
  const read = parseStrictJson(utf8(answer));
  const { statements } = (read.ok ? (read.value ?? {}) : {}) as { readonly statements?: unknown };
  if (!Array.isArray(statements)) return [];
  return statements.flatMap((each: { readonly statement?: unknown } | null) => {
    const envelope = each?.statement as JsonValue | undefined;
    const keyId = envelope === undefined ? null : keyIdIn(envelope);
    return envelope === undefined || keyId === null || !keyIds.includes(keyId)
      ? []
      : [contentHash(envelope, sha256)];
  });
}

function keyIdIn(value: JsonValue): string | null {
  const envelope = parseEnvelope(value);
  if (!envelope.ok || envelope.value.payloadType !== payloadTypes["key-custody.v1"]) return null;
  const payload = parseStrictJson(utf8(parseUtf8(parseBase64(envelope.value.payload) ?? utf8("")) ?? ""));
  const { key_id } = (payload.ok ? (payload.value ?? {}) : {}) as { readonly key_id?: unknown };
  return typeof key_id === "string" ? key_id : null;
}
