// Test support: keys that sign with node:crypto, so that the portable verifier is tested against independent code.

import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { toBase64Url, utf8 } from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, type RawSignature } from "../protocol/dsse.ts";
import type { Sha256 } from "../protocol/hash.ts";
import {
  algorithmOf,
  type KeyAlgorithm,
  type PublicJwk,
  parsePublicJwk,
  thumbprint,
} from "../protocol/jwk.ts";

export const nativeSha256: Sha256 = (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest());

export interface TestKey {
  readonly keyId: string;
  readonly alg: KeyAlgorithm;
  readonly jwk: PublicJwk;
  readonly privateKey: KeyObject;
}

export function makeKey(alg: KeyAlgorithm): TestKey {
  const { publicKey, privateKey } = pairOf(alg);
  const parsed = parsePublicJwk(publicKey.export({ format: "jwk" }));
  if (!parsed.ok) throw new Error(parsed.detail);
  return { keyId: thumbprint(parsed.value), alg: algorithmOf(parsed.value), jwk: parsed.value, privateKey };
}

function pairOf(alg: KeyAlgorithm): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  if (alg === "Ed25519") return generateKeyPairSync("ed25519");
  if (alg === "ES256") return generateKeyPairSync("ec", { namedCurve: "P-256" });
  return generateKeyPairSync("ml-dsa-65");
}

/** A raw signature: r‖s for P-256. */
export function signBytes(key: TestKey, message: Uint8Array): Uint8Array {
  const algorithm = key.alg === "ES256" ? "sha256" : null;
  return new Uint8Array(sign(algorithm, message, { key: key.privateKey, dsaEncoding: "ieee-p1363" }));
}

/** An envelope over payload bytes, signed by each key in order. */
export function seal(payloadType: string, payload: Uint8Array, ...keys: readonly TestKey[]): Envelope {
  const message = pae(payloadType, payload);
  return makeEnvelope(
    payloadType,
    payload,
    keys.map((key) => ({ keyid: key.keyId, sig: signBytes(key, message) })),
  );
}

export const testOrigin = "https://portal.test";
export const testRpId = "portal.test";

/** What an authenticator and a browser reported; each part can be overridden. */
export interface AssertionParts {
  readonly origin?: string;
  readonly rpId?: string;
  readonly flags?: number;
  readonly type?: string;
  /** The message whose hash is the challenge, if it is not the one being sealed. */
  readonly challengeOf?: Uint8Array;
  readonly crossOrigin?: boolean;
  readonly extraBytes?: number;
}

/** An envelope sealed by a passkey. */
export function sealWithPasskey(
  payloadType: string,
  payload: Uint8Array,
  key: TestKey,
  parts: AssertionParts = {},
): Envelope {
  return makeEnvelope(payloadType, payload, [assertion(pae(payloadType, payload), key, parts)]);
}

const presentAndVerified = 0x05;

export function assertion(message: Uint8Array, key: TestKey, parts: AssertionParts = {}): RawSignature {
  const clientDataJSON = utf8(
    JSON.stringify({
      type: parts.type ?? "webauthn.get",
      challenge: toBase64Url(nativeSha256(parts.challengeOf ?? message)),
      origin: parts.origin ?? testOrigin,
      crossOrigin: parts.crossOrigin ?? false,
    }),
  );
  const authenticatorData = new Uint8Array(37 + (parts.extraBytes ?? 0));
  authenticatorData.set(nativeSha256(utf8(parts.rpId ?? testRpId)));
  authenticatorData[32] = parts.flags ?? presentAndVerified;
  const signed = new Uint8Array([...authenticatorData, ...nativeSha256(clientDataJSON)]);
  // WebAuthn signatures made with P-256 keys are DER (Web Authentication Level 3, §6.5.5).
  const sig =
    key.alg === "ES256" ? new Uint8Array(sign("sha256", signed, key.privateKey)) : signBytes(key, signed);
  return { keyid: key.keyId, sig, authenticatorData, clientDataJSON };
}
