// Settings that list values of Host.

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
