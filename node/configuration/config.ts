// Configuration of a node. Only this file reads the process environment: once, checked and then frozen.

import { isAbsolute, join, resolve } from "node:path";
import type { LogIntervals } from "../../actors/log-sequencer/definition.ts";
import type { ActorSystemStats } from "../../actors/system/definition.ts";
import type { PasskeyOrigins } from "../../protocol/keys/signatures.ts";
import { currencies } from "../../protocol/records/vocabularies/currencies.ts";
import type { Background } from "../../service/publishing/publish-batch.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import type { AddressRange } from "../../std/ip-address.ts";
import type { EvidenceBounds } from "../../storage/evidence-store.ts";
import { type DomainConfig, parseDomains } from "../domains/domain-config.ts";
import { type MailConfig, parseMail } from "../notices/mail-config.ts";
import { parseTracing, type TraceConfig } from "../telemetry/trace-config.ts";
import { parseWitnesses, type WitnessConfig } from "../witness/witness-client.ts";
import {
  allowedPlainText,
  type ClusterConfig,
  type ClusterSecrets,
  clusterSettings,
  parseClusterConfig,
  parseClusterSecrets,
  plainTextSettings,
} from "./cluster-config.ts";
import { ConfigError, type Env, parseBounded, parseChoice, parseSwitch } from "./config-error.ts";
import {
  type HttpConfig,
  type KeyLimits,
  type OpsConfig,
  parseHttpConfig,
  parseKeyLimits,
  parseOpsConfig,
  parseProxies,
} from "./http-config.ts";
import { type KeyConfig, parseKeyConfig, parsePasskeys } from "./key-config.ts";
import { parseRetention, type RetentionConfig } from "./retention.ts";

export interface NodeConfig {
  readonly environment: Environment;
  /** Must match `^[a-z]+-[a-z]+[0-9]+$`, the form in which the log inclusion read names regions. */
  readonly region: string;
  /** Absolute path of the node's home folder. */
  readonly home: string;
  /** N retrieval, N+1 business, N+2 verification, N+3 tools, N+4 ops, N+5 portal; 0 picks any six free ports. */
  readonly portBase: number;
  /** The address to listen on. */
  readonly host: string;
  readonly logLevel: string;
  /**
   * `file` is `node.log` in the home folder, so that a sandbox's terminal shows its tour; `stdout` is for log collectors.
   */
  readonly logTo: "file" | "stdout";
  /** The audit log: `audit.log` in the home folder, or lines marked `"audit": true`; follows `logTo` unless set. */
  readonly auditTo: "file" | "stdout";
  /** Absolute path of the folder with private keys and the key set; the nodes of a region share it. */
  readonly keys: string;
  /** The issuance process, which signs documents for the node. */
  readonly issuance: KeyConfig["issuance"];
  /** The public URLs of the surfaces, without trailing slash, where they differ from where the node listens. */
  readonly publicUrls: Readonly<Partial<Record<SurfaceUrl, string>>>;
  /** Proxies whose X-Forwarded-For is trusted: those through which callers reach the surfaces. */
  readonly trustedProxies: readonly AddressRange[];
  /** Where people use their passkeys. In production the anchors define this, and the setting is null or identical. */
  readonly passkeys: PasskeyOrigins | null;
  /** Absolute path of the file of protected names and blocked hosts; null for none. */
  readonly contentLists: string | null;
  /** Absolute path of the folder for bulk files, if this node takes any; not used in a cluster. */
  readonly bulkFolder: string | null;
  /** The most that the files of that folder take up together, in MiB. */
  readonly bulkFolderMebibytes: number;
  /** How ads are paid. */
  readonly ads: AdConfig;
  /** The most bytes that the images of all ads have together. */
  readonly adImageBytesMax: number;
  /** The most bytes that evidence takes up: all of it, that of one person, and that of one network. */
  readonly evidenceBounds: EvidenceBounds;
  /** Whether bulk files are taken. */
  readonly bulkImport: boolean;
  /** Absolute path of the list of blocked hosts and addresses; null for none. */
  readonly blockedUrls: string | null;
  /** Absolute path of the table of autonomous systems; null for none. */
  readonly asTable: string | null;
  /** Absolute path of the file of the AI companies' terms; null for none. */
  readonly terms: string | null;
  /** Absolute path of the file of prices; null where nothing is charged. */
  readonly prices: string | null;
  /** Whether the node fills a sandbox with samples. */
  readonly samples: boolean;
  /** Whether this node processes queued pushes. */
  readonly background: boolean;
  readonly keyLimits: KeyLimits;
  readonly http: HttpConfig;
  /** The mail server for notices; null if nothing is mailed. */
  readonly mail: MailConfig | null;
  /** How long receipts and log lines are kept. */
  readonly retention: RetentionConfig;
  /** How soon the transparency log takes up what happens, and who cosigns it. */
  readonly log: LogConfig;
  /** Whether, how often and by which resolvers the domains of endpoints are looked at. */
  readonly domains: DomainConfig;
  /** Whether and where to traces are sent. */
  readonly tracing: TraceConfig;
  readonly ops: OpsConfig;
  /** The cluster settings; null for a standalone node with the embedded default. */
  readonly cluster: ClusterConfig | null;
  /** The channels that are unencrypted in production because settings allow it. */
  readonly plainText: readonly string[];
}

