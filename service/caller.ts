// Who is calling: what authentication proved, never what the caller merely claimed.

import type { KeyFacts, PartyFacts } from "../actors/messages/business.ts";

export interface Caller {
  readonly key: KeyFacts;
  readonly party: PartyFacts;
  readonly nonce: string;
  /** The Unix milliseconds at which the signature expires; the nonce is held until then. */
  readonly expiresMs: number;
  /** `sha256:<hex>` of the caller's signature base. */
  readonly requestHash: string;
  readonly tag: string;
}
