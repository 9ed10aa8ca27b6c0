// Whether, how often and by which resolvers the node looks at the domains of endpoints.

import { isIP } from "node:net";
import type { ProbeSchedule } from "../../actors/messages/domains.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { ConfigError, type Env, parseBounded, parseSwitch } from "../configuration/config-error.ts";

export interface DomainConfig {
  /** A sandbox calls nobody unless it is told to: the domains of its samples do not exist. */
  readonly areChecked: boolean;
  readonly schedule: ProbeSchedule;
  /** Addresses, with ports if they are not 53; empty for the machine's own. */
  readonly resolvers: readonly string[];
}

const daySeconds = 86_400;
const resolvers = "SVC_DOMAIN_RESOLVERS";
const interval = {
  name: "SVC_DOMAIN_INTERVAL_SECONDS",
  min: 1,
  max: 30 * daySeconds,
  otherwise: daySeconds,
};
const grace = {
  name: "SVC_DOMAIN_GRACE_SECONDS",
  min: 1,
  max: 30 * daySeconds,
  otherwise: 3 * daySeconds,
};

/** Throws {@link ConfigError}. */
export function parseDomains(env: Env, environment: Environment): DomainConfig {
  return Object.freeze({
    areChecked: parseSwitch(env, "SVC_DOMAIN_CHECKS", environment === "sandbox" ? "no" : "yes"),
    schedule: {
      interval_ms: parseBounded(env, interval) * 1_000,
      grace_ms: parseBounded(env, grace) * 1_000,
    },
    resolvers: parseResolvers(env[resolvers]),
  });
}

function parseResolvers(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  return Object.freeze(
    text.split(",").map((each) => {
      const address = each.trim();
      if (isResolver(address)) return address;
      throw new ConfigError(
        resolvers,
        `names ${JSON.stringify(address)}; use IP addresses, with a port if it is not 53, separated by commas, such as 9.9.9.9,[2620:fe::fe]:53`,
      );
    }),
  );
}

/** An address, or an IPv4 address or an IPv6 address in brackets with a port. */
function isResolver(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([0-9.]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const isAddress = v6 === undefined ? isIP(v4 ?? "") === 4 : isIP(v6) === 6;
  return isAddress && Number(port) > 0 && Number(port) <= 65_535;
}
