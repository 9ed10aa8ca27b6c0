// Portable verification with noble, which runs in every browser. A node verifies natively; both agree on the vectors of
// Wycheproof and of CCTV.

import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { isObject } from "../../std/json-pointer.ts";
import {
  concatBytes,
  equalBytes,
  parseBase64,
  parseBase64Url,
  parseHex,
  type Sha256,
  toBase64Url,
  toHex,
  utf8,
} from "../bytes.ts";
import { type Envelope, type EnvelopeSignature, openEnvelope, pae } from "../dsse.ts";
import type { JsonObject } from "../json/canonical-json.ts";
import { parseStrictJson } from "../json/strict-json.ts";
import type { Verdict } from "../reason-codes.ts";
import { ok, type Refusal, refuse } from "../result.ts";
import { parseEd25519Point } from "./ed25519-point.ts";
import { algorithmOf, type KeyAlgorithm, type PublicJwk } from "./jwk.ts";

/**
 * Verifies a raw signature: Ed25519 (RFC 8032), ES256 as r‖s over SHA-256 (RFC 7518 §3.4), or ML-DSA-65 with an empty
 * context (FIPS 204). Never throws.
 */
export type SignatureVerifier = (jwk: PublicJwk, message: Uint8Array, signature: Uint8Array) => boolean;

/**
 * True only for a valid signature by an acceptable key: an Ed25519 key or R that is of small order or not canonical never
 * verifies (RFC 8032 §8.4).
 */
export const verifySignature: SignatureVerifier = (jwk, message, signature) => {
  if (jwk.kty === "OKP") return verifyEd25519(jwk, message, signature);
  try {
    if (jwk.kty === "EC") return verifyP256(jwk, message, signature);
    const key = parseBase64Url(jwk.pub);
    return key !== null && ml_dsa65.verify(signature, message, key);
  } catch {
    return false;
  }
};

/** The same for Ed25519 alone, without the code of the others; a key of theirs verifies nothing. */
export const verifyEd25519: SignatureVerifier = (jwk, message, signature) => {
  try {
    return jwk.kty === "OKP" && satisfiesEd25519(jwk.x, message, signature);
  } catch {
    return false;
  }
};

/** The y of every point of small order, little-endian with the bit of x cleared; the last two are not canonical. */
const smallOrderYs: readonly Uint8Array[] = [
  new Uint8Array(32),
  new Uint8Array(32).with(0, 0x01),
  bytesOfHex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
  bytesOfHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
  ...[0xec, 0xed, 0xee].map((first) => new Uint8Array(32).fill(0xff).with(0, first).with(31, 0x7f)),
];

/**
 * Whether the first half of an Ed25519 signature encodes a point of small order. Verifiers are of two minds about such an R (some
 * releases of OpenSSL take it and later ones do not), so it is refused before any of them is asked.
 */
export function hasSmallOrderR(signature: Uint8Array): boolean {
  return smallOrderYs.some((y) =>
    y.every((byte, at) => byte === ((signature[at] ?? 0) & (at === 31 ? 0x7f : 0xff))),
  );
}

function bytesOfHex(text: string): Uint8Array {
  const bytes = parseHex(text);
  if (bytes === null) throw new TypeError(`${text} is not hexadecimal.`);
  return bytes;
}

/**
 * Follows RFC 8032 §5.1.7 with the equation [S]B = R + [k]A, as OpenSSL does. `ed25519.verify` multiplies both sides by the
 * cofactor 8: the holder of a key can make signatures that satisfy only that form, and a seal must not be valid for one
 * verifier and invalid for another.
 */
function satisfiesEd25519(x: string, message: Uint8Array, signature: Uint8Array): boolean {
  const key = parseBase64Url(x);
  if (key?.length !== 32 || signature.length !== 64 || hasSmallOrderR(signature)) return false;
  const publicPoint = parseEd25519Point(key);
  const response = integerOf(signature.subarray(32));
  if (!publicPoint || !ed25519.Point.Fn.isValid(response)) return false;
  const commitment = signature.subarray(0, 32);
  const challenge = ed25519.Point.Fn.create(integerOf(sha512(concatBytes(commitment, key, message))));
  const expected = ed25519.Point.BASE.multiplyUnsafe(response).subtract(
    publicPoint.multiplyUnsafe(challenge),
  );
  return equalBytes(expected.toBytes(), commitment);
}

