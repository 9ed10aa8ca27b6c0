// Keys of a simulated world. A signature is a hash over the key's secret and the message: every holder of the port can
// verify one, and nobody without the `Signer` can produce one, which is all that the code under test may rely on.

import type { CryptoPort, Signer } from "../../crypto/port.ts";
import { equalBytes, toBase64Url } from "../../protocol/bytes.ts";
import { parseEd25519Point } from "../../protocol/keys/ed25519-point.ts";
import { type PublicJwk, thumbprint } from "../../protocol/keys/jwk.ts";
import { unpackMessages } from "../../protocol/signed-version.ts";
import type { Random } from "../kernel/random.ts";

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
    hmacSha256: (key, bytes) => fastHash(bytes, new DataView(fastHash(key, 0x36363636).buffer).getUint32(0)),
    verify: (jwk, message, signature) => {
      const secret = jwk.kty === "OKP" ? secrets.get(jwk.x) : undefined;
      return secret !== undefined && equalBytes(signature, sign(secret, message));
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

// A hash for worlds: 32 bytes in a microsecond, the same everywhere. It replaces SHA-256 where all that counts is «equal
// bytes give equal hashes, others do not»; nobody in a simulated world searches for collisions.

const lanes = 4;
const multipliers = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f] as const;

/** Two rounds of four 32-bit lanes over the bytes, in whole words. */
function fastHash(bytes: Uint8Array, salt = 0): Uint8Array {
  let a = (0x243f6a88 ^ salt) >>> 0;
  let b = 0x85a308d3;
  let c = 0x13198a2e;
  let d = 0x03707344;
  const whole = bytes.length & ~3;
  for (let at = 0; at < whole; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    a = b ^ Math.imul(a ^ word, multipliers[0]);
    b = c ^ Math.imul(b ^ word, multipliers[1]);
    c = d ^ Math.imul(c ^ word, multipliers[2]);
    d = a ^ Math.imul(d ^ word, multipliers[3]);
    a ^= a >>> 15;
    c ^= c >>> 13;
  }
  let rest = bytes.length << 8;
  for (let at = whole; at < bytes.length; at += 1) rest = Math.imul(rest ^ (bytes[at] as number), 0x01000193);
  return finish([a ^ rest, b ^ bytes.length, c ^ rest, d ^ bytes.length]);
}

function finish(state: number[]): Uint8Array {
  const hash = new Uint8Array(32);
  for (let word = 0; word < 8; word += 1) {
    for (let lane = 0; lane < lanes; lane += 1) {
      const next = state[(lane + 1) % lanes] as number;
      const mixed = Math.imul((state[lane] as number) ^ (next >>> 16), multipliers[lane] as number) + next;
      state[lane] = (mixed ^ (mixed >>> 13)) | 0;
    }
    const value = (state[0] as number) ^ (state[2] as number);
    hash[4 * word] = value;
    hash[4 * word + 1] = value >>> 8;
    hash[4 * word + 2] = value >>> 16;
    hash[4 * word + 3] = value >>> 24;
  }
  return hash;
}
