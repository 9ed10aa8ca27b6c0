// The stores of a node in a cluster: Cassandra and Elasticsearch.

import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isSoonForgotten, placementOf } from "../../actors/messages/refs.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { type CassandraActorStore, openCassandraActorStore } from "../../storage/cassandra/actor-store.ts";
import { openCassandraClusterStore } from "../../storage/cassandra/cluster-store.ts";
import { openCassandraEventStore } from "../../storage/cassandra/event-store.ts";
import { openCassandraEvidenceStore } from "../../storage/cassandra/evidence-store.ts";
import { openCassandraFenceLedger } from "../../storage/cassandra/fence-ledger.ts";
import { openCassandraImageStore } from "../../storage/cassandra/image-store.ts";
import { openCassandraInsightStore } from "../../storage/cassandra/insight-store.ts";
import { ensureKeyspace, putInRegion, takeOutRegion } from "../../storage/cassandra/keyspaces.ts";
import { openCassandraListStore } from "../../storage/cassandra/list-store.ts";
import { openCassandraLogStore } from "../../storage/cassandra/log-store.ts";
import { migrate, readSchemaVersion, SchemaTooNew } from "../../storage/cassandra/migrations.ts";
import { openCassandraReceiptStore } from "../../storage/cassandra/receipt-store.ts";
import { openCassandraRecordStore } from "../../storage/cassandra/record-store.ts";
import { openCassandraRegisterStore } from "../../storage/cassandra/register-store.ts";
import {
  type CassandraConnection,
  type CassandraTls,
  openCassandraSession,
} from "../../storage/cassandra/session.ts";
import { openCassandraStagingArea } from "../../storage/cassandra/staging-area.ts";
import { type ClusterStore, StoreError } from "../../storage/cluster-store.ts";
import { ElasticRowIndex, type ElasticRowIndexOptions } from "../../storage/elasticsearch/row-index.ts";
import type { EvidenceBounds } from "../../storage/evidence-store.ts";
import { hostOf, namesHost } from "../../transport/ws/listener.ts";
import type { MutualTls } from "../../transport/ws/transport.ts";
import type { ClusterConfig, ClusterSecrets } from "../configuration/cluster-config.ts";
import { ConfigError } from "../configuration/config-error.ts";
import { keepElasticIndex } from "../keeping/index-keeping.ts";
import type { NodeStores, StoresOptions } from "./stores.ts";

/** For a region that the configuration no longer mentions. */
const copiesMin = 1;

export interface EngineStores extends NodeStores {
  readonly actorStore: CassandraActorStore;
  readonly clusterStore: ClusterStore;
  readonly index: ElasticRowIndex;
  /** The schema version that this program knows, and the one that is stored. */
  readonly schema: { readonly known: number; readonly read: () => Promise<number> };
  /** Removes a lost region's data centre from the keyspace, or adds one back, to be filled before nodes start there. */
  readonly takeOut: (region: string) => Promise<void>;
  readonly putIn: (region: string) => Promise<void>;
}

/** What is known of the other regions only once the node is a member. */
export interface RegionsView {
  homeAllowed(ref: ActorRef, home: string): boolean;
  isDead(region: string): boolean;
}

