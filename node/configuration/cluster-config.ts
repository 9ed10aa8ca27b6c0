// Configuration of a cluster node: `SVC_STORE=cassandra` and the related settings. Secrets are read separately, so that the
// configuration can be printed and logged.

import { ConfigError, type Env, parseChoice, parseSwitch } from "./config-error.ts";

export interface ClusterConfig {
  /** Nodes of different clusters never talk to each other, whatever addresses they have. */
  readonly name: string;
  /** All regions, including the node's own; a region's name is also that of its Cassandra data centre. */
  readonly regions: readonly string[];
  readonly cassandra: {
    /** `host` or `host:port` of servers in the node's own data centre. */
    readonly contactPoints: readonly string[];
    readonly keyspace: string;
    /** The number of replicas of every row, by data centre. */
    readonly replication: Readonly<Record<string, number>>;
    readonly username: string | null;
    /** The TLS settings; null if connections do not use TLS. */
    readonly tls: {
      /** The PEM file of the authority that the servers' certificates are checked against. */
      readonly caFile: string;
      /** The name in every server's certificate; null if each certificate names the addresses of its server. */
      readonly serverName: string | null;
      /** The PEM files of a client certificate; null if the servers ask for none. */
      readonly client: { readonly keyFile: string; readonly certFile: string } | null;
    } | null;
  };
  readonly elasticsearch: {
    /** The URL of the region's own index cluster. */
    readonly url: string;
    readonly username: string | null;
    readonly caFile: string | null;
  };
  /** The address at which this node accepts other nodes' connections. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The `host:port` at which other nodes find this one. */
  readonly address: string;
  /** The PEM files for mutual TLS between nodes; null for none, on a private operator network. */
  readonly tls: { readonly keyFile: string; readonly certFile: string; readonly caFile: string } | null;
  /** Whether commits are acknowledged only once every region has them. */
  readonly replicateBeforeAck: boolean;
  /** Whether keys of AI companies are answered only in their party's home region. */
  readonly bindKeysToHome: boolean;
}

export interface ClusterSecrets {
  /** At least 32 bytes of text, the same on every node; null if nodes authenticate each other by certificate. */
  readonly cluster: string | null;
  /** A second secret that nodes may prove while the secret is being rotated; null at all other times. */
  readonly alsoCluster: string | null;
  readonly cassandraPassword: string | null;
  readonly elasticsearchPassword: string | null;
}

const secretLengthMin = 32;
const regionName = /^[a-z]+-[a-z]+[0-9]+$/;
const copiesDefault = 3;

/** Settings that have no meaning for a node with the embedded default. */
export const clusterSettings: readonly string[] = [
  "SVC_CLUSTER_NAME",
  "SVC_REGIONS",
  "SVC_CASSANDRA",
  "SVC_CASSANDRA_KEYSPACE",
  "SVC_CASSANDRA_REPLICATION",
  "SVC_CASSANDRA_USERNAME",
  "SVC_CASSANDRA_PASSWORD",
  "SVC_CASSANDRA_CA_FILE",
  "SVC_CASSANDRA_TLS_NAME",
  "SVC_CASSANDRA_KEY_FILE",
  "SVC_CASSANDRA_CERT_FILE",
  "SVC_ELASTICSEARCH",
  "SVC_ELASTICSEARCH_USERNAME",
  "SVC_ELASTICSEARCH_PASSWORD",
  "SVC_ELASTICSEARCH_CA_FILE",
  "SVC_NODE_LISTEN",
  "SVC_NODE_ADDRESS",
  "SVC_NODE_TLS_KEY_FILE",
  "SVC_NODE_TLS_CERT_FILE",
  "SVC_NODE_TLS_CA_FILE",
  "SVC_CLUSTER_SECRET",
  "SVC_CLUSTER_SECRET_ALSO",
  "SVC_REPLICATE_BEFORE_ACK",
  "SVC_KEY_REGION_BINDING",
];

