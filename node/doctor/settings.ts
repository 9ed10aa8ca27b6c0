// Findings from the environment alone: every setting that a node would refuse, and every one that it accepts although it is
// unsafe.

import { nearestName } from "../../protocol/shape.ts";
import { type ClusterSecrets, plainTextSettings } from "../configuration/cluster-config.ts";
import {
  loadConfig,
  loadSecrets,
  type NodeConfig,
  type SurfaceUrl,
  surfaceUrls,
} from "../configuration/config.ts";
import { ConfigError, type Env } from "../configuration/config-error.ts";
import { isLoopback, limitPresets } from "../configuration/http-config.ts";
import { type Finding, findingOf } from "./finding.ts";

/** Every setting that the environment of a node may have. A test checks it against the source and the docs. */
export const settingNames: readonly string[] = [
  "SVC_ADDRESS_CONNECTIONS_MAX",
  "SVC_AD_CURRENCY",
  "SVC_AD_IMAGES_MEBIBYTES",
  "SVC_AD_SHARE_PERCENT",
  "SVC_ANALYTICS_RETENTION_DAYS",
  "SVC_AS_TABLE",
  "SVC_AUDIT_TO",
  "SVC_BACKGROUND",
  "SVC_BLOCKED_URLS",
  "SVC_BODY_BYTES_MAX",
  "SVC_BULK_FOLDER",
  "SVC_BULK_FOLDER_MEBIBYTES",
  "SVC_BULK_IMPORT",
  "SVC_BUSINESS_URL",
  "SVC_CALLER_BODY_BYTES_MAX",
  "SVC_CASSANDRA",
  "SVC_CASSANDRA_CA_FILE",
  "SVC_CASSANDRA_CERT_FILE",
  "SVC_CASSANDRA_INSECURE",
  "SVC_CASSANDRA_KEYSPACE",
  "SVC_CASSANDRA_KEY_FILE",
  "SVC_CASSANDRA_PASSWORD",
  "SVC_CASSANDRA_REPLICATION",
  "SVC_CASSANDRA_TLS_NAME",
  "SVC_CASSANDRA_USERNAME",
  "SVC_CLUSTER_NAME",
  "SVC_CLUSTER_SECRET",
  "SVC_CLUSTER_SECRET_ALSO",
  "SVC_CONFIG",
  "SVC_CONNECTIONS_MAX",
  "SVC_CONNECTION_REQUESTS_MAX",
  "SVC_CONTENT_LISTS",
  "SVC_DOMAIN_CHECKS",
  "SVC_DOMAIN_GRACE_SECONDS",
  "SVC_DOMAIN_INTERVAL_SECONDS",
  "SVC_DOMAIN_RESOLVERS",
  "SVC_ELASTICSEARCH",
  "SVC_ELASTICSEARCH_CA_FILE",
  "SVC_ELASTICSEARCH_INSECURE",
  "SVC_ELASTICSEARCH_PASSWORD",
  "SVC_ELASTICSEARCH_USERNAME",
  "SVC_ENVIRONMENT",
  "SVC_EVIDENCE_MEBIBYTES",
  "SVC_HOLD_DAYS",
  "SVC_HOME",
  "SVC_HOST",
  "SVC_HOSTS",
  "SVC_ISSUANCE",
  "SVC_ISSUANCE_SECRET_FILE",
  "SVC_KEYS",
  "SVC_KEY_QUERY_COST_PER_MINUTE",
  "SVC_KEY_REGION_BINDING",
  "SVC_KEY_REQUESTS_PER_SECOND",
  "SVC_LOG_INTERVAL_SECONDS",
  "SVC_LOG_LEVEL",
  "SVC_LOG_MEBIBYTES",
  "SVC_LOG_RECEIPTS_SECONDS",
  "SVC_LOG_RETENTION_DAYS",
  "SVC_LOG_TO",
  "SVC_LOG_WITNESSES",
  "SVC_LOG_WITNESS_PRIVATE",
  "SVC_LOG_WITNESS_QUORUM",
  "SVC_NODE_ADDRESS",
  "SVC_NODE_LISTEN",
  "SVC_NODE_TLS_CA_FILE",
  "SVC_NODE_TLS_CERT_FILE",
  "SVC_NODE_TLS_KEY_FILE",
  "SVC_NOTICE_FROM",
  "SVC_NOTICE_RECIPIENTS",
  "SVC_OPS_ACT_GROUPS",
  "SVC_OPS_CLUSTER_GROUPS",
  "SVC_OPS_HOSTS",
  "SVC_OPS_LISTEN",
  "SVC_OPS_MONEY_GROUPS",
  "SVC_OPS_PARTIES_GROUPS",
  "SVC_OPS_PROXIES",
  "SVC_OPS_PROXY_GROUPS_HEADER",
  "SVC_OPS_PROXY_USER_HEADER",
  "SVC_OPS_READ_GROUPS",
  "SVC_OPS_READ_TOKEN_FILE",
  "SVC_OPS_TAKEDOWNS_GROUPS",
  "SVC_OPS_TOKEN_FILE",
  "SVC_OTLP_ENDPOINT",
  "SVC_PASSKEY_ORIGINS",
  "SVC_PASSKEY_RP_IDS",
  "SVC_PORTAL_URL",
  "SVC_PORT_BASE",
  "SVC_PRICES",
  "SVC_PURGE_AFTER_HOURS",
  "SVC_RECEIPT_RETENTION_DAYS",
  "SVC_REGION",
  "SVC_REGIONS",
  "SVC_REPLICATE_BEFORE_ACK",
  "SVC_RETRIEVAL_URL",
  "SVC_SAMPLES",
  "SVC_SMTP_CA_FILE",
  "SVC_SMTP_PASSWORD_FILE",
  "SVC_SMTP_URL",
  "SVC_STORE",
  "SVC_TERMS",
  "SVC_TOOLS_URL",
  "SVC_TRACE_RATIO",
  "SVC_TRUSTED_PROXIES",
  "SVC_VERIFY_URL",
];

