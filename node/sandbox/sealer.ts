// The sealers of the sample businesses: a passkey made in software, or the key that the service holds for the business.

import { sign } from "node:crypto";
import type { Signer } from "../../crypto/port.ts";
import { type PrivateJwk, privateKeyOf, publicHalfOf } from "../../crypto/private-jwk.ts";
import { concatBytes, hashOf, sha256, toBase64, utf8 } from "../../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import { coseKeyOf, type PublicJwk, thumbprint } from "../../protocol/keys/jwk.ts";
import { type PasskeyOrigins, passkeyChallenge } from "../../protocol/keys/signatures.ts";
import { sealPayload } from "../../protocol/seal.ts";
import { type HoldDecision, holdDecisionPayload } from "../../protocol/withdrawal.ts";
import type { Sandbox } from "./sandbox-file.ts";

export interface Sealer {
  readonly keyId: string;
  readonly publicJwk: PublicJwk;
  readonly role: "sealing" | "hosted";
  /** The party that holds the key. */
  readonly custody: "self" | "hosted";
  /** The COSE_Key as an authenticator registers it, in base64; null for a key that is not a passkey. */
  readonly cose: string | null;
  seal(payloadType: string, payload: Uint8Array): Promise<Envelope>;
}

/**
 * User present and verified, backup eligible and backed up: the flags of a synchronised passkey (WebAuthn Level 3, §6.1).
 */
const flags = 0x01 | 0x04 | 0x08 | 0x10;

/** Seals with WebAuthn assertions, as a person's authenticator would for the deployment's portal. */
export function createSoftwarePasskey(jwk: PrivateJwk, origins: PasskeyOrigins): Sealer {
  const [rpId] = origins.rp_ids;
  const [origin] = origins.origins;
  if (rpId === undefined || origin === undefined) throw new Error("The anchors name no origin of passkeys.");
  const publicJwk = publicHalfOf(jwk);
  const key = privateKeyOf(jwk);
  const keyId = thumbprint(publicJwk);
  const cose = coseKeyOf(publicJwk);
  const signCount = new Uint8Array(4);
  const authenticatorData = concatBytes(sha256(utf8(rpId)), Uint8Array.of(flags), signCount);
  return {
    keyId,
    publicJwk,
    role: "sealing",
    custody: "self",
    cose: cose && toBase64(cose),
    seal: async (payloadType, payload) => {
      const challenge = passkeyChallenge(pae(payloadType, payload), sha256);
      const clientDataJSON = utf8(
        JSON.stringify({ type: "webauthn.get", challenge, origin, crossOrigin: false }),
      );
      const signed = concatBytes(authenticatorData, sha256(clientDataJSON));
      const sig = new Uint8Array(sign("sha256", signed, key));
      return makeEnvelope(payloadType, payload, [{ keyid: keyId, sig, authenticatorData, clientDataJSON }]);
    },
  };
}

export function createHostedSealer(signer: Signer): Sealer {
  return {
    keyId: signer.keyId,
    publicJwk: signer.publicJwk,
    role: "hosted",
    custody: "hosted",
    cose: null,
    seal: async (payloadType, payload) => {
      const sig = await signer.sign(pae(payloadType, payload));
      return makeEnvelope(payloadType, payload, [{ keyid: signer.keyId, sig }]);
    },
  };
}

// Seals one document with an owner's passkey, as a portal does.

interface SealedFacts {
  readonly record: Uint8Array;
  /** As the seal names it. An AI policy is sealed as the version that follows the one in force. */
  readonly type: CollectionName | "ads" | "ai_policy";
  /** What is in force for the business now. */
  readonly context: { readonly cert_id: string | null; readonly ai_policy_version: number };
  readonly atMs: number;
}

export function sealAlone(
  passkey: Pick<Sealer, "seal" | "keyId">,
  { record, type, context, atMs }: SealedFacts,
): Promise<Envelope> {
  const payload = sealPayload({
    v: 2,
    key_id: passkey.keyId,
    cert_id: context.cert_id ?? "",
    hash: hashOf(record),
    sealed_at: formatTimestamp(atMs),
    record_type: type,
    ai_policy_version: context.ai_policy_version + (type === "ai_policy" ? 1 : 0),
  });
  return passkey.seal(payloadTypes["seal.v2"], payload);
}

// The decision of an owner about a held push, sealed as a person's authenticator would for a portal. Only a sandbox has such
// a passkey in a file: production knows no private half of any.

export interface OwnersDecision extends Pick<HoldDecision, "business_uuid" | "push_id" | "decision"> {
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Null if the business is none of the samples, so that the file has no passkey of it. */
export async function sealOwnersDecision(
  { anchors, businesses }: Sandbox,
  { atMs, ...decision }: OwnersDecision,
): Promise<Envelope | null> {
  const owner = businesses.find((each) => each.business_uuid === decision.business_uuid)?.owner;
  if (owner === undefined) return null;
  return sealDecision(ownersPasskey(owner.private_jwk, anchors.passkeys), { atMs, ...decision });
}

/** The passkey of an owner, whose private JWK was read from a file or has just been made. */
export function ownersPasskey(privateJwk: object, origins: PasskeyOrigins): Sealer {
  return createSoftwarePasskey({ ...privateJwk } as PrivateJwk, origins);
}

export function sealDecision(
  passkey: Pick<Sealer, "seal">,
  { atMs, ...decision }: OwnersDecision,
): Promise<Envelope> {
  const payload = holdDecisionPayload({ v: 1, ...decision, at: formatTimestamp(atMs) });
  return passkey.seal(payloadTypes["hold-decision.v1"], payload);
}
