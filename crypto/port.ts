// Ports: signing and fast verification. Private keys stay behind `Signer`; a key management service fits the same port.

import type { PublicJwk } from "../protocol/jwk.ts";
import type { PackedMessages } from "../protocol/packed-messages.ts";

export interface Signer {
  /** RFC 7638 thumbprint of the public half. */
  readonly keyId: string;
  readonly publicJwk: PublicJwk;
  /** Raw signature: Ed25519 and ML-DSA-65 over the message, ES256 as r‖s over its SHA-256. */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** Signs many messages, in order, with less overhead than one by one. They are read until the promise settles. */
  signMany(messages: PackedMessages): Promise<readonly Uint8Array[]>;
}

export interface CryptoPort {
  sha256(bytes: Uint8Array): Uint8Array;
  hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array;
  /** True only for a valid signature by an acceptable key: small-order Ed25519 keys never verify. */
  verify(jwk: PublicJwk, message: Uint8Array, signature: Uint8Array): boolean;
  randomBytes(length: number): Uint8Array;
}

/** The only source of time below node/. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
}
