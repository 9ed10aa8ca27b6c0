// Signs one request (RFC 9421; specification, «Authentication»). Pure except for the key's own signature.

import { utf8 } from "../protocol/bytes.ts";
import { contentDigest } from "../protocol/content-digest.ts";
import { hashOf } from "../protocol/hash.ts";
import {
  coveredComponents,
  type SignatureTag,
  type SignedRequestParts,
  serializeParams,
  signatureBase,
  signatureHeaders,
} from "../protocol/http-signature.ts";
import type { SigningKey } from "./signing-key.ts";

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
