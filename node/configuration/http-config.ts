// How much of a node callers may use, and under which hosts they reach it. Everything is bounded unless a setting says
// otherwise; the defaults are published in docs/production.md.

import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import { type HttpLimits, httpLimitsDefault } from "../../api/http-limits.ts";
import { keepFirst } from "../../crypto/durable-file.ts";
import type { OpsAccess, OpsProxy, OpsRight } from "../../ops/guard.ts";
import { authorityOf } from "../../service/authentication/authenticate.ts";
import { queryCostMax } from "../../service/authentication/request-rate.ts";
import { type AddressRange, parseRange } from "../../std/ip-address.ts";
import { ConfigError, type Env } from "./config-error.ts";

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
  name,
  preset: limitPresets[name],
  least,
  most: rateMax,
  mayBeOff: true,
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
        { name: "SVC_CONNECTIONS_MAX", preset: preset.connectionsMax, ...countBounds },
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

/** Parses a comma-separated list into lower case, as clients send it. Throws {@link ConfigError}. */
function parseHosts(name: string, env: Env, example: string): readonly string[] {
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
export function parseProxies(name: string, env: Env): readonly AddressRange[] {
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

// Where the operators' surface listens, and what an operator must present. It is separate from the public surfaces: it has
// its own address, which is loopback unless set otherwise.

export interface OpsConfig {
  readonly host: string;
  /** The port to listen on; null selects the fifth of the node's ports. */
  readonly port: number | null;
  /** Further values of Host that it answers, in lower case with the port. */
  readonly hosts: readonly string[];
  /** Absolute path of the file that holds the token; created if missing. */
  readonly tokenFile: string;
  /** Absolute path of the file that holds the token for reading; null if there is none. */
  readonly readTokenFile: string | null;
  readonly proxy: OpsProxy | null;
}

const tokenLengthMin = 32;
/** Files in the home folder: the URL of the running node's surface, and its token unless set otherwise. */
export const opsUrlFile = "ops-url";
export const opsTokenFile = "ops-token";

/** Throws {@link ConfigError}. */
export function parseOpsConfig(env: Env, node: { readonly home: string; readonly host: string }): OpsConfig {
  const listen = env["SVC_OPS_LISTEN"];
  const tokenFile = env["SVC_OPS_TOKEN_FILE"];
  const readTokenFile = env["SVC_OPS_READ_TOKEN_FILE"];
  return Object.freeze({
    ...(listen === undefined
      ? { host: isLoopback(node.host) ? node.host : "127.0.0.1", port: null }
      : parseListen(listen)),
    hosts: parseHosts("SVC_OPS_HOSTS", env, "ops.internal:7304"),
    tokenFile: tokenFile === undefined ? join(resolve(node.home), opsTokenFile) : resolve(tokenFile),
    readTokenFile: readTokenFile === undefined ? null : resolve(readTokenFile),
    proxy: parseProxy(env),
  });
}

/** The setting that names the groups with a right; each right is given by itself. */
const groupsSetting: Readonly<Record<OpsRight, string>> = {
  read: "SVC_OPS_READ_GROUPS",
  act: "SVC_OPS_ACT_GROUPS",
  money: "SVC_OPS_MONEY_GROUPS",
  parties: "SVC_OPS_PARTIES_GROUPS",
  takedowns: "SVC_OPS_TAKEDOWNS_GROUPS",
  cluster: "SVC_OPS_CLUSTER_GROUPS",
};

function mapRights<T>(of: (right: OpsRight) => T): Readonly<Record<OpsRight, T>> {
  return {
    read: of("read"),
    act: of("act"),
    money: of("money"),
    parties: of("parties"),
    takedowns: of("takedowns"),
    cluster: of("cluster"),
  };
}

/** The proxy that says who operators are; null unless its addresses are set. */
function parseProxy(env: Env): OpsProxy | null {
  const addresses = parseProxies("SVC_OPS_PROXIES", env);
  const groups = mapRights((right) => parseGroups(groupsSetting[right], env));
  const isNamed = Object.values(groups).some((each) => each.length > 0);
  if (addresses.length === 0 && isNamed)
    throw new ConfigError("SVC_OPS_PROXIES", "is not set; name the proxies that say who is in which group");
  if (addresses.length === 0) return null;
  if (!isNamed)
    throw new ConfigError("SVC_OPS_READ_GROUPS", "and SVC_OPS_ACT_GROUPS name no group; nobody could enter");
  return {
    addresses,
    groups,
    userHeader: parseHeader("SVC_OPS_PROXY_USER_HEADER", env, "x-forwarded-user"),
    groupsHeader: parseHeader("SVC_OPS_PROXY_GROUPS_HEADER", env, "x-forwarded-groups"),
  };
}

function parseGroups(name: string, env: Env): readonly string[] {
  const text = env[name];
  if (text === undefined) return [];
  const groups = text.split(",").map((each) => each.trim());
  if (groups.every((each) => each !== "" && each.length <= 200)) return groups;
  throw new ConfigError(name, "has an empty name; use groups as the proxy sends them, comma-separated");
}

function parseHeader(name: string, env: Env, fallback: string): string {
  const header = (env[name] ?? fallback).toLowerCase();
  if (/^[a-z0-9][a-z0-9-]{0,63}$/.test(header)) return header;
  throw new ConfigError(name, `is ${JSON.stringify(header)}; use the name of a header, such as ${fallback}`);
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-f:]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? "";
  if ((isIP(host) !== 0 || host === "localhost") && Number(port) <= 65_535)
    return { host, port: Number(port) };
  throw new ConfigError(
    "SVC_OPS_LISTEN",
    `is ${JSON.stringify(text)}; use an address and a port, such as 127.0.0.1:7304`,
  );
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}

/** Reads the tokens, or creates them if missing. Throws {@link ConfigError} for one that others can read or guess. */
export async function loadOpsAccess(config: OpsConfig, port: number): Promise<OpsAccess> {
  const { host, hosts, tokenFile, readTokenFile, proxy } = config;
  const token = await loadToken("SVC_OPS_TOKEN_FILE", tokenFile);
  const readToken = readTokenFile === null ? null : await loadToken("SVC_OPS_READ_TOKEN_FILE", readTokenFile);
  if (readToken === token)
    throw new ConfigError(
      "SVC_OPS_READ_TOKEN_FILE",
      "has the token that gives the right to act; use another",
    );
  const names = isLoopback(host) ? [host, "localhost", "127.0.0.1", "::1"] : [host];
  const own = names.map((name) => `${name.includes(":") ? `[${name}]` : name}:${port}`);
  // A name that is not this machine's own leads to a proxy on it, through which others reach the surface.
  const isLocal = isLoopback(host) && hosts.every((each) => isLoopback(nameOf(each)));
  return { hosts: [...new Set([...own, ...hosts])], token, readToken, proxy, isLoopback: isLocal };
}

/** The name in a value of Host. */
function nameOf(host: string): string {
  return host.replace(/:[0-9]+$/, "").replace(/^\[(.*)\]$/, "$1");
}

async function loadToken(setting: string, file: string): Promise<string> {
  const token = (await keepFirst(file, `${randomBytes(32).toString("base64url")}\n`)).trim();
  if (((await stat(file)).mode & 0o077) !== 0) {
    throw new ConfigError(setting, `${file} can be read by others; give it mode 0600`);
  }
  const fault = tokenFault(token);
  if (fault === null) return token;
  throw new ConfigError(setting, `${file} ${fault}; remove it and start again to create a new one`);
}

/** What is wrong with a token; null if it is acceptable. */
export function tokenFault(token: string): string | null {
  if (token.length >= tokenLengthMin && /^[\x21-\x7e]+$/.test(token)) return null;
  return `needs one line of at least ${tokenLengthMin} printable characters`;
}
