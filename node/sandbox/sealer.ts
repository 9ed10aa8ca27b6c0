// The sealers of the sample businesses: a passkey made in software, or the key that the service holds for the business.

import { sign } from "node:crypto";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Signer } from "../../crypto/port.ts";
import { type PrivateJwk, privateKeyOf, publicHalfOf } from "../../crypto/private-jwk.ts";
import { concatBytes, toBase64, utf8 } from "../../protocol/bytes.ts";
import { coseKeyOf } from "../../protocol/cose-key.ts";
import { type Envelope, makeEnvelope, pae } from "../../protocol/dsse.ts";
import { type PublicJwk, thumbprint } from "../../protocol/jwk.ts";
import { type PasskeyOrigins, passkeyChallenge } from "../../protocol/passkey.ts";

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
  const { sha256 } = nativeCrypto;
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
