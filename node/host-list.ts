// Settings that list values of Host, or the addresses of proxies.

import { type AddressRange, parseRange } from "../std/ip-address.ts";
import { ConfigError } from "./config-error.ts";

/** Parses a comma-separated list into lower case, as clients send it. Throws {@link ConfigError}. */
export function parseHosts(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  example: string,
): readonly string[] {
  const text = env[name];
  if (text === undefined) return [];
  const hosts = text.split(",").map((each) => each.trim().toLowerCase());
  const odd = hosts.find((each) => !/^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?$/.test(each));
  if (odd === undefined) return hosts;
  throw new ConfigError(
    name,
    `has ${JSON.stringify(odd)}; use names as clients send them in Host, such as ${example}`,
  );
}

/** Parses a comma-separated list of addresses and ranges. Throws {@link ConfigError}. */
export function parseProxies(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly AddressRange[] {
  const text = env[name];
  if (text === undefined) return [];
  return Object.freeze(
    text.split(",").map((each) => {
      const range = parseRange(each.trim());
      const use = "use addresses and CIDR ranges, comma-separated, such as 10.0.1.7,2001:db8:1::/64";
      if (range === null) throw new ConfigError(name, `names ${JSON.stringify(each.trim())}; ${use}`);
      if (range.prefix > 0) return range;
      throw new ConfigError(name, `trusts every address with ${JSON.stringify(each.trim())}; ${use}`);
    }),
  );
}
