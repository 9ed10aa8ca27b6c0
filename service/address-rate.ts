// How many requests per minute one network address may send, where no account is required. Counted by this node alone.
//   R1. Within its minute an address may send a fixed number, and all addresses together a bounded number.
//   R2. A bounded number of addresses is kept; the least recently seen one is evicted first.

import { BoundedMap } from "../std/bounded-map.ts";
import { addressBlock } from "../std/ip-address.ts";
import type { Refused } from "./answer.ts";
import { rateLimited } from "./rate-limited.ts";

export interface AddressRate {
  /** Null for a request that passes. */
  readonly take: (address: string) => Refused | null;
}

export interface AddressRateOptions {
  readonly perMinute: number;
  readonly allPerMinute: number;
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly addressesMax?: number;
}

const minuteMs = 60_000;
const addressesMaxDefault = 10_000;

interface Minute {
  beganMs: number;
  count: number;
}

export function createAddressRate(options: AddressRateOptions): AddressRate {
  const { perMinute, allPerMinute, elapsedMs } = options;
  const minutes = new BoundedMap<string, Minute>(options.addressesMax ?? addressesMaxDefault);
  const all: Minute = { beganMs: Number.NEGATIVE_INFINITY, count: 0 };
  return {
    take: (address) => {
      const nowMs = elapsedMs();
      const network = addressBlock(address);
      const own = minutes.get(network) ?? { beganMs: nowMs, count: 0 };
      minutes.set(network, own);
      for (const minute of [own, all]) {
        if (nowMs - minute.beganMs >= minuteMs) Object.assign(minute, { beganMs: nowMs, count: 0 });
      }
      const full = own.count >= perMinute ? own : all.count >= allPerMinute ? all : null;
      if (full !== null) return tooMany(perMinute, full.beganMs + minuteMs - nowMs);
      own.count += 1;
      all.count += 1;
      return null;
    },
  };
}

function tooMany(perMinute: number, leftMs: number): Refused {
  return rateLimited(`An address may send ${perMinute} of these requests a minute.`, {
    retry_after_seconds: Math.max(1, Math.ceil(leftMs / 1_000)),
    reason: "address_rate",
  });
}
