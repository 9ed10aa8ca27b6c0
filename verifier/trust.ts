// Trust: which keys of the service count, and for what. It starts at the pinned roots and nowhere else.
//   V1. A key is trusted only with a certificate whose issuer is trusted, may issue it, and was valid when it was
//       issued.
//   V2. Both halves of an issuer must have signed; one half alone proves nothing.
//   V3. Sandbox marks and anchors agree: sandbox keys count only under sandbox anchors, and no other keys count there.
//   V4. A key set is accepted as a whole or not at all: one key without a chain refuses it.

import type { Sha256 } from "../protocol/bytes.ts";
import { type Envelope, openEnvelope, pae, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import {
  entriesOf,
  isPaired,
  type KeyCertificate,
  type KeyEntry,
  type KeySet,
  type KeyUse,
  keySetEnvelope,
  openKeyCertificate,
  parseKeySet,
} from "../protocol/keys/key-set.ts";
import {
  earliest,
  type SignatureVerifier,
  splitHybrid,
  verifyHybrid,
  verifyOne,
  windowFault,
} from "../protocol/keys/signatures.ts";
import type { WitnessPolicy } from "../protocol/log/cosignatures.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, type Refusal, refuse } from "../protocol/result.ts";
import { isObject } from "../std/json-pointer.ts";
import { besideFault } from "./members.ts";

/** The primitives used for verification: portable ones, or a node's native ones. */
export interface Primitives {
  readonly verify: SignatureVerifier;
  readonly sha256: Sha256;
}

export interface TrustedKeys extends Primitives {
  /** Trusted keys by key_id; `compromised_from` is the earliest that any trusted source names. */
  readonly keys: ReadonlyMap<string, KeyEntry>;
}

export interface Trust extends TrustedKeys {
  /** Whose cosignatures a checkpoint of the log needs; none where the verifier was given no policy. */
  readonly witnessPolicy?: WitnessPolicy;
  readonly anchors: Anchors;
  readonly keySet: KeySet;
}

interface ParsedCertificate {
  readonly envelope: Envelope;
  readonly certificate: KeyCertificate;
}

/** What each use may certify (specification, «Key set and key directory»). */
const mayCertify: Readonly<Partial<Record<KeyUse, readonly KeyUse[]>>> = {
  root: ["root", "issuance"],
  issuance: ["projection", "receipt", "sidecar", "statement", "log"],
};

/**
 * Verifies a key set against the anchors. `value` is the parsed answer of `GET /.well-known/keys` or the envelope in it.
 * Refuses with `key_unknown` for a set of another environment or an unknown signer, `post_quantum_required` where a half
 * is missing, `trust_chain_broken` where a key has no chain to an anchor, and the reasons of envelopes and payloads. An
 * answer whose `keys` are not the signed ones is `payload_malformed`.
 */
export function verifyKeySet(anchors: Anchors, value: JsonValue, primitives: Primitives): Verdict<Trust> {
  const envelope = keySetEnvelope(value);
  if (!envelope.ok) return envelope;
  const payload = openEnvelope(envelope.value, payloadTypes["key-set.v1"]);
  if (!payload.ok) return payload;
  const keySet = parseKeySet(payload.value, primitives.sha256);
  if (!keySet.ok) return keySet;
  const { keys: entries } = keySet.value;
  const beside =
    isObject(value) && Object.hasOwn(value, "signed") ? besideFault(value, { keys: entries }) : null;
  if (beside !== null) return beside;
  const certificates = parseCertificates(keySet.value.certificates, anchors, primitives);
  if (!certificates.ok) return certificates;
  const keys = followChains(anchors, keySet.value.keys, certificates.value, primitives);
  if (!keys.ok) return keys;
  const trust: Trust = { ...primitives, anchors, keySet: keySet.value, keys: keys.value };
  const signed = verifyIssued(trust, envelope.value, {
    payloadType: payloadTypes["key-set.v1"],
    at: keySet.value.issued_at,
  });
  return signed.ok ? ok(trust) : signed;
}

/**
 * Verifies key certificates without a key set around them: those by which some keys are trusted. A pinned root needs none. Only a key
 * set says what was compromised, so here `compromised_from` is null unless a certificate names it. Refuses as {@link verifyKeySet} does.
 */
export function verifyKeyChain(
  anchors: Anchors,
  values: readonly JsonValue[],
  primitives: Primitives,
): Verdict<Trust> {
  const envelopes: Envelope[] = [];
  for (const value of values) {
    const envelope = parseEnvelope(value);
    if (!envelope.ok) return envelope;
    envelopes.push(envelope.value);
  }
  const certificates = parseCertificates(envelopes, anchors, primitives);
  if (!certificates.ok) return certificates;
  const always = { region: null, valid_from: "", valid_until: null, compromised_from: null };
  const pinned = anchors.roots.map((root): KeyEntry => ({ ...root, use: "root", ...always }));
  const certified = certificates.value.flatMap(({ certificate }) => entriesOf(certificate));
  const byId = new Map([...pinned, ...certified].map((entry) => [entry.key_id, entry]));
  const keys = followChains(anchors, [...byId.values()], certificates.value, primitives);
  if (!keys.ok) return keys;
  const issued = certificates.value.map(({ certificate }) => certificate.issued_at).sort();
  const keySet: KeySet = {
    v: 1,
    issued_at: issued[0] ?? "",
    keys: [...keys.value.values()],
    certificates: envelopes,
  };
  return ok({ ...primitives, anchors, keySet, keys: keys.value });
}

/**
 * Verifies an envelope that both halves of one issuance key must have signed, each valid at `at`. Refuses with
 * `post_quantum_required` for one half alone, `key_unknown` for a key that may not issue, `signature_invalid`,
 * `key_not_valid` or `key_compromised`.
 */
export function verifyIssued(
  trust: Trust,
  envelope: Envelope,
  expected: { readonly payloadType: string; readonly at: string },
): Verdict<Uint8Array> {
  const issuer = (keyId: string) => keyForUse(trust.keys, keyId, "issuance");
  return verifyPair({ keyOf: issuer, verify: trust.verify }, envelope, expected);
}

/** The use of a key that signs alone; a receipt key is also bound to one region. */
interface WorkingUse {
  readonly use: KeyUse;
  /** Null unless the use is `receipt`. */
  readonly region: string | null;
}

/** The trusted key with this id and use, or null. A keyid only selects a candidate and proves nothing. */
export function workingKey(trust: TrustedKeys, keyId: string, wanted: WorkingUse): KeyEntry | null {
  const key = keyForUse(trust.keys, keyId, wanted.use);
  return key !== null && key.region === wanted.region ? key : null;
}

/** Checks that a document's sandbox mark fits the anchors (V3); otherwise refuses with `key_unknown`. */
export function sandboxFault(anchors: Anchors, mark: true | undefined): Refusal<"key_unknown"> | null {
  const isSandbox = anchors.environment === "sandbox";
  if ((mark === true) === isSandbox) return null;
  const which = isSandbox ? "A production document" : "A sandbox document";
  return refuse("key_unknown", `${which} does not verify under ${anchors.environment} anchors.`);
}

function parseCertificates(
  envelopes: readonly Envelope[],
  anchors: Anchors,
  primitives: Primitives,
): Verdict<readonly ParsedCertificate[]> {
  const parsed: ParsedCertificate[] = [];
  for (const [index, envelope] of envelopes.entries()) {
    const certificate = openKeyCertificate(envelope, primitives.sha256);
    if (!certificate.ok) return refuse(certificate.code, certificate.detail, `/certificates/${index}`);
    const fault = sandboxFault(anchors, certificate.value.sandbox);
    if (fault !== null) return fault;
    parsed.push({ envelope, certificate: certificate.value });
  }
  return ok(parsed);
}

/**
 * Follows the certificates from the anchors until nothing new is trusted (V1), then requires every key to be trusted
 * (V4).
 */
function followChains(
  anchors: Anchors,
  keys: readonly KeyEntry[],
  certificates: readonly ParsedCertificate[],
  primitives: Primitives,
): Verdict<ReadonlyMap<string, KeyEntry>> {
  const entries = new Map(keys.map((key) => [key.key_id, withCompromise(key, certificates)]));
  const trusted = new Map<string, KeyEntry>();
  for (const root of anchors.roots) {
    const entry = entries.get(root.key_id);
    if (entry?.use === "root" && entry.pair === root.pair) trusted.set(entry.key_id, entry);
  }
  let waiting = certificates;
  for (let before = -1; before !== waiting.length; ) {
    before = waiting.length;
    const later: ParsedCertificate[] = [];
    for (const each of waiting) {
      if (!each.certificate.issuer.every((keyId) => trusted.has(keyId))) {
        later.push(each);
        continue;
      }
      const verdict = verifyKeyCertificate(each, trusted, primitives.verify);
      if (!verdict.ok) return verdict;
      const certified = certifiedEntries(each.certificate, entries);
      if (!certified.ok) return certified;
      for (const entry of certified.value) trusted.set(entry.key_id, entry);
    }
    waiting = later;
  }
  for (const key of entries.values()) {
    if (!trusted.has(key.key_id)) return broken(`Key ${key.key_id} (${key.use}) has no chain to an anchor.`);
  }
  if (waiting.length > 0) return broken("A certificate of a key has no chain to an anchor.");
  return ok(trusted);
}

/** The key's entry, with the earliest compromise that it or any of its certificates names. */
function withCompromise(entry: KeyEntry, certificates: readonly ParsedCertificate[]): KeyEntry {
  let compromised = entry.compromised_from;
  for (const { certificate } of certificates) {
    if (certificate.keys.some((key) => key.key_id === entry.key_id))
      compromised = earliest(compromised, certificate.compromised_from);
  }
  return { ...entry, compromised_from: compromised };
}

function verifyKeyCertificate(
  { envelope, certificate }: ParsedCertificate,
  trusted: ReadonlyMap<string, KeyEntry>,
  verify: SignatureVerifier,
): Verdict<Uint8Array> {
  const keyOf = (keyId: string): KeyEntry | null => {
    const key = certificate.issuer.includes(keyId) ? trusted.get(keyId) : undefined;
    return key !== undefined && mayCertify[key.use]?.includes(certificate.use) === true ? key : null;
  };
  const expected = { payloadType: payloadTypes["key-certificate.v1"], at: certificate.issued_at };
  const verdict = verifyPair({ keyOf, verify }, envelope, expected);
  if (verdict.ok || verdict.code === "post_quantum_required") return verdict;
  return broken(`A certificate for a ${certificate.use} key does not hold: ${verdict.detail}`);
}

/** The entries of the keys that a certificate covers, if they agree with the certificate. */
function certifiedEntries(
  certificate: KeyCertificate,
  entries: ReadonlyMap<string, KeyEntry>,
): Verdict<readonly KeyEntry[]> {
  const found: KeyEntry[] = [];
  for (const key of certificate.keys) {
    const entry = entries.get(key.key_id);
    // A certificate of a key that is not in the set vouches for nothing that anyone will ask for.
    if (entry === undefined) continue;
    const pair = certificate.keys.find((other) => other.key_id !== key.key_id)?.key_id ?? null;
    const agrees =
      entry.use === certificate.use &&
      entry.region === certificate.region &&
      entry.pair === pair &&
      entry.valid_from === certificate.valid_from &&
      entry.valid_until === certificate.valid_until &&
      sameKey(entry.public_key, key.public_key);
    if (!agrees) return broken(`Key ${key.key_id} is listed with other facts than it was certified with.`);
    found.push(entry);
  }
  return ok(found);
}

function sameKey(a: PublicJwk, b: PublicJwk): boolean {
  return canonicalize({ ...a }) === canonicalize({ ...b });
}

interface PairSource {
  keyOf(keyId: string): KeyEntry | null;
  readonly verify: SignatureVerifier;
}

function verifyPair(
  source: PairSource,
  envelope: Envelope,
  expected: { readonly payloadType: string; readonly at: string },
): Verdict<Uint8Array> {
  const signatures = splitHybrid(envelope, (keyId) => source.keyOf(keyId)?.public_key ?? null);
  if (!signatures.ok) return signatures;
  const classical = source.keyOf(signatures.value.classical.keyid);
  const postQuantum = source.keyOf(signatures.value.postQuantum.keyid);
  if (classical === null || postQuantum === null || classical.pair !== postQuantum.key_id) {
    return refuse("key_unknown", "The two signatures are not by the halves of one key.");
  }
  const pair = { classical: classical.public_key, postQuantum: postQuantum.public_key };
  const payload = verifyHybrid(envelope, {
    payloadType: expected.payloadType,
    signatures: signatures.value,
    pair,
    verify: source.verify,
  });
  if (!payload.ok) return payload;
  return windowFault(classical, expected.at) ?? windowFault(postQuantum, expected.at) ?? payload;
}

function keyForUse(keys: ReadonlyMap<string, KeyEntry>, keyId: string, use: KeyUse): KeyEntry | null {
  const key = keys.get(keyId);
  return key?.use === use && isPaired(use) === (key.pair !== null) ? key : null;
}

function broken(detail: string): Verdict<never> {
  return refuse("trust_chain_broken", detail);
}

// Documents signed by a single working key of the service: receipts, sidecars, statements, published keys.

export interface ExpectedSignature extends WorkingUse {
  /** The instant at which the key must have been valid. */
  readonly at: string;
}

/**
 * Verifies the single signature of an envelope whose payload has already been read as the expected type. Refuses with
 * `envelope_malformed` for more than one signature, `key_unknown` for a key that may not sign this (another use, another
 * region, not in the key set), `signature_invalid`, `key_not_valid` or `key_compromised`. Returns the key.
 */
export function verifyWorking(
  trust: TrustedKeys,
  envelope: Envelope,
  expected: ExpectedSignature,
): Verdict<KeyEntry> {
  const [signature, ...others] = envelope.signatures;
  if (signature === undefined || others.length > 0) {
    return refuse("envelope_malformed", "The document carries exactly one signature.");
  }
  const key = workingKey(trust, signature.keyid, expected);
  if (key === null) return refuse("key_unknown", `Key ${signature.keyid} may not sign this document.`);
  const payload = openEnvelope(envelope, envelope.payloadType);
  if (!payload.ok) return payload;
  if (!verifyOne(trust.verify, key.public_key, pae(envelope.payloadType, payload.value), signature)) {
    return refuse("signature_invalid", "The signature does not verify.");
  }
  return windowFault(key, expected.at) ?? ok(key);
}