/** Connects to the engines and brings the schema up to date. Throws {@link ConfigError} or the engine's error. */
export async function openEngineStores(
  cluster: ClusterConfig,
  secrets: ClusterSecrets,
  options: StoresOptions & {
    readonly region: string;
    readonly regions: RegionsView;
    readonly analyticsDays: number;
    readonly bulkImport: boolean;
    readonly adImageBytesMax: number;
    readonly evidenceBounds: EvidenceBounds;
  },
): Promise<EngineStores> {
  const { region, clock, log, regions } = options;
  const layout = await indexOptions(cluster, secrets, region);
  const connection = await connectionOf(cluster, secrets, region);
  const { keyspace } = cluster.cassandra;
  await ensureKeyspace(connection, keyspace, cluster.cassandra.replication).catch((error: unknown) =>
    refuseKeyspace(error, region),
  );
  const session = await openCassandraSession({ ...connection, keyspace });
  try {
    const known = await migrate(session).catch(refuseSchema);
    const index = new ElasticRowIndex(layout);
    const { now } = clock;
    const records = openCassandraRecordStore(session, {
      now,
      replicateBeforeAck: cluster.replicateBeforeAck,
    });
    const keeping = keepElasticIndex(index, { records, now, log });
    const deadRegions = (): ReadonlySet<string> =>
      new Set(cluster.regions.filter((each) => regions.isDead(each)));
    return {
      index,
      // Another machine does it, and has a queue of its own.
      searchPlaces: Number.POSITIVE_INFINITY,
      missingIndexes: keeping.missing,
      indexBlock: () => index.writeBlock(),
      actorStore: openCassandraActorStore(session, {
        region,
        now,
        homeAllowed: regions.homeAllowed,
        deadRegions,
        partyOf,
        isListed: (kind) => !isSoonForgotten(kind),
        replicateBeforeAck: cluster.replicateBeforeAck,
      }),
      clusterStore: openCassandraClusterStore(session),
      records,
      receipts: openCassandraReceiptStore(session, { now }),
      registerStore: openCassandraRegisterStore(session, { now, onBehind: saying(log, "register.behind") }),
      eventStore: openCassandraEventStore(session, now),
      insightStore: openCassandraInsightStore(session, { now, retentionDays: options.analyticsDays }),
      fenceLedger: openCassandraFenceLedger(session, cluster.regions),
      staging: options.bulkImport ? openCassandraStagingArea(session, cluster) : null,
      logStore: openCassandraLogStore(session),
      evidenceStore: openCassandraEvidenceStore(session, { ...cluster, now, bounds: options.evidenceBounds }),
      listStore: openCassandraListStore(session, { ...cluster, now }),
      imageStore: openCassandraImageStore(session, { ...cluster, now, bytesMax: options.adImageBytesMax }),
      takeOut: (lost) => takeOutRegion(session, lost),
      putIn: (back) => putInRegion(session, back, cluster.cassandra.replication[back] ?? copiesMin),
      schema: { known, read: () => readSchemaVersion(session) },
      close: async () => {
        await keeping.stop();
        await index.close();
        await session.close();
      },
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

function saying(log: StoresOptions["log"], event: string): (entries: number, reason: unknown) => void {
  return (entries, reason) =>
    log({ level: "warn", event, actor: "", detail: `${entries}: ${String(reason)}` });
}

function partyOf(ref: ActorRef): string | null {
  const placement = placementOf(ref);
  return "party" in placement ? placement.party : null;
}

/** The connection settings for Cassandra. Throws {@link ConfigError} for a file that cannot be read. */
export async function connectionOf(
  { cassandra }: ClusterConfig,
  secrets: ClusterSecrets,
  region: string,
): Promise<CassandraConnection> {
  const { contactPoints, username, tls } = cassandra;
  const password = secrets.cassandraPassword;
  return {
    contactPoints,
    localDc: region,
    ...(username === null || password === null ? {} : { credentials: { username, password } }),
    ...(tls === null ? {} : { tls: await readCassandraTls(tls) }),
  };
}

async function readCassandraTls({
  caFile,
  serverName,
  client,
}: NonNullable<ClusterConfig["cassandra"]["tls"]>): Promise<CassandraTls> {
  return {
    ca: await readSetting("SVC_CASSANDRA_CA_FILE", caFile),
    ...(serverName === null ? {} : { serverName }),
    ...(client === null
      ? {}
      : {
          client: {
            key: await readSetting("SVC_CASSANDRA_KEY_FILE", client.keyFile),
            cert: await readSetting("SVC_CASSANDRA_CERT_FILE", client.certFile),
          },
        }),
  };
}

/** The connection settings for the region's index cluster. Throws {@link ConfigError} for a file that cannot be read. */
export async function indexOptions(
  { elasticsearch, name }: ClusterConfig,
  secrets: ClusterSecrets,
  region: string,
): Promise<ElasticRowIndexOptions> {
  const { url, username, caFile } = elasticsearch;
  const password = secrets.elasticsearchPassword;
  return {
    nodes: [url],
    prefix: `${name.replaceAll("_", "-")}-${region}-`,
    ...(username === null || password === null ? {} : { auth: { username, password } }),
    ...(caFile === null ? {} : { ca: await readSetting("SVC_ELASTICSEARCH_CA_FILE", caFile) }),
  };
}

/** The files for mutual TLS between nodes. Throws {@link ConfigError} for one that no other node would accept. */
export async function readTls({ tls, address }: ClusterConfig): Promise<MutualTls | null> {
  if (tls === null) return null;
  const key = await readSetting("SVC_NODE_TLS_KEY_FILE", tls.keyFile);
  const cert = await readSetting("SVC_NODE_TLS_CERT_FILE", tls.certFile);
  assertNamed(cert, hostOf(address), tls.certFile);
  return { key, cert, ca: await readSetting("SVC_NODE_TLS_CA_FILE", tls.caFile) };
}

function assertNamed(cert: string, host: string, path: string): void {
  const setting = "SVC_NODE_TLS_CERT_FILE";
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    throw new ConfigError(setting, `${path} holds no certificate in PEM`);
  }
  if (namesHost(certificate, host)) return;
  const named = certificate.subjectAltName ?? "no host";
  throw new ConfigError(
    setting,
    `${path} names ${named}, but the others reach this node at ${host} (SVC_NODE_ADDRESS); issue a certificate with that as a subject alternative name`,
  );
}

async function readSetting(setting: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigError(setting, `${path} cannot be read (${String(error)}); name a PEM file`);
  }
}

/** Attributes a failure of the first exchange with Cassandra to the setting that is most likely wrong. */
function refuseKeyspace(error: unknown, region: string): never {
  if (!(error instanceof StoreError)) throw error;
  const { message } = error;
  if (/data ?cent(er|re)/i.test(message) && message.includes(region))
    throw new ConfigError("SVC_REGION", `${message}; a region has the name of its data centre`);
  if (/NetworkTopologyStrategy|replication/i.test(message))
    throw new ConfigError("SVC_CASSANDRA_REPLICATION", `${message}; name the cluster's data centres`);
  throw new ConfigError("SVC_CASSANDRA", `${message}; is it running there?`);
}

function refuseSchema(error: unknown): never {
  if (!(error instanceof SchemaTooNew)) throw error;
  throw new ConfigError("SVC_CASSANDRA_KEYSPACE", error.message);
}
