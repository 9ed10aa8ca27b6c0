// The working keys of one node, behind the signing port. They are created and loaded by the composition root, which
// adopts newer ones while the node runs.

import type { Issuance, Signer, SignerAt } from "../crypto/port.ts";

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
