// Binds each key of an AI company to one region. Nonces are claimed in the region that a request reaches, so regions
// that share a host name would each accept a captured search or fetch once; a region that the key is not bound to
// refuses it.
//   B1. A key is bound to the region that has its party: the party's home, or the region that took it over.
//   B2. That region is known in memory, or looked up locally; no request waits for another region because of it.
//   B3. If it cannot be determined, the request is not accepted.

import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { MaybeLater } from "./register.ts";

export interface KeyRegionDeps {
  /** The region that this node serves. */
  readonly region: string;
  /** The region that has the party now; null while that is unknown, or no region has it. */
  readonly regionOf: (party: string) => MaybeLater<string | null>;
}

/** Null when the caller may be answered here. */
export type KeyRegion = (caller: Pick<Caller, "key">) => MaybeLater<Refused | null>;

const retrySeconds = 1;

export function createKeyRegion({ region, regionOf }: KeyRegionDeps): KeyRegion {
  const judge = (bound: string | null): Refused | null => {
    if (bound === region) return null;
    return bound === null ? unknownRegion() : elsewhere(bound);
  };
  return ({ key }) => {
    // A business's requests take effect at its home, wherever they arrive, and each at most once.
    if (key.role !== "retrieval") return null;
    const bound = regionOf(key.party_uuid);
    return bound instanceof Promise ? bound.then(judge) : judge(bound);
  };
}

function elsewhere(region: string): Refused {
  const detail = `This key is answered in the region ${region} only; send the request there.`;
  return refused(problem("region_misdirected", detail, { region }));
}

function unknownRegion(): Refused {
  const detail =
    "The region of this key is not known at present; send the request again later, with a new signature.";
  const extras = { reason: "key_region", retry_after_seconds: retrySeconds };
  return refused(problem("unavailable", detail, extras), { "retry-after": String(retrySeconds) });
}
