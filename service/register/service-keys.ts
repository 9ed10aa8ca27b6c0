// The working keys of one node, behind the signing port. They are created and loaded by the composition root, which
// adopts newer ones while the node runs.

import type { Issuance, Signer, SignerAt } from "../../crypto/port.ts";
import { type Envelope, makeEnvelope, pae } from "../../protocol/dsse.ts";

export type Environment = "production" | "sandbox";

export interface ServiceKeys {
  readonly environment: Environment;
  /** The region that this node serves, for example `eu-west1`. */
  readonly region: string;
  readonly projection: SignerAt;
  /** The receipt key of this region. */
  readonly receipt: SignerAt;
  readonly sidecar: SignerAt;
  readonly statement: SignerAt;
  /** Signs checkpoints; only nodes of the log's home region have it. */
  readonly log: SignerAt;
  /** Signs sandbox grants; null in production. */
  readonly grant: Signer | null;
  readonly issuance: Issuance;
  /** The JSON text of the signed key set answer `{keys, signed}` that is in force. */
  readonly keySet: () => string;
}

// Envelopes that the service signs, with one working key or with both halves of a pair.

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
