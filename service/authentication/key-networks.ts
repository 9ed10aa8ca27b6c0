// From which networks keys sign: the party of a key hears of each, and tells its people of one that is new.
//   KN1. No request waits for it. A network is told once a day by each node that sees it, and again after whatever failed.
//   KN2. Only the network is told, never the address, and only of a request that was genuine: a copy of one tells nothing.
//   KN3. What is remembered here, and what is under way, are bounded.

import { businessRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Clock } from "../../crypto/port.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { networkOf } from "../../std/ip-address.ts";
import type { Caller } from "../answer.ts";

export interface KeyNetworks {
  note(caller: Pick<Caller, "key">, address: string | null): void;
}

const networksMax = 100_000;
const underWayMax = 64;
const againMs = 86_400_000;

export function createKeyNetworks({ actors, clock }: Actors & { readonly clock: Clock }): KeyNetworks {
  const toldAtMs = new BoundedMap<string, number>(networksMax);
  let underWay = 0;
  return {
    note: ({ key: { key_id, party_uuid } }, address) => {
      const network = address === null ? null : networkOf(address);
      if (network === null) return;
      const name = `${key_id} ${network}`;
      const nowMs = clock.now();
      const before = toldAtMs.get(name);
      if ((before !== undefined && nowMs - before < againMs) || underWay >= underWayMax) return;
      toldAtMs.set(name, nowMs);
      underWay += 1;
      actors
        .ask(businessRef(party_uuid), { type: "network.seen", key_id, network })
        .catch(() => toldAtMs.set(name, Number.NEGATIVE_INFINITY))
        .finally(() => {
          underWay -= 1;
        });
    },
  };
}
