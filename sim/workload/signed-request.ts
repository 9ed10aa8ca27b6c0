// A signed request as a client would send it, and as an HTTP surface would pass it to the service.

import type { KeyFacts } from "../../actors/messages/business.ts";
import { utf8 } from "../../protocol/bytes.ts";
import {
  contentDigest,
  coveredComponents,
  type SignatureTag,
  serializeParams,
  signatureBase,
  signatureHeaders,
} from "../../protocol/http-signature.ts";
import type { RequestHead } from "../../service/authentication/authenticate.ts";
import type { SimCrypto, SimSigner } from "../crypto/sim-crypto.ts";

export const authority = "api.svc.test";

export type Route =
  | "publish"
  | "push"
  | "validate"
  | "cancel"
  | "upload"
  | "import"
  | "validate-import"
  | "search"
  | "fetch"
  | "withdraw"
  | "delete"
  | "catalogue"
  | "attempts";

export interface SimRequest {
  readonly route: Route;
  readonly head: RequestHead;
  readonly body: Uint8Array;
  readonly tag: SignatureTag;
  readonly role: KeyFacts["role"];
  readonly keyId: string;
  readonly nonce: string;
  readonly idempotencyKey: string | null;
  readonly contentDigest: string;
  /** Push or record that the path names, or the cursor of a list; empty for its first page. */
  readonly subject: string;
  /** The `client_query_id` in the body, if it has one. */
  readonly clientQueryId?: string | null;
}

export interface RequestParts {
  readonly route: Route;
  readonly signer: SimSigner;
  readonly role: KeyFacts["role"];
  readonly tag: SignatureTag;
  readonly path: string;
  readonly body: Uint8Array | null;
  readonly nonce: string;
  /** Unix seconds of the client's own clock. */
  readonly created: number;
  readonly lifetimeSeconds: number;
  readonly idempotencyKey: string | null;
  readonly subject: string;
}

export function signRequest(crypto: SimCrypto, given: RequestParts): SimRequest {
  const { body, nonce, created } = given;
  const digest = body === null ? null : contentDigest(body, crypto.sha256);
  const method = body === null ? "GET" : "POST";
  const parts = { method, authority, path: given.path, query: null, contentDigest: digest };
  const params = serializeParams(coveredComponents(parts), {
    created,
    nonce,
    tag: given.tag,
    expires: created + given.lifetimeSeconds,
    keyid: given.signer.keyId,
  });
  const headers = signatureHeaders(params, given.signer.signNow(utf8(signatureBase(parts, params))));
  return {
    route: given.route,
    role: given.role,
    tag: given.tag,
    keyId: given.signer.keyId,
    nonce,
    idempotencyKey: given.idempotencyKey,
    subject: given.subject,
    contentDigest: digest ?? "",
    body: body ?? new Uint8Array(),
    head: {
      method,
      host: authority,
      path: given.path,
      query: null,
      hasBody: body !== null,
      signatureInput: headers["signature-input"],
      signature: headers.signature,
      contentDigest: digest,
      authorization: null,
      sandboxKey: null,
    },
  };
}
