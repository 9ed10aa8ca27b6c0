// Passkeys of a simulated world: the assertion that an authenticator makes for the portal, signed with a key of the world.

import { concatBytes, utf8 } from "../../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae } from "../../protocol/dsse.ts";
import { type PasskeyOrigins, passkeyChallenge } from "../../protocol/keys/signatures.ts";
import type { SimCrypto, SimSigner } from "./sim-crypto.ts";

const [rpId, origin] = ["portal.svc.test", "https://portal.svc.test"];

/** The only portal of a world. */
export const portal: PasskeyOrigins = { rp_ids: [rpId], origins: [origin] };

const presentAndVerified = 0x05;

export function sealedByPerson(
  { sha256 }: SimCrypto,
  signer: SimSigner,
  payloadType: string,
  payload: Uint8Array,
): Envelope {
  const challenge = passkeyChallenge(pae(payloadType, payload), sha256);
  const clientDataJSON = utf8(
    JSON.stringify({ type: "webauthn.get", challenge, origin, crossOrigin: false }),
  );
  const flagsAndCount = Uint8Array.of(presentAndVerified, 0, 0, 0, 0);
  const authenticatorData = concatBytes(sha256(utf8(rpId)), flagsAndCount);
  const sig = signer.signNow(concatBytes(authenticatorData, sha256(clientDataJSON)));
  return makeEnvelope(payloadType, payload, [
    { keyid: signer.keyId, sig, authenticatorData, clientDataJSON },
  ]);
}
