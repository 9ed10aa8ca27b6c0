// Key set: every key of the service with its certificate (specification, «Key set and key directory»). Roots certify roots
// and issuance keys; issuance keys certify working keys. Only the signed payload is trusted.

import { isObject } from "../../std/json-pointer.ts";
import type { Sha256 } from "../bytes.ts";
import {
  type Envelope,
  malformed,
  openEnvelope,
  type PayloadOf,
  parseEnvelope,
  parsePayload,
  payloadTypes,
  soleFormat,
} from "../dsse.ts";
import { canonicalBytes, type JsonValue } from "../json/canonical-json.ts";
import type { Verdict } from "../reason-codes.ts";
import { ok, refuse } from "../result.ts";
import {
  anything,
  distinct,
  keyId,
  list,
  literal,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  region,
  timestamp,
} from "../shape.ts";
import { algorithmOf, type KeyAlgorithm, thumbprint } from "./jwk.ts";
import { classicalAlgorithm, postQuantumAlgorithm } from "./signatures.ts";

/** What a key of the service may sign. `root` and `issuance` keys come in pairs; the others sign alone. */
export const keyUses = ["root", "issuance", "projection", "receipt", "sidecar", "statement", "log"] as const;
export type KeyUse = (typeof keyUses)[number];

/** An upper bound on the size of a key set, far above any real one. */
const keysMax = 1024;

const algorithm = oneOf(["Ed25519", "ES256", "ML-DSA-65"]);
export const keyEntryShape = object({
  key_id: keyId,
  use: oneOf(keyUses),
  /** The region of a receipt key; null for every other use. */
  region: nullable(region),
  alg: algorithm,
  public_key: publicJwk,
  /** key_id of the other half of a hybrid pair; null for a key that signs alone. */
  pair: nullable(keyId),
  valid_from: timestamp,
  valid_until: nullable(timestamp),
  /** Nothing that this key signed from this instant on is valid; null while the key is not compromised. */
  compromised_from: nullable(timestamp),
});
export type KeyEntry = Of<typeof keyEntryShape>;

export const keySetFormat = soleFormat(
  object({
    v: literal(1),
    issued_at: timestamp,
    keys: list(keyEntryShape, { min: 1, max: keysMax }),
    /** The key certificate envelopes. */
    certificates: list(anything, { min: 1, max: keysMax }),
  }),
);
export type KeySet = Omit<PayloadOf<typeof keySetFormat>, "certificates"> & {
  readonly certificates: readonly Envelope[];
};

/** States what a key, or both halves of a pair, may sign. Signed by both halves of the issuer. */
export const keyCertificateFormat = soleFormat(
  object({
    v: literal(1),
    use: oneOf(keyUses),
    region: nullable(region),
    keys: list(object({ key_id: keyId, alg: algorithm, public_key: publicJwk }), { min: 1, max: 2 }),
    valid_from: timestamp,
    valid_until: nullable(timestamp),
    /** key_ids of both halves of the issuer, classical first. */
    issuer: distinct(keyId, { min: 2, max: 2 }),
    issued_at: timestamp,
    compromised_from: nullable(timestamp),
    /** Only on a sandbox key. */
    sandbox: optional(literal(true)),
  }),
);
export type KeyCertificate = PayloadOf<typeof keyCertificateFormat>;
export type CertifiedKey = KeyCertificate["keys"][number];

/** Reads the payload of a key set and its certificate envelopes; trust is judged by the verifier. */
export function parseKeySet(payload: Uint8Array, sha256?: Sha256): Verdict<KeySet> {
  const parsed = parsePayload(payload, keySetFormat);
  if (!parsed.ok) return parsed;
  const certificates: Envelope[] = [];
  for (const [index, value] of parsed.value.certificates.entries()) {
    const envelope = parseEnvelope(value);
    if (!envelope.ok)
      return refuse(envelope.code, envelope.detail, `/certificates/${index}${envelope.pointer ?? ""}`);
    certificates.push(envelope.value);
  }
  const ids = parsed.value.keys.map((key) => key.key_id);
  if (new Set(ids).size !== ids.length) return malformed("A key is listed twice.", "/keys");
  for (const [index, key] of parsed.value.keys.entries()) {
    const fault = unfitKey(key, key.use, key.region, sha256);
    if (fault !== null) return malformed(fault, `/keys/${index}`);
    if ((key.pair !== null) !== isPaired(key.use))
      return malformed("Only the halves of a pair may name another key.", `/keys/${index}/pair`);
  }
  return ok({ ...parsed.value, certificates });
}

