// Keys of a simulated world. A signature is a hash over the key's secret and the message: every holder of the port can
// verify one, and nobody without the `Signer` can produce one, which is all that the code under test may rely on.

import type { CryptoPort, Signer } from "../../crypto/port.ts";
import { toBase64Url } from "../../protocol/bytes.ts";
import { type PublicJwk, parseEd25519Point, thumbprint } from "../../protocol/jwk.ts";
import { unpackMessages } from "../../protocol/packed-messages.ts";
import type { Random } from "../kernel/random.ts";
import { fastHash } from "./fast-hash.ts";

/** The same algorithm as everywhere in this service: Ed25519. */
type Ed25519Jwk = Extract<PublicJwk, { readonly kty: "OKP" }>;

/** A signer that can also sign synchronously, for use within the simulator. */
export interface SimSigner extends Signer {
  readonly publicJwk: Ed25519Jwk;
  signNow(message: Uint8Array): Uint8Array;
}

export interface SimCrypto extends CryptoPort {
  newSigner(): SimSigner;
}

/** `keys` generates the key pairs, `chance` is the randomness of the code under test. */
export function createSimCrypto(random: { readonly keys: Random; readonly chance: Random }): SimCrypto {
  const secrets = new Map<string, number>();
  return {
    sha256: (bytes) => fastHash(bytes),
    hmacSha256: (key, bytes) => fastHash(bytes, wordOf(fastHash(key, 0x36363636))),
    verify: (jwk, message, signature) => {
      const secret = jwk.kty === "OKP" ? secrets.get(jwk.x) : undefined;
      return secret !== undefined && isSame(signature, sign(secret, message));
    },
    randomBytes: (length) => random.chance.bytes(length),
    newSigner: () => {
      const secret = random.keys.next();
      const publicJwk: Ed25519Jwk = {
        kty: "OKP",
        crv: "Ed25519",
        x: toBase64Url(pointFrom(random.keys.bytes(32))),
      };
      secrets.set(publicJwk.x, secret);
      return signerOf(publicJwk, secret);
    },
  };
}

/** Bytes that parse as a public key, as a register requires. It takes one draw, however many candidates do not parse. */
function pointFrom(bytes: Uint8Array): Uint8Array {
  let point = bytes;
  while (parseEd25519Point(point) === null) point = fastHash(point);
  return point;
}

function signerOf(publicJwk: Ed25519Jwk, secret: number): SimSigner {
  return {
    keyId: thumbprint(publicJwk, (bytes) => fastHash(bytes)),
    publicJwk,
    signNow: (message) => sign(secret, message),
    sign: (message) => Promise.resolve(sign(secret, message)),
    signMany: (messages) => Promise.resolve(unpackMessages(messages).map((message) => sign(secret, message))),
  };
}

function sign(secret: number, message: Uint8Array): Uint8Array {
  const signature = new Uint8Array(64);
  const hash = fastHash(message, secret);
  signature.set(hash);
  signature.set(fastHash(hash, secret ^ 0x5c5c5c5c), 32);
  return signature;
}

function wordOf(hash: Uint8Array): number {
  return new DataView(hash.buffer).getUint32(0);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
