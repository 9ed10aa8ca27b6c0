// Signs one request (RFC 9421; specification, «Authentication»). Pure except for the key's own signature.

import { hashOf, toBase64Url, utf8 } from "../protocol/bytes.ts";
import {
  contentDigest,
  coveredComponents,
  type SignatureTag,
  type SignedRequestParts,
  serializeParams,
  signatureBase,
  signatureHeaders,
} from "../protocol/http-signature.ts";
import { parseSigningKey, type SigningKey } from "./signing-key.ts";

/** Default lifetime of a signature; the service accepts 1 to 300 seconds. */
export const signatureLifetimeSeconds = 60;

export interface RequestToSign {
  readonly method: string;
  /** Must be absolute; the host is signed, so that no other deployment accepts the request. */
  readonly url: URL;
  /** Exact bytes of the body; null if there is none. */
  readonly body: Uint8Array | null;
  readonly key: Pick<SigningKey, "keyId" | "sign">;
  readonly tag: SignatureTag;
  /** Unix seconds. */
  readonly created: number;
  /** Between 1 and 300. */
  readonly lifetimeSeconds?: number;
  /** Must be fresh for every attempt: 16 to 128 printable characters. */
  readonly nonce: string;
}

export interface SignedRequest {
  /** `signature-input`, `signature` and, if there is a body, `content-digest`. */
  readonly headers: Readonly<Record<string, string>>;
  /** `sha256:<hex>` of the signature base; equal to the receipt's `request_hash`. */
  readonly requestHash: string;
}

/**
 * Signs one attempt of a request (RFC 9421, with the digest of RFC 9530 for a body). Rejects where the key cannot sign.
 */
export async function signRequest(request: RequestToSign): Promise<SignedRequest> {
  const { url, body, key, created } = request;
  const parts: SignedRequestParts = {
    method: request.method,
    authority: url.host,
    path: url.pathname,
    query: url.search === "" ? null : url.search,
    contentDigest: body === null ? null : contentDigest(body),
  };
  const params = serializeParams(coveredComponents(parts), {
    created,
    expires: created + (request.lifetimeSeconds ?? signatureLifetimeSeconds),
    nonce: request.nonce,
    keyid: key.keyId,
    tag: request.tag,
  });
  const base = utf8(signatureBase(parts, params));
  const signature = await key.sign(base);
  return {
    headers: {
      ...(parts.contentDigest === null ? {} : { "content-digest": parts.contentDigest }),
      ...signatureHeaders(params, signature),
    },
    requestHash: hashOf(base),
  };
}

// Signs requests for programs that send them with an HTTP client of their own.

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

/**
 * Signs requests for programs that send them with an HTTP client of their own: each call takes the current time and a fresh
 * nonce of 32 random bytes. Throws TypeError for an address that is not absolute.
 */
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

/**
 * The key of a private JWK (Ed25519 or P-256; RFC 7517), without which nothing is signed. Rejects with TypeError, which
 * says what is wrong.
 */
export async function importSigningKey(privateJwk: unknown): Promise<SigningKey> {
  const key = await parseSigningKey(privateJwk);
  if (!key.ok) throw new TypeError(key.detail);
  return key.value;
}
