// Proof of possession: a key signs the fact that it is to be registered, for whom and in what role, so that nobody can
// register somebody else's key. The challenge is chosen for this registration, so a proof made for another one is worthless.

import { canonicalBytes } from "./canonical-json.ts";
import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import { type PayloadFormat, parsePayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import { closed, keyId, literal, matching, oneOf, uuid } from "./shape.ts";

export interface KeyPossession {
  readonly v: 1;
  readonly party_uuid: string;
  readonly key_id: string;
  readonly role: "integration" | "retrieval" | "sealing";
  /** Random value for this registration: 22 to 128 characters of base64url. */
  readonly challenge: string;
}

export const keyPossessionFormat: PayloadFormat<KeyPossession> = {
  version: 1,
  versions: [1],
  shape: closed<KeyPossession>({
    v: literal(1),
    party_uuid: uuid,
    key_id: keyId,
    role: oneOf(["integration", "retrieval", "sealing"]),
    challenge: matching(/^[A-Za-z0-9_-]{22,128}$/, "22 to 128 characters of base64url"),
  }),
};

/** Opens a proof. It only reads: the signature is not verified. */
export function openKeyPossession(envelope: Envelope): Verdict<KeyPossession> {
  const payload = openEnvelope(envelope, payloadTypes["key-possession.v1"]);
  return payload.ok ? parsePayload(payload.value, keyPossessionFormat) : payload;
}

/** The payload bytes to sign. */
export function keyPossessionPayload(possession: KeyPossession): Uint8Array {
  return canonicalBytes({ ...possession });
}
