// Sandbox grants: `svc_sbxk1.<base64url of canonical JSON>.<base64url signature>`. A grant says which party a key
// belongs to and what it is for; it contains no secret, and the sandbox's grant key vouches for it (specification,
// «Sandbox»).
// Also the sandbox's bearer tokens.

import type { KeyFacts, PartyFacts } from "../../actors/messages/business.ts";
import type { CryptoPort, Signer } from "../../crypto/port.ts";
import { parseBase64Url, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { type PayloadOf, parsePayload, soleFormat } from "../../protocol/dsse.ts";
import { isKeyId } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { algorithmOf, type PublicJwk, thumbprint } from "../../protocol/keys/jwk.ts";
import { grantLengthMax } from "../../protocol/limits.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import {
  country,
  literal,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  publicJwk,
  text,
  uuid,
} from "../../protocol/shape.ts";

export const grantPrefix = "svc_sbxk1";

const format = soleFormat(
  object({
    v: literal(1),
    environment: literal("sandbox"),
    party: object({ uuid, kind: oneOf(["business", "ai_company"]), legal_name: text(256), country }),
    /** `integration` keys belong to a business, `retrieval` keys to an AI company. */
    role: oneOf(["integration", "retrieval"]),
    public_key: publicJwk,
    /** The mandate under which an integration key publishes, if it was sealed beforehand. */
    mandate_id: nullable(matching(/^[\x21-\x7e]{1,128}$/, "a mandate id")),
    /** The passkey of the owner of a new business, registered together with the integration key. */
    owner: optional(object({ public_key: publicJwk })),
  }),
);
export type SandboxGrant = PayloadOf<typeof format>;

/** The outcome of registering a granted key. `isNew` is set for the one registration that made the key known. */
export type GrantRegistration =
  | {
      readonly status: "registered";
      readonly key: KeyFacts;
      readonly party: PartyFacts;
      readonly isNew: boolean;
    }
  | { readonly status: "refused"; readonly detail: string };

/** Opens the party if it is not known, registers the key and, for an integration key, its sandbox mandate; idempotent. */
export type RegisterGrantedKey = (grant: SandboxGrant, keyId: string) => Promise<GrantRegistration>;

/** The header value that registers a key on its first signed request. */
export async function issueGrant(grant: SandboxGrant, signer: Signer): Promise<string> {
  const data = `${grantPrefix}.${toBase64Url(canonicalBytes(grant))}`;
  return `${data}.${toBase64Url(await signer.sign(utf8(data)))}`;
}

interface GrantTrust {
  readonly grantKey: PublicJwk;
  readonly crypto: CryptoPort;
}

/**
 * Parses a grant and checks its signature; `grant_invalid` for one that the grant key did not sign or that is not for
 * `keyId`.
 */
export function parseGrant(
  value: string,
  trust: GrantTrust & { readonly keyId: string },
): Result<SandboxGrant, "grant_invalid"> {
  const opened = openGrant(value, trust);
  if (opened.ok && opened.value.keyId !== trust.keyId) return invalid("The grant is for another key.");
  return opened.ok ? ok(opened.value.grant) : opened;
}

/** Like {@link parseGrant}, for whichever key the grant is for. */
export function openGrant(
  value: string,
  trust: GrantTrust,
): Result<{ readonly grant: SandboxGrant; readonly keyId: string }, "grant_invalid"> {
  const [prefix, data = "", signatureText = "", ...rest] =
    value.length <= grantLengthMax ? value.split(".") : [];
  const payload = parseBase64Url(data);
  const signature = parseBase64Url(signatureText);
  if (prefix !== grantPrefix || rest.length > 0 || payload === null || signature === null) {
    return invalid(`A grant must have the form ${grantPrefix}.<data>.<signature>.`);
  }
  if (!trust.crypto.verify(trust.grantKey, utf8(`${prefix}.${data}`), signature)) {
    return invalid("The grant was not signed by this sandbox.");
  }
  const parsed = parsePayload(payload, format);
  if (!parsed.ok) return invalid(parsed.detail);
  const grant = parsed.value;
  if (grant.role === "integration" ? grant.party.kind !== "business" : grant.party.kind !== "ai_company") {
    return invalid("An integration key belongs to a business, and a retrieval key to an AI company.");
  }
  if (algorithmOf(grant.public_key) === "ML-DSA-65")
    return invalid("Requests must be signed with Ed25519 or ES256.");
  return ok({ grant, keyId: thumbprint(grant.public_key, trust.crypto.sha256) });
}

function invalid(detail: string): Result<never, "grant_invalid"> {
  return refuse("grant_invalid", detail);
}

// Sandbox bearer tokens: `svc_sbxb1.<base64url of {expires_ms, key_id}>.<base64url signature>`, accepted in place of a
// signature for one hour after a key is registered, by the retrieval sandbox alone (specification, «Sandbox»). The grant
// key signs them, so no node stores them, and every node of the sandbox recognises them.

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
