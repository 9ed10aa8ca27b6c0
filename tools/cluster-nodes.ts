// The four nodes of the local cluster, two in each of two regions: their settings and addresses.

import { join } from "node:path";

export interface RegionEngines {
  readonly region: string;
  /** Address of the region's Cassandra node. */
  readonly cassandra: string;
  /** URL of the region's Elasticsearch. */
  readonly elastic: string;
}

export interface ClusterPlan {
  readonly regions: readonly RegionEngines[];
  /** Absolute path of the folder that holds everything of the cluster. */
  readonly folder: string;
  /** First port of the first node; each node has ten. */
  readonly portBase: number;
  /** Number of copies of a row in each data centre. */
  readonly replication: number;
  /** The secret by which the nodes authenticate each other; at least 32 characters. */
  readonly secret: string;
}

export interface NodePlan {
  /** Region and letter, such as `eu-west1-a`. */
  readonly name: string;
  readonly region: string;
  readonly home: string;
  /** First of the node's six ports for people and programs. */
  readonly portBase: number;
  /** URLs of its retrieval, business, verification, tools, ops and portal surfaces. */
  readonly urls: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const nodesPerRegion = 2;
const portsPerNode = 10;
const surfaces = 6;
/** Offset of the port for other nodes, after the six of the surfaces. */
const nodePort = 6;
const address = "127.0.0.1";

/** Distance from the first to the last port of the nodes. */
export const portsSpan = (regions: number): number =>
  (regions * nodesPerRegion - 1) * portsPerNode + nodePort;

/** Where the nodes of this many regions listen. */
export function nodePlaces(portBase: number, regions: number): readonly { address: string; port: number }[] {
  return Array.from({ length: regions * nodesPerRegion }, (_, number) =>
    Array.from({ length: surfaces + 1 }, (_, index) => ({
      address,
      port: portBase + number * portsPerNode + index,
    })),
  ).flat();
}

/** The nodes in their start order: the first one fills the sandbox. */
export function planNodes(cluster: ClusterPlan): readonly NodePlan[] {
  return cluster.regions.flatMap((engines, regionIndex) =>
    Array.from({ length: nodesPerRegion }, (_, index) =>
      planNode(cluster, engines, {
        number: regionIndex * nodesPerRegion + index,
        letter: "abcd"[index] ?? "",
      }),
    ),
  );
}

function planNode(
  cluster: ClusterPlan,
  { region, cassandra, elastic }: RegionEngines,
  { number, letter }: { readonly number: number; readonly letter: string },
): NodePlan {
  const name = `${region}-${letter}`;
  const home = join(cluster.folder, name);
  const portBase = cluster.portBase + number * portsPerNode;
  const listen = `${address}:${portBase + nodePort}`;
  const names = cluster.regions.map((each) => each.region);
  return {
    name,
    region,
    home,
    portBase,
    urls: Array.from({ length: surfaces }, (_, index) => `http://${address}:${portBase + index}`),
    env: {
      SVC_STORE: "cassandra",
      SVC_ENVIRONMENT: "sandbox",
      SVC_REGION: region,
      SVC_REGIONS: names.join(","),
      SVC_CASSANDRA: cassandra,
      SVC_CASSANDRA_REPLICATION: names.map((each) => `${each}:${cluster.replication}`).join(","),
      SVC_ELASTICSEARCH: elastic,
      SVC_NODE_LISTEN: listen,
      SVC_NODE_ADDRESS: listen,
      SVC_CLUSTER_SECRET: cluster.secret,
      SVC_HOST: address,
      SVC_PORT_BASE: String(portBase),
      SVC_HOME: home,
      SVC_KEYS: join(cluster.folder, "keys"),
      SVC_SAMPLES: number === 0 ? "yes" : "no",
      SVC_LOG_TO: "file",
    },
  };
}
