// Sandbox bearer tokens: `svc_sbxb1.<base64url of {expires_ms, key_id}>.<base64url signature>`, accepted in place of a
// signature for one hour after a key is registered, by the retrieval sandbox alone (specification, «Sandbox»). The grant
// key signs them, so no node stores them, and every node of the sandbox recognises them.

import type { CryptoPort, Signer } from "../crypto/port.ts";
import { parseBase64Url, toBase64Url, utf8 } from "../protocol/bytes.ts";
import { canonicalBytes } from "../protocol/canonical-json.ts";
import { isKeyId } from "../protocol/identifiers.ts";
import type { PublicJwk } from "../protocol/jwk.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";

export const bearerPrefix = "svc_sbxb1";
export const bearerLifeMs = 3_600_000;

/** The token that is returned once, with the registration of `keyId` at `nowMs`. */
export async function issueBearer(keyId: string, nowMs: number, signer: Signer): Promise<string> {
  const payload = canonicalBytes({ expires_ms: nowMs + bearerLifeMs, key_id: keyId });
  const data = `${bearerPrefix}.${toBase64Url(payload)}`;
  return `${data}.${toBase64Url(await signer.sign(utf8(data)))}`;
}

/** The key that an `Authorization` header stands for. */
export function parseBearer(
  authorization: string,
  trust: { readonly nowMs: number; readonly grantKey: PublicJwk; readonly crypto: CryptoPort },
): Result<{ readonly keyId: string; readonly expiresMs: number }, "signature_invalid" | "signature_expired"> {
  const token = /^Bearer ([\x21-\x7e]{1,1024})$/i.exec(authorization)?.[1] ?? "";
  const [prefix, data = "", signatureText = "", ...rest] = token.split(".");
  const payload = parseBase64Url(data);
  const signature = parseBase64Url(signatureText);
  const isGenuine =
    prefix === bearerPrefix &&
    rest.length === 0 &&
    signature !== null &&
    trust.crypto.verify(trust.grantKey, utf8(`${prefix}.${data}`), signature);
  const parsed = isGenuine && payload !== null ? parseStrictJson(payload) : null;
  if (!parsed?.ok) return refuse("signature_invalid", "The bearer token was not issued by this sandbox.");
  const { key_id: keyId, expires_ms: expiresMs } = parsed.value as { key_id?: unknown; expires_ms?: unknown };
  if (typeof keyId !== "string" || !isKeyId(keyId) || typeof expiresMs !== "number") {
    return refuse("signature_invalid", "The bearer token was not issued by this sandbox.");
  }
  return expiresMs > trust.nowMs
    ? ok({ keyId, expiresMs })
    : refuse("signature_expired", "The bearer token was valid for one hour; sign the request instead.");
}