export interface Settings {
  /**
   * The configuration as a production node would read it, with stand-ins for what it refuses; null if that is impossible.
   */
  readonly config: NodeConfig | null;
  readonly secrets: ClusterSecrets | null;
  readonly findings: readonly Finding[];
}

/** A node stops at the first setting that it refuses; with these stand-ins the others are examined as well. */
const standIns: Env = {
  SVC_CASSANDRA: "127.0.0.1",
  SVC_ELASTICSEARCH: "https://127.0.0.1:9200",
  ...Object.fromEntries(plainTextSettings.map((name) => [name, "yes"])),
};
const refusalsMax = 64;

export function readSettings(env: Env): Settings {
  const findings: Finding[] = [];
  if (env["SVC_ENVIRONMENT"] !== "production") {
    findings.push({
      code: "not_production",
      where: "SVC_ENVIRONMENT",
      problem: `is ${env["SVC_ENVIRONMENT"] ?? "not set"}, so the node would be a sandbox, which makes its own roots`,
      fix: "Set it to production.",
    });
  }
  const tried: Record<string, string | undefined> = { ...env, SVC_ENVIRONMENT: "production" };
  const config = whileRefused(tried, findings, () => loadConfig({}, tried));
  const secrets = config === null ? null : whileRefused(tried, findings, () => loadSecrets(config, tried));
  if (config === null) return { config, secrets, findings };
  for (const check of checks) findings.push(...check(config, env));
  if (secrets !== null) findings.push(...secretFindings(config, env));
  return { config, secrets, findings };
}

function whileRefused<T>(
  tried: Record<string, string | undefined>,
  findings: Finding[],
  load: () => T,
): T | null {
  for (let refusals = 0; refusals < refusalsMax; refusals += 1) {
    try {
      return load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      findings.push(findingOf("setting_refused", error));
      const { setting } = error;
      const instead = standIns[setting];
      if (tried[setting] === instead) return null;
      tried[setting] = instead;
    }
  }
  return null;
}

