// Seals by a person's passkey or by a key that the service holds for the business (path B): mandates, AI policies and
// records sealed one by one. The key comes from the business's register, never from the envelope.

import type { BusinessCommand, KeyFacts, RegisterReadReply } from "../actors/messages/business.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { type Envelope, pae } from "../protocol/dsse.ts";
import type { PublicJwk } from "../protocol/jwk.ts";
import { type PasskeyOrigins, verifyPasskey } from "../protocol/passkey.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";

export interface SealingDeps {
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
  /** Origins and relying-party ids whose passkeys count. */
  readonly passkeys: PasskeyOrigins;
}

/** The registered key that sealed the envelope; `key_unknown` unless it is a live sealing or hosted key of this business. */
export async function verifySealing(
  deps: SealingDeps,
  businessUuid: string,
  envelope: Envelope,
): Promise<Verdict<KeyFacts>> {
  const [signature, ...more] = envelope.signatures;
  if (!signature || more.length > 0)
    return refuse("envelope_malformed", "A seal carries exactly one signature.");
  const command: BusinessCommand = { type: "register.read", keys: [`key/${signature.keyid}`] };
  const { entries } = await deps.actors.ask<RegisterReadReply>(businessRef(businessUuid), command);
  const key = entries[0] && (JSON.parse(entries[0].body) as KeyFacts);
  if (!key || (key.role !== "sealing" && key.role !== "hosted")) {
    return refuse("key_unknown", "The seal's key is no passkey or hosted key of this business.");
  }
  if (key.revoked_at !== null || key.compromised_from !== null)
    return refuse("key_not_valid", "The seal's key was revoked.");
  const payload = parseBase64(envelope.payload);
  if (!payload) return refuse("envelope_malformed", "payload is base64.");
  const message = pae(envelope.payloadType, payload);
  const jwk = key.public_key as unknown as PublicJwk;
  if (key.role === "sealing") {
    const verdict = verifyPasskey({
      jwk,
      message,
      signature,
      origins: deps.passkeys,
      verify: deps.crypto.verify,
      sha256: deps.crypto.sha256,
    });
    return verdict.ok ? ok(key) : verdict;
  }
  const sig = parseBase64(signature.sig);
  return sig && deps.crypto.verify(jwk, message, sig)
    ? ok(key)
    : refuse("signature_invalid", "The seal's signature does not verify.");
}
