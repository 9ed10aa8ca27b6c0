// Which ads and campaigns stand (verifier/standing.ts), as the register of this region knows it: what does not is in no pool, sponsors no
// row, and neither a render nor a click of it is confirmed.
//   AS1. Of an advertiser of whom nothing ever ended, nothing is read: the answer is at hand.

import type { AdSeal } from "../actors/messages/ads.ts";
import { standsNow } from "./record-standing.ts";
import type { MaybeLater, Register } from "./register.ts";

/** An ad, a sponsored product or a campaign. */
export interface SealedOffer {
  readonly business_uuid: string;
  readonly sealed: AdSeal;
}

export type Stands = (offer: SealedOffer) => boolean;

export type StandingRegister = Pick<Register, "hasEnded" | "keys" | "certificates" | "mandates">;

const everything: Stands = () => true;

/** Judges what these advertisers offer. */
export function adStanding(register: StandingRegister, businesses: Iterable<string>): MaybeLater<Stands> {
  const ended = [...new Set(businesses)].filter((uuid) => register.hasEnded(uuid));
  return ended.length === 0 ? everything : readStanding(register, ended);
}

async function readStanding(register: StandingRegister, ended: readonly string[]): Promise<Stands> {
  const known = new Map(
    await Promise.all(ended.map(async (uuid) => [uuid, await standsNow(register, uuid)] as const)),
  );
  return ({ business_uuid: uuid, sealed }) => {
    const { is_stated: isStated, ...seal } = sealed;
    return known.get(uuid)?.({ ...seal, isStated, mandate_id: null }) ?? true;
  };
}
