// Ports: signing and fast verification. Private keys stay behind `Signer`; a key management service fits the same port.

import type { Envelope } from "../protocol/dsse.ts";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import type { Result } from "../protocol/result.ts";
import type { PackedMessages } from "../protocol/signed-version.ts";
import { Unavailable } from "../std/unavailable.ts";

export interface Signer {
  /** RFC 7638 thumbprint of the public key. */
  readonly keyId: string;
  readonly publicJwk: PublicJwk;
  /** The raw signature: Ed25519 and ML-DSA-65 over the message, ES256 as r‖s over its SHA-256. */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** Signs many messages, in order, with less overhead than one by one. The messages are read until the promise settles. */
  signMany(messages: PackedMessages): Promise<readonly Uint8Array[]>;
}

/**
 * The working key of one use for a document that names the instant `at` (a timestamp): the newest key that is valid at that
 * instant, because that is when verifiers judge it. Call it once per document, because a moment later the answer may be
 * another key. Throws {@link SigningUnavailable}.
 */
export type SignerAt = (at: string) => Signer;

/** What the service attests about others, signed by both halves of the issuance key, wherever they are kept. */
export interface Issuance {
  /**
   * Issues the signed envelope of a certificate or a custody statement; `issuance_refused` for anything else. Throws {@link
   * SigningUnavailable} while signing is not possible; the call may then be retried.
   */
  issue(payloadType: string, payload: Uint8Array): Promise<Result<Envelope, "issuance_refused">>;
}

/** A key that the service holds for a business; after the end of one, the business may have the next. */
export interface HostedKeyName {
  readonly business_uuid: string;
  /** 0 for the first. */
  readonly generation: number;
}

/** The last generation: a business that ended so many keys has no further one. */
export const hostedGenerationsMax = 99;

/** The keys that the service holds for businesses, wherever they are kept; each throws {@link SigningUnavailable}. */
export interface HostedKeys {
  publicKey(of: HostedKeyName): Promise<PublicJwk>;
  /**
   * Seals a payload of `seal.v2` that names this key; the same payload gets the same seal. `issuance_refused` for what a hosted key does
   * not seal. `confirmation` says by which act in a person's journal it was asked for.
   */
  seal(
    of: HostedKeyName,
    asked: { readonly payload: Uint8Array; readonly confirmation: string },
  ): Promise<Result<Envelope, "issuance_refused">>;
}

/** The key that could not sign: a working key of this node, the issuance key, or the key that is held for a business. */
export type SigningReason = "signing_key" | "issuance" | "hosted_key";

/** Nothing was signed; a later attempt may succeed. */
export type SigningUnavailable = Unavailable<SigningReason>;

export function signingUnavailable(
  reason: SigningReason,
  detail: string,
  retryAfterSeconds = 60,
): SigningUnavailable {
  return new Unavailable(detail, { reason, effect: "not_applied", retryAfterSeconds });
}

export interface CryptoPort {
  sha256(bytes: Uint8Array): Uint8Array;
  hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array;
  /** True only for a valid signature by an acceptable key: small-order Ed25519 keys never verify. */
  verify(jwk: PublicJwk, message: Uint8Array, signature: Uint8Array): boolean;
  randomBytes(length: number): Uint8Array;
}

/** Encrypts bytes with a key of 32 bytes. What is sealed opens only with that key, and with the words that it was bound to. */
export interface SecretBox {
  /** With the SHA-256 of the bytes. */
  seal(
    key: Uint8Array,
    bytes: Uint8Array,
    boundTo: string,
  ): Promise<{ readonly sealed: Uint8Array; readonly sha256: Uint8Array }>;
  /** Null for what does not open. */
  open(key: Uint8Array, sealed: Uint8Array, boundTo: string): Promise<Uint8Array | null>;
}

/**
 * Judges a signature as `verify` of {@link CryptoPort} does, at once or later: those of many requests are judged together, in turns
 * that go round their owners.
 */
export type SignatureJudge = (
  owner: string,
  ...signature: Parameters<CryptoPort["verify"]>
) => boolean | Promise<boolean>;

/** The only source of time below node/. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
}

export interface TimerPort {
  /** Calls `run` once, `delayMs` from now or a little later; the returned function cancels it. */
  schedule(delayMs: number, run: () => void): () => void;
}

/** What the process gives to all that it runs. */
export interface Platform {
  readonly clock: Clock;
  readonly crypto: CryptoPort;
  readonly timers: TimerPort;
}
