// How much of a node callers may use, and under which hosts they reach it. Everything is bounded unless a setting says
// otherwise; the defaults are published in docs/production.md.

import { networkInterfaces } from "node:os";
import { type HttpLimits, httpLimitsDefault } from "../api/http-limits.ts";
import { queryCostMax } from "../service/query-cost.ts";
import { authorityOf } from "../service/request-head.ts";
import { ConfigError } from "./config-error.ts";
import { parseHosts } from "./host-list.ts";
import { isLoopback } from "./ops-config.ts";

/** The rate limits of one key on this node; null for no limit. */
export interface KeyLimits {
  readonly requestsPerSecond: number | null;
  readonly queryCostPerMinute: number | null;
}

export interface HttpConfig {
  readonly limits: HttpLimits;
  /** Further values of Host that unsigned requests may name, in the form that `authorityOf` produces. */
  readonly hosts: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

interface Setting {
  readonly name: string;
  readonly preset: number;
  readonly least: number;
  readonly most: number;
  /** Whether 0 disables the limit. */
  readonly mayBeOff: boolean;
}

const rateMax = 1_000_000;
const mebibyte = 1_048_576;
/** A batch that arrives in chunks is briefly in memory twice. */
const batchRoomBytes = 64 * mebibyte;
const bytesMax = 1_099_511_627_776;
const countBounds = { least: 1, most: rateMax, mayBeOff: false } as const;

/** The limits that 0 disables, with their defaults. */
export const limitPresets = Object.freeze({
  SVC_KEY_REQUESTS_PER_SECOND: 50,
  SVC_KEY_QUERY_COST_PER_MINUTE: 3_000,
  SVC_ADDRESS_CONNECTIONS_MAX: httpLimitsDefault.connectionsPerAddressMax,
  SVC_CONNECTION_REQUESTS_MAX: httpLimitsDefault.requestsPerConnectionMax,
});

const limit = (name: keyof typeof limitPresets, least = 1): Setting => ({
  ...{ name, preset: limitPresets[name], least, most: rateMax, mayBeOff: true },
});

/** Throws {@link ConfigError}. */
export function parseKeyLimits(env: Env): KeyLimits {
  return Object.freeze({
    requestsPerSecond: offOr(parseNumber(limit("SVC_KEY_REQUESTS_PER_SECOND"), env)),
    // With a lower limit the most expensive search could never pass.
    queryCostPerMinute: offOr(parseNumber(limit("SVC_KEY_QUERY_COST_PER_MINUTE", queryCostMax), env)),
  });
}

/** Throws {@link ConfigError}. */
export function parseHttpConfig(env: Env): HttpConfig {
  const preset = httpLimitsDefault;
  const bytes = (name: string, given: number): number =>
    parseNumber({ name, preset: given, least: batchRoomBytes, most: bytesMax, mayBeOff: false }, env);
  return Object.freeze({
    limits: Object.freeze({
      ...preset,
      connectionsMax: parseNumber(
        { ...{ name: "SVC_CONNECTIONS_MAX", preset: preset.connectionsMax }, ...countBounds },
        env,
      ),
      requestsPerConnectionMax: parseNumber(limit("SVC_CONNECTION_REQUESTS_MAX"), env),
      connectionsPerAddressMax: parseNumber(limit("SVC_ADDRESS_CONNECTIONS_MAX"), env),
      bodyBytesMax: bytes("SVC_BODY_BYTES_MAX", preset.bodyBytesMax),
      bodyBytesPerCallerMax: bytes("SVC_CALLER_BODY_BYTES_MAX", preset.bodyBytesPerCallerMax),
    }),
    hosts: parseHosts("SVC_HOSTS", env, "svc.internal:7300").map(authorityOf),
  });
}

function offOr(value: number): number | null {
  return value === 0 ? null : value;
}

function parseNumber({ name, preset, least, most, mayBeOff }: Setting, env: Env): number {
  const text = env[name];
  if (text === undefined) return preset;
  const value = /^[0-9]{1,13}$/.test(text) ? Number(text) : Number.NaN;
  if ((value >= least && value <= most) || (mayBeOff && value === 0)) return value;
  const off = mayBeOff ? ", or 0 for no limit" : "";
  throw new ConfigError(
    name,
    `is ${JSON.stringify(text)}; use a whole number from ${least} to ${most}${off}`,
  );
}

const wildcards = ["0.0.0.0", "::"];

/** The hosts of a surface: that of its public URL, those of its listening address, and what SVC_HOSTS adds. */
export function hostsOf(
  url: string,
  listen: { readonly host: string; readonly port: number },
  further: readonly string[],
): readonly string[] {
  const addresses = wildcards.includes(listen.host) ? ownAddresses() : [listen.host];
  const names = addresses.some(isLoopback) ? [...addresses, "localhost", "127.0.0.1", "::1"] : addresses;
  const own = names.map((name) => `${name.includes(":") ? `[${name}]` : name}:${listen.port}`);
  return [...new Set([new URL(url).host, ...own, ...further].map(authorityOf))];
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}
