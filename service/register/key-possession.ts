// Whether the caller who wants a key registered has its private half: the key itself must sign the party, the role and
// the challenge of the registration (protocol/keys/key-directory.ts).

import type { CryptoPort } from "../../crypto/port.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { type Envelope, pae } from "../../protocol/dsse.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import { openKeyPossession } from "../../protocol/keys/key-directory.ts";
import { type PasskeyOrigins, verifyPasskey } from "../../protocol/keys/signatures.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import { ok, refuse } from "../../protocol/result.ts";

interface PossessedKey {
  readonly key_id: string;
  readonly party_uuid: string;
  readonly role: string;
  readonly public_key: PublicJwk;
}

export interface PossessionRequest<K extends PossessedKey = PossessedKey> {
  readonly key: K;
  /** The challenge that this caller was given for this registration, and nobody before. */
  readonly challenge: string;
  readonly proof: Envelope;
}

/** A passkey proves it by an assertion with user verification, any other key by a plain signature. */
export function verifyPossession(
  deps: { readonly crypto: Pick<CryptoPort, "verify" | "sha256">; readonly passkeys: PasskeyOrigins },
  { key, challenge, proof }: PossessionRequest,
): Verdict<void> {
  const opened = openKeyPossession(proof);
  if (!opened.ok) return opened;
  const said = opened.value;
  const [signature, ...more] = proof.signatures;
  if (signature === undefined || more.length > 0)
    return refuse("envelope_malformed", "A proof of possession must carry exactly one signature.");
  if (
    said.party_uuid !== key.party_uuid ||
    said.key_id !== key.key_id ||
    said.role !== key.role ||
    said.challenge !== challenge ||
    signature.keyid !== key.key_id
  ) {
    return refuse("key_mismatch", "The proof is for another key, party, role or challenge.");
  }
  const jwk = key.public_key;
  const message = pae(proof.payloadType, parseBase64(proof.payload) ?? new Uint8Array());
  const { verify, sha256 } = deps.crypto;
  if (key.role === "sealing") {
    return verifyPasskey({ jwk, message, signature, origins: deps.passkeys, verify, sha256 });
  }
  const sig = signature.authenticatorData === undefined ? parseBase64(signature.sig) : null;
  return sig !== null && verify(jwk, message, sig)
    ? ok(undefined)
    : refuse("signature_invalid", "The proof's signature does not verify.");
}
