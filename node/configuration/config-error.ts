import { type AddressRange, parseRange } from "../../std/ip-address.ts";

/** A setting that cannot be used: the message names it and says what to do. */
export class ConfigError extends Error {
  readonly setting: string;
  /** What is wrong and, after a semicolon, how to fix it. */
  readonly fix: string;
  constructor(setting: string, fix: string) {
    super(`${setting}: ${fix}`);
    this.name = "ConfigError";
    this.setting = setting;
    this.fix = fix;
  }
}

// How long a node keeps what is not kept for ever: receipts in the store, the lines of its log file, and held pushes.

export interface RetentionConfig {
  /** Minimum number of days that a receipt is kept; at most an hour and some minutes longer, while nodes run. */
  readonly receiptDays: number;
  /** Number of days for which a day's analytics are kept after it. */
  readonly analyticsDays: number;
  /** Number of days that a line of the log file is kept; at most two more. */
  readonly logDays: number;
  /** Maximum size of all the node's log files together, in MiB. */
  readonly logMebibytes: number;
  /** Number of hours after which the purge of a deleted record begins; it is over within 30 days. */
  readonly purgeHours: number;
  /** Number of days that a held push, with its staged bytes, waits for a decision. */
  readonly holdDays: number;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  /** The default if the setting is absent. */
  readonly otherwise: number;
}

export const retentionSettings = {
  // A financial year, and time to close its accounts.
  receiptDays: { name: "SVC_RECEIPT_RETENTION_DAYS", min: 1, max: 36_500, otherwise: 400 },
  // A year, and a month to compare it with the one before.
  analyticsDays: { name: "SVC_ANALYTICS_RETENTION_DAYS", min: 1, max: 3_650, otherwise: 400 },
  logDays: { name: "SVC_LOG_RETENTION_DAYS", min: 1, max: 3_650, otherwise: 30 },
  logMebibytes: { name: "SVC_LOG_MEBIBYTES", min: 8, max: 1_048_576, otherwise: 512 },
  // A day less than is promised, for stores that are away when it is due.
  purgeHours: { name: "SVC_PURGE_AFTER_HOURS", min: 0, max: 719, otherwise: 696 },
  // Its staged bytes may be those of a record that is deleted meanwhile, which are gone within 30 days.
  holdDays: { name: "SVC_HOLD_DAYS", min: 1, max: 30, otherwise: 30 },
} as const satisfies Record<keyof RetentionConfig, Bounds & { readonly name: string }>;

/** Throws {@link ConfigError}. */
export function parseRetention(env: Readonly<Record<string, string | undefined>>): RetentionConfig {
  const { receiptDays, analyticsDays, logDays, logMebibytes, purgeHours, holdDays } = retentionSettings;
  return Object.freeze({
    receiptDays: parseBounded(env, receiptDays),
    analyticsDays: parseBounded(env, analyticsDays),
    logDays: parseBounded(env, logDays),
    logMebibytes: parseBounded(env, logMebibytes),
    purgeHours: parseBounded(env, purgeHours),
    holdDays: parseBounded(env, holdDays),
  });
}

/** A setting that is a whole number within bounds. Throws {@link ConfigError}. */
export function parseBounded(
  env: Readonly<Record<string, string | undefined>>,
  { name, min, max, otherwise }: Bounds & { readonly name: string },
): number {
  const text = env[name];
  if (text === undefined) return otherwise;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(name, `is ${JSON.stringify(text)}; use a whole number from ${min} to ${max}`);
}

// Settings that list values of Host, or the addresses of proxies.

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
