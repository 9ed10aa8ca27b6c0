// The published keys of a business: every key that has ever sealed for it, with the instants that bound it, so that an old
// seal is judged against the key as it was (specification, «Published keys of a business»). Nothing in it identifies a
// person.

import { parseBase64, type Sha256, toBase64 } from "../bytes.ts";
import {
  type Envelope,
  type Fault,
  malformed,
  openEnvelope,
  parsePayload,
  payloadTypes,
  soleFormat,
} from "../dsse.ts";
import type { Verdict } from "../reason-codes.ts";
import {
  described,
  hash,
  keyId,
  list,
  literal,
  matching,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  publicJwk,
  timestamp,
  uuid,
} from "../shape.ts";
import { coseKeyOf, thumbprint } from "./jwk.ts";

const keysMax = 10_000;

const purpose = described(
  oneOf(["sealing", "integration"]),
  "`sealing`: a person's passkey or a key held for the business; `integration`: a business system's key.",
);

export const businessKeyShape = object({
  key_id: keyId,
  purpose,
  kind: oneOf(["passkey", "hosted", "system"]),
  public_key: publicJwk,
  cose: optional(
    matching((value) => parseBase64(value) !== null, "base64", {
      contentEncoding: "base64",
      description: "COSE_Key as registered; on passkeys only.",
    }),
  ),
  valid_from: timestamp,
  valid_until: nullable(timestamp),
  revoked_at: described(
    nullable(timestamp),
    "From here on the key seals nothing; what it sealed before stands.",
  ),
  compromised_from: described(
    nullable(timestamp),
    "Nothing that the key sealed from this instant on stands; it may precede `revoked_at`.",
  ),
});
export type BusinessKey = Of<typeof businessKeyShape>;

export const businessKeysShape = object({
  v: literal(1),
  uuid,
  cert_id: described(hash, "The certificate in force when the list was issued."),
  issued_at: timestamp,
  keys: list(businessKeyShape, { min: 0, max: keysMax }),
});
export type BusinessKeys = Of<typeof businessKeysShape>;

export const businessKeysFormat = soleFormat(businessKeysShape);

/** Reads the payload of a business's published keys. */
export function parseBusinessKeys(payload: Uint8Array, sha256?: Sha256): Verdict<BusinessKeys> {
  const parsed = parsePayload(payload, businessKeysFormat);
  if (!parsed.ok) return parsed;
  const seen = new Set<string>();
  for (const [index, key] of parsed.value.keys.entries()) {
    const fault = keyFault(key, `/keys/${index}`, sha256);
    if (fault !== null) return fault;
    if (seen.has(key.key_id)) return malformed("A key is listed twice.", `/keys/${index}`);
    seen.add(key.key_id);
  }
  return parsed;
}

/** Opens a business-keys envelope. It only reads: the signature is not verified. */
export function openBusinessKeys(envelope: Envelope, sha256?: Sha256): Verdict<BusinessKeys> {
  const payload = openEnvelope(envelope, payloadTypes["business-keys.v1"]);
  return payload.ok ? parseBusinessKeys(payload.value, sha256) : payload;
}

/** The COSE key that belongs to a JWK, as base64; null when there is none. */
function coseTextOf(jwk: BusinessKey["public_key"]): string | null {
  const cose = coseKeyOf(jwk);
  return cose === null ? null : toBase64(cose);
}

function keyFault(key: BusinessKey, pointer: string, sha256?: Sha256): Fault | null {
  if ((key.kind === "system") !== (key.purpose === "integration")) {
    return malformed("A system's key is for integration, every other key for sealing.", `${pointer}/kind`);
  }
  if (thumbprint(key.public_key, sha256) !== key.key_id) {
    return malformed("The key id is not the thumbprint of the key.", `${pointer}/key_id`);
  }
  if ((key.cose !== undefined) !== (key.kind === "passkey")) {
    return malformed("A passkey has a COSE key, and no other key has one.", `${pointer}/cose`);
  }
  if (key.cose !== undefined && key.cose !== coseTextOf(key.public_key)) {
    return malformed("The COSE key differs from the JWK.", `${pointer}/cose`);
  }
  return null;
}