/** Reads the payload of a key certificate. */
export function parseKeyCertificate(payload: Uint8Array, sha256?: Sha256): Verdict<KeyCertificate> {
  const parsed = parsePayload(payload, keyCertificateFormat);
  if (!parsed.ok) return parsed;
  const { use, region: place, keys } = parsed.value;
  for (const [index, key] of keys.entries()) {
    const fault = unfitKey(key, use, place, sha256);
    if (fault !== null) return malformed(fault, `/keys/${index}`);
  }
  const algorithms = keys.map((key) => key.alg).join();
  const expected = isPaired(use) ? `${classicalAlgorithm},${postQuantumAlgorithm}` : workingAlgorithm;
  if (algorithms !== expected)
    return malformed(`A ${use} certificate is for ${expected}, in this order.`, "/keys");
  return parsed;
}

/**
 * The certificate inside an envelope of its payload type; any other type is `payload_type_mismatch`. Verifies no signature:
 * the caller must establish whether a trusted key signed the envelope.
 */
export function openKeyCertificate(envelope: Envelope, sha256?: Sha256): Verdict<KeyCertificate> {
  const payload = openEnvelope(envelope, payloadTypes["key-certificate.v1"]);
  return payload.ok ? parseKeyCertificate(payload.value, sha256) : payload;
}

/** The key set entries for the keys of a certificate. */
export function entriesOf(certificate: KeyCertificate): readonly KeyEntry[] {
  const { use, region, keys, valid_from, valid_until, compromised_from } = certificate;
  return keys.map((key, index) => ({
    ...key,
    use,
    region,
    pair: isPaired(use) ? (keys[1 - index]?.key_id ?? null) : null,
    valid_from,
    valid_until,
    compromised_from,
  }));
}

/** The payload bytes to sign. */
export function keySetPayload(keySet: KeySet): Uint8Array {
  return canonicalBytes(keySet);
}

/** The payload bytes to sign. */
export function keyCertificatePayload(certificate: KeyCertificate): Uint8Array {
  return canonicalBytes(certificate);
}

/** Extracts the envelope to trust, from a key set answer or from a bare envelope. */
export function keySetEnvelope(value: JsonValue): Verdict<Envelope> {
  return parseEnvelope(isObject(value) && Object.hasOwn(value, "signed") ? value["signed"] : value);
}

/** The algorithm of keys that sign alone (specification, «Envelope»: rows and receipts are Ed25519 only). */
const workingAlgorithm: KeyAlgorithm = "Ed25519";

/** Whether keys with this use come in pairs, classical first, and sign together (specification, «Envelope»). */
export function isPaired(use: KeyUse): boolean {
  return use === "root" || use === "issuance";
}

function unfitKey(key: CertifiedKey, use: KeyUse, place: string | null, sha256?: Sha256): string | null {
  if ((place !== null) !== (use === "receipt"))
    return "A receipt key has a region, and no other key has one.";
  const { alg } = key;
  const fits = isPaired(use)
    ? alg === classicalAlgorithm || alg === postQuantumAlgorithm
    : alg === workingAlgorithm;
  if (!fits) return `A ${use} key may not be of algorithm ${alg}.`;
  if (algorithmOf(key.public_key) !== alg) return "The public key has another algorithm.";
  return thumbprint(key.public_key, sha256) === key.key_id
    ? null
    : "The key id is not the thumbprint of the key.";
}
