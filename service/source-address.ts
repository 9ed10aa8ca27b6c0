// Source allow-lists of mandates: CIDR ranges (RFC 4632, RFC 4291) and AS numbers. Which system an address belongs to is
// looked up in the operator's table; without one, an AS number admits nobody.
//   X1. X-Forwarded-For is trusted only as far as trusted proxies wrote it: from its right end to the first address that
//       is not a trusted proxy's, which is the caller's. Anything to the left of that could have been forged.
//   X2. A hop that is not an address ends the reading without a source, and a trusted proxy is not a source: in both
//       cases no list admits the request.

import { type AddressRange, contains, parseAddress, parseRange } from "../std/ip-address.ts";
import type { AsTable } from "./as-table.ts";

/**
 * True when the address is in one of the CIDR ranges, or belongs to one of the autonomous systems. Malformed entries and
 * addresses never match.
 */
export function addressAllowed(
  address: string,
  allowList: readonly string[],
  table: AsTable | null = null,
): boolean {
  const bits = parseAddress(address);
  if (bits === null) return false;
  let systems: readonly number[] | null = null;
  return allowList.some((text) => {
    const system = /^AS([1-9][0-9]{0,9})$/.exec(text)?.[1];
    if (system !== undefined) {
      systems ??= table?.systemsOf(address) ?? [];
      return systems.includes(Number(system));
    }
    const range = parseRange(text);
    return range !== null && contains(range, bits);
  });
}

/**
 * The address that a request comes from: `peer`, the address of the connection, unless that is a trusted proxy's; then
 * the address that the proxies give in `forwardedFor` (X1). Null when there is none to judge (X2).
 */
export function sourceOf(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly AddressRange[],
): string | null {
  const hops = forwardedFor === null ? [] : forwardedFor.split(",");
  for (const hop of [...hops, peer ?? ""].reverse()) {
    const address = withoutPort(hop.trim());
    const bits = parseAddress(address);
    if (bits === null) return null;
    if (!trusted.some((range) => contains(range, bits))) return address;
  }
  return null;
}

/** Some proxies also write the port that the connection came from. */
function withoutPort(hop: string): string {
  const [, v6, v4] = /^(?:\[([^\]]*)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(hop) ?? [];
  return v6 ?? v4 ?? hop;
}
