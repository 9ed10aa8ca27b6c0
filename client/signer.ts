// Signs requests for programs that send them with an HTTP client of their own.

import { toBase64Url } from "../protocol/bytes.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import { type SignedRequest, signRequest } from "./sign-request.ts";
import { parseSigningKey, type SigningKey } from "./signing-key.ts";

export interface SignerOptions {
  readonly key: SigningKey;
  /** Unix milliseconds. */
  readonly now?: () => number;
  /** Between 1 and 300; the default is 60. */
  readonly lifetimeSeconds?: number;
}

export interface RequestParts {
  readonly method: string;
  /** Absolute, as it will be requested. */
  readonly url: string;
  /** The exact bytes of the body. */
  readonly body?: Uint8Array | null;
  readonly tag: SignatureTag;
}

/** Every call gives one attempt its headers: a signature is accepted once. */
export type Signer = (request: RequestParts) => Promise<SignedRequest>;

export function createSigner({ key, now = Date.now, lifetimeSeconds }: SignerOptions): Signer {
  return ({ method, url, body = null, tag }) =>
    signRequest({
      method,
      url: new URL(url),
      body,
      key,
      tag,
      created: Math.floor(now() / 1000),
      nonce: toBase64Url(crypto.getRandomValues(new Uint8Array(32))),
      ...(lifetimeSeconds === undefined ? {} : { lifetimeSeconds }),
    });
}

/** The key of a private JWK (Ed25519 or P-256). Rejects with TypeError. */
export async function importSigningKey(privateJwk: unknown): Promise<SigningKey> {
  const key = await parseSigningKey(privateJwk);
  if (!key.ok) throw new TypeError(key.detail);
  return key.value;
}