/** Decodes a little-endian integer (RFC 8032 §5.1.2). */
function integerOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`);
}

function verifyP256(
  jwk: { readonly x: string; readonly y: string },
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const x = parseBase64Url(jwk.x);
  const y = parseBase64Url(jwk.y);
  if (x?.length !== 32 || y?.length !== 32 || signature.length !== 64) return false;
  return p256.verify(signature, message, concatBytes(new Uint8Array([4]), x, y), { lowS: false });
}

/**
 * The 64 bytes r‖s of a DER-encoded P-256 signature as WebAuthn provides it (RFC 3279 §2.2.3); null when it is not strict
 * DER.
 */
export function derToRawP256(der: Uint8Array): Uint8Array | null {
  try {
    return p256.Signature.fromBytes(der, "der").toBytes("compact");
  } catch {
    return null;
  }
}

// Hybrid signatures: long-lived documents carry a P-256 and an ML-DSA-65 signature over the same bytes. Both are required,
// so that neither a break of elliptic curves nor a flaw in the younger scheme is enough for a forgery (specification,
// «Envelope»).

export const classicalAlgorithm: KeyAlgorithm = "ES256";
export const postQuantumAlgorithm: KeyAlgorithm = "ML-DSA-65";

/** The two signatures of a hybrid envelope, distinguished by the keys they name. */
export interface HybridSignatures {
  readonly classical: EnvelopeSignature;
  readonly postQuantum: EnvelopeSignature;
}

/**
 * Splits the signatures of a hybrid envelope by the algorithm of the key that each one names. `keyOf` returns the key with a
 * given id, or null. One half alone is `post_quantum_required`, an unknown key `key_unknown`, and a second signature for the
 * same half or a third of any kind `envelope_malformed`.
 */
export function splitHybrid(
  envelope: Envelope,
  keyOf: (keyId: string) => PublicJwk | null,
): Verdict<HybridSignatures> {
  const halves = new Map<KeyAlgorithm, EnvelopeSignature>();
  for (const signature of envelope.signatures) {
    const jwk = keyOf(signature.keyid);
    if (jwk === null) return refuse("key_unknown", `Key ${signature.keyid} may not sign this document.`);
    const algorithm = algorithmOf(jwk);
    if (halves.has(algorithm))
      return refuse("envelope_malformed", "The document is signed twice by the same kind of key.");
    halves.set(algorithm, signature);
  }
  const classical = halves.get(classicalAlgorithm);
  const postQuantum = halves.get(postQuantumAlgorithm);
  if (classical === undefined || postQuantum === undefined) {
    return refuse("post_quantum_required", "The document must carry a P-256 and an ML-DSA-65 signature.");
  }
  if (halves.size !== 2)
    return refuse("envelope_malformed", "The document carries a signature that its format does not have.");
  return ok({ classical, postQuantum });
}

export interface KeyPair {
  readonly classical: PublicJwk;
  readonly postQuantum: PublicJwk;
}

/** Verifies both halves over the pre-authentication encoding and returns the payload bytes. */
export function verifyHybrid(
  envelope: Envelope,
  check: {
    readonly payloadType: string;
    readonly signatures: HybridSignatures;
    readonly pair: KeyPair;
    readonly verify: SignatureVerifier;
  },
): Verdict<Uint8Array> {
  const payload = openEnvelope(envelope, check.payloadType);
  if (!payload.ok) return payload;
  const message = pae(envelope.payloadType, payload.value);
  const classical = verifyOne(check.verify, check.pair.classical, message, check.signatures.classical);
  const postQuantum = verifyOne(check.verify, check.pair.postQuantum, message, check.signatures.postQuantum);
  if (!classical || !postQuantum) return refuse("signature_invalid", "A signature does not verify.");
  return payload;
}

/**
 * Verifies one raw signature of an envelope; returns false for anything that is not the base64 of a signature, and for one with
 * the members of a passkey's, which nothing would vouch for.
 */
export function verifyOne(
  verify: SignatureVerifier,
  jwk: PublicJwk,
  message: Uint8Array,
  signature: EnvelopeSignature,
): boolean {
  const bytes = parseBase64(signature.sig);
  return signature.authenticatorData === undefined && bytes !== null && verify(jwk, message, bytes);
}

// Passkey seals: a WebAuthn assertion (Web Authentication Level 3, §7.2) whose challenge is the hash of the sealed document,
// so that an assertion made for anything else, for example a sign-in, cannot serve as a seal.

/** Where this deployment's passkeys may be used (pinned, never taken from the assertion). */
export interface PasskeyOrigins {
  /** Relying party ids: registrable domains. */
  readonly rp_ids: readonly string[];
  /** Full origins, for example `https://portal.example`. */
  readonly origins: readonly string[];
}

export interface PasskeyCheck {
  readonly jwk: PublicJwk;
  /** The pre-authentication encoding of the sealed document. */
  readonly message: Uint8Array;
  readonly signature: EnvelopeSignature;
  readonly origins: PasskeyOrigins;
  readonly verify: SignatureVerifier;
  readonly sha256: Sha256;
}

/** Length of rpIdHash (32), flags (1) and signCount (4): authenticator data without extensions (§6.1). */
const authenticatorDataLength = 37;
const userPresent = 0x01;
const userVerified = 0x04;
const backupEligible = 0x08;
const backedUp = 0x10;
const attestedData = 0x40;
const extensionData = 0x80;

