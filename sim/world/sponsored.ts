// Sponsored rows as a simulated node has them. No advertiser is simulated, so nothing is sponsored, and every search asks all the same.

import type { ActorSystem } from "../../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../../crypto/port.ts";
import { createAdSessions } from "../../service/ad-sessions.ts";
import type { Register } from "../../service/register.ts";
import { createSponsoredRows, type SponsoredRows } from "../../service/sponsored-rows.ts";

export function sponsoredOf({
  register,
  ...deps
}: {
  readonly register: Register;
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  readonly region: string;
  readonly sessionKey: Uint8Array;
}): SponsoredRows {
  return createSponsoredRows({ ...deps, register, book: register.ads, sessions: createAdSessions(deps) });
}