/** Throws {@link ConfigError} for the first setting that is missing or unusable. */
export function parseClusterConfig(env: Env, region: string): ClusterConfig {
  const regions = parseRegions(env["SVC_REGIONS"] ?? region, region);
  const listen = parseAddress("SVC_NODE_LISTEN", env["SVC_NODE_LISTEN"] ?? "127.0.0.1:7390");
  return Object.freeze({
    name: parseName("SVC_CLUSTER_NAME", env["SVC_CLUSTER_NAME"] ?? "svc"),
    regions,
    cassandra: Object.freeze({
      contactPoints: parseContactPoints(env["SVC_CASSANDRA"]),
      keyspace: parseName("SVC_CASSANDRA_KEYSPACE", env["SVC_CASSANDRA_KEYSPACE"] ?? "svc"),
      replication: parseReplication(env["SVC_CASSANDRA_REPLICATION"], regions),
      username: env["SVC_CASSANDRA_USERNAME"] ?? null,
      tls: parseCassandraTls(env),
    }),
    elasticsearch: Object.freeze({
      url: parseUrl(env["SVC_ELASTICSEARCH"]),
      username: env["SVC_ELASTICSEARCH_USERNAME"] ?? null,
      caFile: env["SVC_ELASTICSEARCH_CA_FILE"] ?? null,
    }),
    listen,
    address: formatAddress(
      parseAddress("SVC_NODE_ADDRESS", env["SVC_NODE_ADDRESS"] ?? formatAddress(listen)),
    ),
    tls: parseTls(env),
    replicateBeforeAck: parseSwitch(env, "SVC_REPLICATE_BEFORE_ACK", "no"),
    bindKeysToHome: parseBinding(env["SVC_KEY_REGION_BINDING"] ?? "none"),
  });
}

/** Throws {@link ConfigError} if a secret is missing or could be guessed. */
export function parseClusterSecrets(env: Env, config: ClusterConfig): ClusterSecrets {
  return {
    ...(config.tls === null ? parseClusterSecret(env) : withoutClusterSecret(env)),
    cassandraPassword: password(env, "SVC_CASSANDRA", config.cassandra.username),
    elasticsearchPassword: password(env, "SVC_ELASTICSEARCH", config.elasticsearch.username),
  };
}

type ClusterSecret = Pick<ClusterSecrets, "cluster" | "alsoCluster">;

function parseClusterSecret(env: Env): ClusterSecret {
  const cluster = parseSecret("SVC_CLUSTER_SECRET", env["SVC_CLUSTER_SECRET"] ?? "");
  const also = env["SVC_CLUSTER_SECRET_ALSO"];
  if (also === cluster) {
    throw new ConfigError(
      "SVC_CLUSTER_SECRET_ALSO",
      "is the secret itself; set it to the secret that is being replaced or introduced, or unset it",
    );
  }
  return { cluster, alsoCluster: also === undefined ? null : parseSecret("SVC_CLUSTER_SECRET_ALSO", also) };
}

/** A secret that nobody asks for would look like a second lock. */
function withoutClusterSecret(env: Env): ClusterSecret {
  for (const setting of ["SVC_CLUSTER_SECRET", "SVC_CLUSTER_SECRET_ALSO"]) {
    if (env[setting] === undefined) continue;
    throw new ConfigError(
      setting,
      "has no effect where nodes have certificates (SVC_NODE_TLS_CERT_FILE), by which they know each other; unset it",
    );
  }
  return { cluster: null, alsoCluster: null };
}

function parseSecret(setting: string, text: string): string {
  if (text.length < secretLengthMin) {
    throw new ConfigError(
      setting,
      `needs at least ${secretLengthMin} characters, the same on every node; make one with \`openssl rand -hex 32\``,
    );
  }
  if (!isGuessable(text)) return text;
  throw new ConfigError(
    setting,
    "repeats itself or has few different characters; make one with `openssl rand -hex 32`",
  );
}

const distinctMin = 10;

/** What a person might type to fill 32 characters. Of random texts of 32 hexadecimal digits, about 1 in 10,000 matches. */
function isGuessable(secret: string): boolean {
  const period = `${secret}${secret}`.indexOf(secret, 1);
  return period < secret.length || new Set(secret).size < distinctMin;
}

function password(env: Env, prefix: string, username: string | null): string | null {
  const given = env[`${prefix}_PASSWORD`] ?? null;
  if ((username === null) === (given === null)) return given;
  const missing = username === null ? "USERNAME" : "PASSWORD";
  throw new ConfigError(`${prefix}_${missing}`, "is missing; set both user name and password, or neither");
}

function parseRegions(text: string, own: string): readonly string[] {
  const regions = text.split(",").map((each) => each.trim());
  const wrong = regions.find((each) => !regionName.test(each));
  if (wrong !== undefined) {
    throw new ConfigError("SVC_REGIONS", `has ${JSON.stringify(wrong)}; use names like eu-west1,us-east1`);
  }
  if (!regions.includes(own)) {
    throw new ConfigError("SVC_REGIONS", `lacks ${own}, the node's own region (SVC_REGION); add it`);
  }
  if (new Set(regions).size < regions.length) {
    throw new ConfigError("SVC_REGIONS", "names a region twice; name each once");
  }
  return Object.freeze(regions);
}