type Check = (config: NodeConfig, env: Env) => readonly Finding[];

const checks: readonly Check[] = [
  unknownFindings,
  plainTextFindings,
  runtimeFindings,
  urlFindings,
  limitFindings,
  listFindings,
  witnessFindings,
  opsFindings,
  sandboxFindings,
  userFindings,
];

function plainTextFindings(_config: NodeConfig, env: Env): readonly Finding[] {
  return plainTextSettings
    .filter((setting) => env[setting] === "yes")
    .map((setting) => ({
      code: "plain_text_allowed",
      where: setting,
      problem: "sends passwords and customers' data in the clear, where anybody on the path can read them",
      fix: "Set up TLS on that channel (docs/production.md), and unset it.",
    }));
}

function runtimeFindings(_config: NodeConfig, env: Env): readonly Finding[] {
  const findings: Finding[] = [];
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    findings.push({
      code: "tls_unverified",
      where: "NODE_TLS_REJECT_UNAUTHORIZED",
      problem: "is 0, so any certificate would be accepted",
      fix: "Unset it, and name the authority of each engine in its …_CA_FILE.",
    });
  }
  if (/--inspect/.test(env["NODE_OPTIONS"] ?? "")) {
    findings.push({
      code: "debugger_open",
      where: "NODE_OPTIONS",
      problem: "opens a debugger, and anybody who can reach it controls the node",
      fix: "Remove --inspect from it.",
    });
  }
  return findings;
}

/** An operator may offer no tool server: it then has no address of its own, and the node answers it under none. */
const surfacesNeeded: readonly SurfaceUrl[] = ["base_url", "business_url", "verify_url"];

function urlFindings({ publicUrls, trustedProxies }: NodeConfig): readonly Finding[] {
  const findings: Finding[] = [];
  for (const surface of Object.keys(surfaceUrls) as SurfaceUrl[]) {
    const [where, url] = [surfaceUrls[surface], publicUrls[surface]];
    if (url === undefined && surfacesNeeded.includes(surface)) {
      findings.push({
        code: "url_missing",
        where,
        problem:
          "is not set, so callers would be told to sign requests for the node's own address, in the clear",
        fix: "Set it to the address at which callers reach the surface, such as https://api.example.",
      });
    }
    if (url?.startsWith("http:") !== true) continue;
    findings.push({
      code: "url_plain",
      where,
      problem: `is ${url}: the questions and answers of companies could be read and changed on the way`,
      fix: "Terminate TLS at the load balancer, and name the https address.",
    });
  }
  if (Object.keys(publicUrls).length > 0 && trustedProxies.length === 0) {
    findings.push({
      code: "proxies_missing",
      where: "SVC_TRUSTED_PROXIES",
      problem: "is not set, so behind a load balancer every caller would have the balancer's address",
      fix: "Name the addresses that the load balancer's connections come from.",
    });
  }
  return findings;
}

/** Limits are on unless a setting disables them. */
function limitFindings(_config: NodeConfig, env: Env): readonly Finding[] {
  return Object.entries(limitPresets)
    .filter(([where]) => /^0+$/.test(env[where] ?? ""))
    .map(([where, preset]) => ({
      code: "limit_missing",
      where,
      problem: "is 0, which removes the limit, so one caller could use up the node",
      fix: `Unset it, and the limit is ${preset}; or set what one caller may use of one node.`,
    }));
}

/** A misspelt name sets nothing. */
function unknownFindings(_config: NodeConfig, env: Env): readonly Finding[] {
  return Object.keys(env)
    .filter((name) => name.startsWith("SVC_") && env[name] !== undefined && !settingNames.includes(name))
    .map((where) => {
      const near = nearestName(where, settingNames);
      return {
        code: "setting_unknown",
        where,
        problem: "is not a setting of a node and has no effect",
        fix: `Unset it${near === null ? "" : `, or correct its name: ${near} is one`}.`,
      };
    });
}

