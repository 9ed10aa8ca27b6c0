// The working keys of one node, behind the signing port. Made and loaded by the composition root.

import type { Signer } from "../crypto/port.ts";

export type Environment = "production" | "sandbox";

export interface ServiceKeys {
  readonly environment: Environment;
  /** The region this node serves, for example `eu-west1`. */
  readonly region: string;
  readonly projection: Signer;
  /** This region's receipt key. */
  readonly receipt: Signer;
  readonly sidecar: Signer;
  readonly statement: Signer;
  /** Signs sandbox grants; null in production. */
  readonly grant: Signer | null;
  /** Both halves of the issuance key, classical first. */
  readonly issuance: readonly [classical: Signer, postQuantum: Signer];
  /** JSON text of the signed key set answer `{keys, signed}`. */
  readonly keySet: string;
}
