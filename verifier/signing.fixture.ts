// Test support: keys that sign with node:crypto, so that the portable verifier is tested against independent code; and, for what has
// to come out the same each time, keys that follow from a seed and whose signatures follow from the message.

import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { type Sha256, toBase64Url, utf8 } from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, type RawSignature } from "../protocol/dsse.ts";
import {
  algorithmOf,
  type KeyAlgorithm,
  type PublicJwk,
  parsePublicJwk,
  thumbprint,
} from "../protocol/keys/jwk.ts";

export const nativeSha256: Sha256 = (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest());

export interface TestKey {
  readonly keyId: string;
  readonly alg: KeyAlgorithm;
  readonly jwk: PublicJwk;
  /** A raw signature; of a P-256 key r‖s, or DER. */
  readonly sign: (message: Uint8Array, encoding: "ieee-p1363" | "der") => Uint8Array;
}

/** Gives the next seed of 32 bytes; null where keys are random. */
let nextSeed: (() => Uint8Array) | null = null;

/** What `make` returns, with every key that it makes following from `seed` and the order in which it makes them. */
export function withSeed<T>(seed: string, make: () => T): T {
  const before = nextSeed;
  let count = 0;
  nextSeed = () => nativeSha256(utf8(`${seed}/${count++}`));
  try {
    return make();
  } finally {
    nextSeed = before;
  }
}

export function makeKey(alg: KeyAlgorithm): TestKey {
  if (nextSeed !== null) return seededKey(alg, nextSeed());
  const { publicKey, privateKey } = pairOf(alg);
  const algorithm = alg === "ES256" ? "sha256" : null;
  return testKey(
    publicKey.export({ format: "jwk" }),
    (message, dsaEncoding) => new Uint8Array(sign(algorithm, message, { key: privateKey, dsaEncoding })),
  );
}

function testKey(exported: unknown, sign: TestKey["sign"]): TestKey {
  const parsed = parsePublicJwk(JSON.parse(JSON.stringify(exported)));
  if (!parsed.ok) throw new Error(parsed.detail);
  return { keyId: thumbprint(parsed.value), alg: algorithmOf(parsed.value), jwk: parsed.value, sign };
}

function seededKey(alg: KeyAlgorithm, seed: Uint8Array): TestKey {
  if (alg === "Ed25519") {
    const x = toBase64Url(ed25519.getPublicKey(seed));
    return testKey({ kty: "OKP", crv: "Ed25519", x }, (message) => ed25519.sign(message, seed));
  }
  if (alg === "ES256") {
    const point = p256.getPublicKey(seed, false);
    const jwk = {
      kty: "EC",
      crv: "P-256",
      x: toBase64Url(point.slice(1, 33)),
      y: toBase64Url(point.slice(33)),
    };
    return testKey(jwk, (message, encoding) => {
      const raw = p256.sign(message, seed);
      return encoding === "der" ? p256.Signature.fromBytes(raw).toBytes("der") : raw;
    });
  }
  const { publicKey, secretKey } = ml_dsa65.keygen(seed);
  return testKey({ kty: "AKP", alg: "ML-DSA-65", pub: toBase64Url(publicKey) }, (message) =>
    ml_dsa65.sign(message, secretKey, { extraEntropy: false }),
  );
}

function pairOf(alg: KeyAlgorithm): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  if (alg === "Ed25519") return generateKeyPairSync("ed25519");
  if (alg === "ES256") return generateKeyPairSync("ec", { namedCurve: "P-256" });
  return generateKeyPairSync("ml-dsa-65");
}

/** A raw signature: r‖s for P-256. */
export function signBytes(key: TestKey, message: Uint8Array): Uint8Array {
  return key.sign(message, "ieee-p1363");
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
  /** Of any type; absent where it is `undefined`. */
  readonly crossOrigin?: unknown;
  readonly topOrigin?: string;
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
      crossOrigin: "crossOrigin" in parts ? parts.crossOrigin : false,
      topOrigin: parts.topOrigin,
    }),
  );
  const authenticatorData = new Uint8Array(37 + (parts.extraBytes ?? 0));
  authenticatorData.set(nativeSha256(utf8(parts.rpId ?? testRpId)));
  authenticatorData[32] = parts.flags ?? presentAndVerified;
  const signed = new Uint8Array([...authenticatorData, ...nativeSha256(clientDataJSON)]);
  // WebAuthn signatures made with P-256 keys are DER (Web Authentication Level 3, §6.5.5).
  const sig = key.sign(signed, key.alg === "ES256" ? "der" : "ieee-p1363");
  return { keyid: key.keyId, sig, authenticatorData, clientDataJSON };
}
