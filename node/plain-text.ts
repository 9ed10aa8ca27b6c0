// What a node sends in the clear. In a sandbox that is nobody's secret; in production each such channel is refused unless
// a setting of its own says that the network beneath it may be trusted, and readiness goes on saying so.

import type { ClusterConfig } from "./cluster-config.ts";
import { ConfigError } from "./config-error.ts";

interface Channel {
  readonly name: string;
  /** `yes` for: in the clear, on a network of the operators' own. Null where nothing allows that. */
  readonly setting: string | null;
  readonly isPlain: (cluster: ClusterConfig) => boolean;
  readonly fix: string;
  /** The setting that is named where nothing allows it. */
  readonly missing: string;
}

const channels: readonly Channel[] = [
  {
    name: "cassandra",
    setting: "SVC_CASSANDRA_INSECURE",
    isPlain: ({ cassandra }) => cassandra.tls === null,
    fix: "name the authority of its certificates in SVC_CASSANDRA_CA_FILE",
    missing: "SVC_CASSANDRA_CA_FILE",
  },
  {
    name: "elasticsearch",
    setting: "SVC_ELASTICSEARCH_INSECURE",
    isPlain: ({ elasticsearch }) => !elasticsearch.url.startsWith("https:"),
    fix: "name an https URL in SVC_ELASTICSEARCH",
    missing: "SVC_ELASTICSEARCH",
  },
  {
    // Nodes know each other by their certificates; the secret that a sandbox has instead is no replacement.
    name: "other nodes",
    setting: null,
    isPlain: ({ tls }) => tls === null,
    fix: "give the node a certificate with SVC_NODE_TLS_KEY_FILE, SVC_NODE_TLS_CERT_FILE and SVC_NODE_TLS_CA_FILE",
    missing: "SVC_NODE_TLS_CERT_FILE",
  },
];

/** Settings of this file, which say nothing to a node on the embedded default. */
export const plainTextSettings: readonly string[] = channels.flatMap(({ setting }) => setting ?? []);

/** Names of the channels that are in the clear in production, each allowed by its setting. Throws {@link ConfigError} for any other. */
export function allowedPlainText(
  cluster: ClusterConfig,
  environment: "sandbox" | "production",
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const plain = channels.filter((channel) => channel.isPlain(cluster));
  for (const setting of plainTextSettings) {
    const value = env[setting] ?? "no";
    if (value !== "yes" && value !== "no")
      throw new ConfigError(setting, `is ${JSON.stringify(value)}; use yes or no`);
  }
  if (environment === "sandbox") return [];
  const refused = plain.find(({ setting }) => setting === null || env[setting] !== "yes");
  if (refused === undefined) return plain.map((channel) => channel.name);
  const { name, setting, fix, missing } = refused;
  if (setting === null)
    throw new ConfigError(
      missing,
      `is not set, but a production node speaks to ${name} only over mutual TLS; ${fix}`,
    );
  throw new ConfigError(
    setting,
    `is not set, so traffic to ${name} would be in the clear; ${fix}, or set it to yes on a network that nobody else reaches`,
  );
}
