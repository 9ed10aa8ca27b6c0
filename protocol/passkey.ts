// Passkey seals: a WebAuthn assertion (Web Authentication Level 3, §7.2) whose challenge is the hash of the sealed document,
// so that an assertion made for anything else, for example a sign-in, cannot serve as a seal.

import { isObject } from "../std/is-object.ts";
import { equalBytes, parseBase64, toBase64Url, utf8 } from "./bytes.ts";
import type { EnvelopeSignature } from "./dsse.ts";
import type { Sha256 } from "./hash.ts";
import type { PublicJwk } from "./jwk.ts";
import { ok, refuse, type Verdict } from "./result.ts";
import { derToRawP256, type SignatureVerifier } from "./signatures.ts";
import { parseStrictJson } from "./strict-json.ts";

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
  const { type, challenge: given, origin, crossOrigin, topOrigin } = parsed.value;
  if (type !== "webauthn.get") return "The assertion belongs to another ceremony.";
  if (given !== challenge) return "The assertion was made for another challenge.";
  if (typeof origin !== "string" || !allowed.origins.includes(origin))
    return "The assertion was made at an origin that is not allowed.";
  return (crossOrigin === undefined || crossOrigin === false) && topOrigin === undefined
    ? null
    : "The assertion was made in a cross-origin frame.";
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