function listFindings({ contentLists }: NodeConfig): readonly Finding[] {
  if (contentLists !== null) return [];
  return [
    {
      code: "lists_missing",
      where: "SVC_CONTENT_LISTS",
      problem:
        "is not set, so records may link to any host, and may use the name of any brand that no certificate has",
      fix: "Name the file of protected names and blocked hosts, the same on every node.",
    },
  ];
}

function witnessFindings({ log: { witnesses, quorum } }: NodeConfig): readonly Finding[] {
  if (quorum > 0) return [];
  return [
    {
      code: "log_unwitnessed",
      where: witnesses.length === 0 ? "SVC_LOG_WITNESSES" : "SVC_LOG_WITNESS_QUORUM",
      problem: `lets the log's checkpoints be published with 0 of ${witnesses.length} cosignatures, so nobody but its readers holds the log to one tree`,
      fix: "Name witnesses that others run, and how many of them have to cosign (docs/log.md).",
      warning: true,
    },
  ];
}

function opsFindings({ ops }: NodeConfig): readonly Finding[] {
  if (isLoopback(ops.host) || ops.hosts.length > 0) return [];
  return [
    {
      code: "ops_hosts_missing",
      where: "SVC_OPS_HOSTS",
      problem: `is not set while the operations surface listens on ${ops.host}, which other machines reach`,
      fix: "Leave the surface on 127.0.0.1, or name the values of Host that it accepts.",
    },
  ];
}

function sandboxFindings(_config: NodeConfig, env: Env): readonly Finding[] {
  if (env["SVC_SAMPLES"] === undefined) return [];
  return [
    {
      code: "sandbox_left",
      where: "SVC_SAMPLES",
      problem: "is a setting of sandboxes",
      fix: "Unset it, and check which other settings were copied from a sandbox.",
    },
  ];
}

function userFindings({ cluster }: NodeConfig): readonly Finding[] {
  if (cluster === null) return [];
  const users = [
    ["SVC_CASSANDRA_USERNAME", cluster.cassandra.username, "cassandra"],
    ["SVC_ELASTICSEARCH_USERNAME", cluster.elasticsearch.username, "elastic"],
  ] as const;
  return users.flatMap(([where, name, first]): readonly Finding[] => {
    if (name === null) {
      return [
        {
          code: "no_password",
          where,
          problem: "is not set, so the engine would accept anybody without a password",
          fix: "Create a role for the nodes (docs/hardening.md), and set user name and password.",
        },
      ];
    }
    if (name !== first) return [];
    return [
      {
        code: "default_user",
        where,
        problem: `is ${first}, the engine's first superuser, whose password attackers try first`,
        fix: "Create a role for the nodes (docs/hardening.md), and disable that user.",
      },
    ];
  });
}

const passwordLengthMin = 16;
const secretSettings = ["SVC_CASSANDRA_PASSWORD", "SVC_ELASTICSEARCH_PASSWORD"];

function secretFindings({ cluster }: NodeConfig, env: Env): readonly Finding[] {
  const findings: Finding[] = [];
  const users = [cluster?.cassandra.username, cluster?.elasticsearch.username];
  for (const where of ["SVC_CASSANDRA_PASSWORD", "SVC_ELASTICSEARCH_PASSWORD"]) {
    const text = env[where];
    if (text === undefined) continue;
    if (text.length >= passwordLengthMin && !users.includes(text) && new Set(text).size > 8) continue;
    findings.push({
      code: "secret_weak",
      where,
      problem: `has fewer than ${passwordLengthMin} characters, has few different ones, or is a user's name`,
      fix: "Make one with `openssl rand -hex 32`.",
    });
  }
  const given = secretSettings.filter((name) => env[name] !== undefined);
  const shared = given.filter((name) => given.some((other) => other !== name && env[other] === env[name]));
  if (shared.length > 0) {
    findings.push({
      code: "secret_shared",
      where: shared.join(", "),
      problem: "are the same secret: anybody who learns it in one place has all of them",
      fix: "Give each its own secret.",
    });
  }
  return findings;
}