export interface NodeOptions {
  readonly home?: string;
  readonly portBase?: number;
  readonly host?: string;
  readonly environment?: string;
  readonly region?: string;
  readonly logLevel?: string;
  readonly logTo?: string;
  readonly samples?: boolean;
}

export const surfaceUrls = {
  base_url: "SVC_RETRIEVAL_URL",
  business_url: "SVC_BUSINESS_URL",
  verify_url: "SVC_VERIFY_URL",
  mcp_url: "SVC_TOOLS_URL",
  portal_url: "SVC_PORTAL_URL",
} as const;

export type SurfaceUrl = keyof typeof surfaceUrls;

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** Options override the environment (`SVC_*`), which overrides the defaults. Throws {@link ConfigError}. */
export function loadConfig(options: NodeOptions = {}, env: Env = process.env): NodeConfig {
  const named = options.environment ?? env["SVC_ENVIRONMENT"] ?? "sandbox";
  const environment = parseChoice("SVC_ENVIRONMENT", named, ["sandbox", "production"]);
  const region = options.region ?? env["SVC_REGION"] ?? "local-node1";
  if (!/^[a-z]+-[a-z]+[0-9]+$/.test(region)) {
    throw new ConfigError("SVC_REGION", `is ${JSON.stringify(region)}; use a name like eu-west1`);
  }
  const home = options.home ?? env["SVC_HOME"] ?? ".svc";
  const portBase = parsePortBase(options, env);
  const level = options.logLevel ?? env["SVC_LOG_LEVEL"] ?? "info";
  const logLevel = parseChoice("SVC_LOG_LEVEL", level, logLevels);
  const samples = parseSwitch(env, "SVC_SAMPLES", "yes");
  const keys = env["SVC_KEYS"] ?? join(home, "keys");
  const sink = options.logTo ?? env["SVC_LOG_TO"] ?? (environment === "sandbox" ? "file" : "stdout");
  const logTo = parseChoice("SVC_LOG_TO", sink, sinks);
  const cluster = isClustered(env) ? parseClusterConfig(env, region) : null;
  const host = options.host ?? env["SVC_HOST"] ?? "127.0.0.1";
  return Object.freeze({
    environment,
    region,
    home: isAbsolute(home) ? home : resolve(home),
    portBase,
    host,
    logLevel,
    logTo,
    auditTo: parseChoice("SVC_AUDIT_TO", env["SVC_AUDIT_TO"] ?? logTo, sinks),
    keys: isAbsolute(keys) ? keys : resolve(keys),
    ...parseKeyConfig(env, environment),
    publicUrls: parsePublicUrls(env),
    trustedProxies: parseProxies("SVC_TRUSTED_PROXIES", env),
    passkeys: parsePasskeys(env, environment),
    contentLists: pathOf(env["SVC_CONTENT_LISTS"]),
    terms: pathOf(env["SVC_TERMS"]),
    prices: pathOf(env["SVC_PRICES"]),
    blockedUrls: pathOf(env["SVC_BLOCKED_URLS"]),
    asTable: pathOf(env["SVC_AS_TABLE"]),
    ...parseBulk(env, home),
    ads: parseAds(env),
    adImageBytesMax: parseBounded(env, adImagesMebibytesSetting) * 2 ** 20,
    evidenceBounds: {
      allMax: parseBounded(env, evidenceMebibytesSetting) * 2 ** 20,
      ofPersonMax: 256 * 2 ** 20,
      ofNetworkMax: 1_024 * 2 ** 20,
    },
    samples: options.samples ?? samples,
    background: parseChoice("SVC_BACKGROUND", env["SVC_BACKGROUND"] ?? "on", ["on", "off"]) === "on",
    keyLimits: parseKeyLimits(env),
    http: parseHttpConfig(env),
    mail: parseMail(env),
    retention: parseRetention(env),
    log: parseLog(env, environment),
    domains: parseDomains(env, environment),
    tracing: parseTracing(env),
    ops: parseOpsConfig(env, { home, host }),
    cluster,
    plainText: cluster === null ? [] : allowedPlainText(cluster, environment, env),
  });
}

// Room for at least one of the largest files.
const bulkFolderMebibytesSetting = {
  name: "SVC_BULK_FOLDER_MEBIBYTES",
  min: 512,
  max: 1_048_576,
  otherwise: 20_480,
};

const adImagesMebibytesSetting = {
  name: "SVC_AD_IMAGES_MEBIBYTES",
  min: 16,
  max: 1_048_576,
  otherwise: 10_240,
};

const evidenceMebibytesSetting = {
  name: "SVC_EVIDENCE_MEBIBYTES",
  min: 16,
  max: 1_048_576,
  otherwise: 10_240,
};

