// Published keys of a business: every key that ever sealed for it, with the instants that bound it, so that an old
// seal is judged against the key as it was (specification, «Published keys of a business»). Nothing names a person.

import { parseBase64 } from "./bytes.ts";
import { coseKeyOf } from "./cose-key.ts";
import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import type { Sha256 } from "./hash.ts";
import { type PublicJwk, thumbprint } from "./jwk.ts";
import {
  closed,
  type Fault,
  hash,
  keyId,
  list,
  literal,
  malformed,
  matching,
  nullable,
  oneOf,
  optional,
  type PayloadFormat,
  parsePayload,
  publicJwk,
  timestamp,
  uuid,
} from "./payload.ts";
import type { Verdict } from "./result.ts";

export interface BusinessKey {
  readonly key_id: string;
  /** `sealing`: a person's passkey or a key held for the business; `integration`: a business system's key. */
  readonly purpose: "sealing" | "integration";
  readonly kind: "passkey" | "hosted" | "system";
  readonly public_key: PublicJwk;
  /** COSE_Key as registered, base64; on passkeys only. */
  readonly cose?: string;
  readonly valid_from: string;
  readonly valid_until: string | null;
  /** From here on the key seals nothing; what it sealed before stands. */
  readonly revoked_at: string | null;
  /** Nothing that the key sealed from this instant on stands; it may precede `revoked_at`. */
  readonly compromised_from: string | null;
}

export interface BusinessKeys {
  readonly v: 1;
  readonly uuid: string;
  /** The certificate in force when the list was issued. */
  readonly cert_id: string;
  readonly issued_at: string;
  readonly keys: readonly BusinessKey[];
}

const keysMax = 10_000;

const keyShape = closed<BusinessKey>({
  key_id: keyId,
  purpose: oneOf(["sealing", "integration"]),
  kind: oneOf(["passkey", "hosted", "system"]),
  public_key: publicJwk,
  cose: optional(matching((value) => parseBase64(value) !== null, "base64")),
  valid_from: timestamp,
  valid_until: nullable(timestamp),
  revoked_at: nullable(timestamp),
  compromised_from: nullable(timestamp),
});

const format: PayloadFormat<BusinessKeys> = {
  version: 1,
  versions: [1],
  shape: closed<BusinessKeys>({
    v: literal(1),
    uuid,
    cert_id: hash,
    issued_at: timestamp,
    keys: list(keyShape, { min: 0, max: keysMax }),
  }),
};

/** Reads the payload of a business's published keys. */
export function parseBusinessKeys(payload: Uint8Array, sha256?: Sha256): Verdict<BusinessKeys> {
  const parsed = parsePayload(payload, format);
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

/** Opens a business-keys envelope. Reads only: the signature is not judged. */
export function openBusinessKeys(envelope: Envelope, sha256?: Sha256): Verdict<BusinessKeys> {
  const payload = openEnvelope(envelope, payloadTypes["business-keys.v1"]);
  return payload.ok ? parseBusinessKeys(payload.value, sha256) : payload;
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
  if (key.cose !== undefined && key.cose !== coseKeyOf(key.public_key)?.toBase64()) {
    return malformed("The COSE key differs from the JWK.", `${pointer}/cose`);
  }
  return null;
}
