// Envelopes that the service signs, with one working key or with both halves of a pair.

import type { Signer } from "../crypto/port.ts";
import { type Envelope, makeEnvelope, pae } from "../protocol/dsse.ts";

/** One envelope with a signature by each signer, in order (specification, «Envelope»). */
export async function signEnvelope(
  payloadType: string,
  payload: Uint8Array,
  signers: readonly Signer[],
): Promise<Envelope> {
  const message = pae(payloadType, payload);
  const signatures = [];
  for (const signer of signers) signatures.push({ keyid: signer.keyId, sig: await signer.sign(message) });
  return makeEnvelope(payloadType, payload, signatures);
}