/** The folder is in the home folder unless it is set; a cluster stages its files in its store. */
function parseBulk(
  env: Env,
  home: string,
): Pick<NodeConfig, "bulkFolder" | "bulkFolderMebibytes" | "bulkImport"> {
  const bulkImport = parseSwitch(env, "SVC_BULK_IMPORT", "yes");
  const folder = resolve(env["SVC_BULK_FOLDER"] ?? join(home, "bulk"));
  const bulkFolderMebibytes = parseBounded(env, bulkFolderMebibytesSetting);
  return { bulkImport, bulkFolderMebibytes, bulkFolder: bulkImport ? folder : null };
}

function pathOf(text: string | undefined): string | null {
  return text === undefined ? null : resolve(text);
}

const sinks = ["file", "stdout"] as const;

/** The secrets of a cluster node; null for a standalone one. Throws {@link ConfigError}. */
export function loadSecrets(config: NodeConfig, env: Env = process.env): ClusterSecrets | null {
  return config.cluster === null ? null : parseClusterSecrets(env, config.cluster);
}

function parsePublicUrls(env: Env): NodeConfig["publicUrls"] {
  const urls: Partial<Record<SurfaceUrl, string>> = {};
  for (const [surface, setting] of Object.entries(surfaceUrls)) {
    const text = env[setting];
    if (text === undefined) continue;
    const url = URL.parse(text);
    const isPlain = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
    if (!isPlain)
      throw new ConfigError(
        setting,
        `is ${JSON.stringify(text)}; use scheme and host only, such as https://api.example`,
      );
    urls[surface as SurfaceUrl] = url.origin;
  }
  return Object.freeze(urls);
}

function isClustered(env: Env): boolean {
  const store = parseChoice("SVC_STORE", env["SVC_STORE"] ?? "sqlite", ["sqlite", "cassandra"]);
  if (store === "cassandra") return true;
  const idle = [...clusterSettings, ...plainTextSettings].find((name) => env[name] !== undefined);
  if (idle !== undefined) {
    throw new ConfigError(
      idle,
      "has no effect on a node with the embedded stores; set SVC_STORE=cassandra, or unset it",
    );
  }
  return false;
}

function parsePortBase(options: NodeOptions, env: Env): number {
  const portBase = options.portBase ?? parsePort(env["SVC_PORT_BASE"] ?? "7300");
  if (Number.isInteger(portBase) && portBase >= 0 && portBase <= 65_530) return portBase;
  throw new ConfigError("SVC_PORT_BASE", `is ${portBase}; use a port from 1 to 65530, the first of six`);
}

function parsePort(text: string): number {
  return /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
}

// How ads are paid.

interface AdConfig {
  /** ISO 4217: campaigns in other currencies are refused. */
  readonly currency: string;
  /** The share of a gross price that the AI company earns, in per cent. */
  readonly sharePercent: number;
}

function parseAds(env: Env): AdConfig {
  const currency = env["SVC_AD_CURRENCY"] ?? "EUR";
  if (!currencies.codes.has(currency))
    throw new ConfigError(
      "SVC_AD_CURRENCY",
      `is ${JSON.stringify(currency)}; use an ISO 4217 code such as EUR`,
    );
  const share = { name: "SVC_AD_SHARE_PERCENT", min: 1, max: 100, otherwise: 70 };
  return { currency, sharePercent: parseBounded(env, share) };
}

// How soon the transparency log takes up what happens, and who cosigns its checkpoints.

type LogConfig = LogIntervals & WitnessConfig;

/** A sandbox shows a proof while its user watches; the specification sequences hourly, and receipt batches as they close. */
const leafSeconds = { sandbox: 5, production: 3_600 } as const;
const seconds = { min: 0, max: 86_400 };

/** Throws {@link ConfigError}. */
function parseLog(env: Env, environment: Environment): LogConfig {
  const leaves = { ...seconds, name: "SVC_LOG_INTERVAL_SECONDS", otherwise: leafSeconds[environment] };
  const receipts = { ...seconds, name: "SVC_LOG_RECEIPTS_SECONDS", otherwise: 1 };
  return Object.freeze({
    leafMs: parseBounded(env, leaves) * 1_000,
    receiptsMs: parseBounded(env, receipts) * 1_000,
    ...parseWitnesses(env),
  });
}

// Background processing of this node: queued pushes, unless an operator has switched them off or too many chunks wait.

/** Number of chunks that wait for their turn on this node above which nobody should wait for a further push. */
export const chunksWaitingMax = 1_024;

export interface NodeBackground extends Background {
  /** False if an operator has switched it off: no queued push is processed here. */
  readonly isOn: boolean;
}

export function createBackground(
  isOn: boolean,
  stats: () => Pick<ActorSystemStats, "activitiesWaiting">,
): NodeBackground {
  return { isOn, isAvailable: () => isOn && stats().activitiesWaiting <= chunksWaitingMax };
}