/** The challenge of the assertion that seals a message: base64url of its SHA-256. */
export function passkeyChallenge(message: Uint8Array, sha256: Sha256): string {
  return toBase64Url(sha256(message));
}

/** Verifies an assertion; every failure is `signature_invalid`. */
export function verifyPasskey(check: PasskeyCheck): Verdict<void> {
  const { signature, sha256 } = check;
  const clientData = parseBase64(signature.clientDataJSON ?? "");
  const authenticatorData = parseBase64(signature.authenticatorData ?? "");
  const raw = parseBase64(signature.sig);
  if (clientData === null || authenticatorData === null || raw === null || clientData.length === 0) {
    return invalid("A passkey signature must carry authenticatorData and clientDataJSON.");
  }
  const fault =
    clientDataFault(clientData, passkeyChallenge(check.message, sha256), check.origins) ??
    authenticatorFault(authenticatorData, check.origins, sha256);
  if (fault !== null) return invalid(fault);
  const rawSignature = check.jwk.kty === "EC" ? derToRawP256(raw) : raw;
  if (rawSignature === null || check.jwk.kty === "AKP")
    return invalid("The assertion's signature is not DER.");
  const signed = new Uint8Array(authenticatorData.length + 32);
  signed.set(authenticatorData);
  signed.set(sha256(clientData), authenticatorData.length);
  return check.verify(check.jwk, signed, rawSignature)
    ? ok(undefined)
    : invalid("The assertion does not verify.");
}

/** Performs §7.2 steps 11 to 14. Members that a client may add are ignored. */
function clientDataFault(bytes: Uint8Array, challenge: string, allowed: PasskeyOrigins): string | null {
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok || !isObject(parsed.value)) return "clientDataJSON is not a JSON object.";
  const { type, challenge: given, origin } = parsed.value;
  if (type !== "webauthn.get") return "The assertion belongs to another ceremony.";
  if (given !== challenge) return "The assertion was made for another challenge.";
  if (typeof origin !== "string" || !allowed.origins.includes(origin))
    return "The assertion was made at an origin that is not allowed.";
  return isFramed(parsed.value) ? "The assertion was made in a cross-origin frame." : null;
}

/** Whether client data says that its page was inside one of another origin (Web Authentication Level 3, §5.8.1). */
export function isFramed({ crossOrigin, topOrigin }: JsonObject): boolean {
  return (crossOrigin !== undefined && crossOrigin !== false) || topOrigin !== undefined;
}

/** Performs §7.2 steps 15 to 19. */
function authenticatorFault(bytes: Uint8Array, allowed: PasskeyOrigins, sha256: Sha256): string | null {
  if (bytes.length < authenticatorDataLength) return "The authenticator data is too short.";
  const rpIdHash = bytes.subarray(0, 32);
  if (!allowed.rp_ids.some((id) => equalBytes(sha256(utf8(id)), rpIdHash)))
    return "The assertion is for another relying party.";
  const flags = bytes[32] ?? 0;
  if ((flags & userPresent) === 0) return "The assertion was made without user presence.";
  if ((flags & userVerified) === 0) return "The assertion was made without user verification.";
  if ((flags & backedUp) !== 0 && (flags & backupEligible) === 0)
    return "The backup flags contradict each other.";
  const hasMore = (flags & (attestedData | extensionData)) !== 0;
  if (hasMore !== bytes.length > authenticatorDataLength)
    return "The authenticator data does not have the length that its flags imply.";
  return null;
}

function invalid(detail: string): Verdict<never> {
  return refuse("signature_invalid", detail);
}

// The instants that bound a key's validity, and what they mean for something signed at a given time.

export interface KeyWindow {
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly revoked_at?: string | null;
  readonly compromised_from: string | null;
}

/**
 * Null when the key was valid at `at` (a timestamp). `by` is the instant by which the signature is known to have been
 * made, if that is earlier: the start of validity is judged by `at`, the end by `by`. From `compromised_from` on,
 * nothing is valid (`key_compromised`); before `valid_from`, and from `valid_until` or `revoked_at` on, the key is not
 * valid (`key_not_valid`).
 */
export function windowFault(
  key: KeyWindow,
  at: string,
  by = at,
): Refusal<"key_compromised" | "key_not_valid"> | null {
  // Timestamps have a fixed width, so comparing them as text orders them in time.
  if (key.compromised_from !== null && by >= key.compromised_from) {
    return refuse("key_compromised", `The key is compromised from ${key.compromised_from} on.`);
  }
  if (at < key.valid_from) return refuse("key_not_valid", `The key is valid from ${key.valid_from} on.`);
  const end = earliest(key.valid_until, key.revoked_at ?? null);
  return end !== null && by >= end ? refuse("key_not_valid", `The key was valid until ${end}.`) : null;
}

/** The earlier of two timestamps, where null means never. */
export function earliest(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