function parseName(setting: string, text: string): string {
  if (/^[a-z][a-z0-9_]{0,39}$/.test(text)) return text;
  throw new ConfigError(
    setting,
    `is ${JSON.stringify(text)}; use up to 40 lower-case letters, digits and underscores`,
  );
}

function parseContactPoints(text: string | undefined): readonly string[] {
  if (text === undefined || text.trim() === "") {
    throw new ConfigError(
      "SVC_CASSANDRA",
      "is missing; name hosts of the region's data centre, such as 10.0.0.1,10.0.0.2",
    );
  }
  const points = text.split(",").map((each) => each.trim());
  for (const point of points) parseAddress("SVC_CASSANDRA", point.includes(":") ? point : `${point}:9042`);
  return Object.freeze(points);
}

function parseReplication(
  text: string | undefined,
  regions: readonly string[],
): Readonly<Record<string, number>> {
  if (text === undefined)
    return Object.freeze(Object.fromEntries(regions.map((each) => [each, copiesDefault])));
  const copies: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [, name, count] = /^\s*([a-z0-9-]+):([1-9])\s*$/.exec(part) ?? [];
    if (name === undefined || !regions.includes(name)) {
      throw new ConfigError(
        "SVC_CASSANDRA_REPLICATION",
        `has ${JSON.stringify(part)}; use REGION:COPIES for each of SVC_REGIONS`,
      );
    }
    copies[name] = Number(count);
  }
  const missing = regions.find((each) => copies[each] === undefined);
  if (missing !== undefined) {
    throw new ConfigError("SVC_CASSANDRA_REPLICATION", `does not mention ${missing}; add ${missing}:3`);
  }
  return Object.freeze(copies);
}

function parseUrl(text: string | undefined): string {
  const url = text === undefined ? null : URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "") return url.href;
  throw new ConfigError(
    "SVC_ELASTICSEARCH",
    "is missing or not a URL; name the region's index cluster, such as https://10.0.0.1:9200, without a password in it",
  );
}

function parseAddress(setting: string, text: string): { readonly host: string; readonly port: number } {
  const [, host, port] = /^(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new ConfigError(setting, `is ${JSON.stringify(text)}; use HOST:PORT`);
}

/** A name, a key or a certificate without an authority to check the servers by would look secure without being so. */
function parseCassandraTls(env: Env): ClusterConfig["cassandra"]["tls"] {
  const { SVC_CASSANDRA_CA_FILE: caFile, SVC_CASSANDRA_TLS_NAME: serverName } = env;
  const { SVC_CASSANDRA_KEY_FILE: keyFile, SVC_CASSANDRA_CERT_FILE: certFile } = env;
  if (caFile === undefined) {
    if (serverName === undefined && keyFile === undefined && certFile === undefined) return null;
    throw new ConfigError(
      "SVC_CASSANDRA_CA_FILE",
      "is missing; name the authority of the servers' certificates",
    );
  }
  if (keyFile === undefined || certFile === undefined) {
    if (keyFile === certFile) return { caFile, serverName: serverName ?? null, client: null };
    const missing = keyFile === undefined ? "SVC_CASSANDRA_KEY_FILE" : "SVC_CASSANDRA_CERT_FILE";
    throw new ConfigError(missing, "is missing; name the key and the certificate of the client, or neither");
  }
  return { caFile, serverName: serverName ?? null, client: { keyFile, certFile } };
}

/** Requires all three files or none: with a certificate that nobody checks, or none to present, nothing would be gained. */
function parseTls(env: Env): ClusterConfig["tls"] {
  const names = ["SVC_NODE_TLS_KEY_FILE", "SVC_NODE_TLS_CERT_FILE", "SVC_NODE_TLS_CA_FILE"] as const;
  const [keyFile, certFile, caFile] = names.map((name) => env[name]);
  if (keyFile !== undefined && certFile !== undefined && caFile !== undefined)
    return { keyFile, certFile, caFile };
  const missing = names.find((name) => env[name] === undefined);
  if (missing === undefined || names.every((name) => env[name] === undefined)) return null;
  throw new ConfigError(
    missing,
    `is missing; name the key, the certificate and the authority (${names.join(", ")}), or none`,
  );
}

function formatAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host}:${port}`;
}

function parseBinding(text: string): boolean {
  return parseChoice("SVC_KEY_REGION_BINDING", text, ["home", "none"]) === "home";
}

// What a node sends unencrypted. In a sandbox nothing there is secret; in production each such channel is refused unless a
// dedicated setting declares the network trustworthy, and readiness keeps reporting it.

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
  env: Env,
): readonly string[] {
  const plain = channels.filter((channel) => channel.isPlain(cluster));
  for (const setting of plainTextSettings) parseSwitch(env, setting, "no");
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
