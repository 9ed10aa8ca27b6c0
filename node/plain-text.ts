// What a node sends unencrypted. In a sandbox nothing there is secret; in production each such channel is refused unless a
// dedicated setting declares the network trustworthy, and readiness keeps reporting it.

import type { ClusterConfig } from "./cluster-config.ts";
import { ConfigError } from "./config-error.ts";

interface Channel {
  readonly name: string;
  /** The setting whose `yes` allows plain text, on a private operator network. Null if nothing allows it. */
  readonly setting: string | null;
  readonly isPlain: (cluster: ClusterConfig) => boolean;
  readonly fix: string;
  /** The setting that the error names if nothing allows it. */
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
    // Nodes authenticate each other by certificate; the secret that a sandbox uses instead is not a replacement.
    name: "other nodes",
    setting: null,
    isPlain: ({ tls }) => tls === null,
    fix: "give the node a certificate with SVC_NODE_TLS_KEY_FILE, SVC_NODE_TLS_CERT_FILE and SVC_NODE_TLS_CA_FILE",
    missing: "SVC_NODE_TLS_CERT_FILE",
  },
];

/** Settings of this file that have no meaning for a node with the embedded default. */
export const plainTextSettings: readonly string[] = channels.flatMap(({ setting }) => setting ?? []);

/** The unencrypted channels in production, each allowed by its setting. Throws {@link ConfigError} for any other. */
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
