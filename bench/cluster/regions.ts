// Nodes in two regions on real engines, each in its own process, with a keyspace and indices for this run.

import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { planNodes, portsSpan } from "../../tools/cluster-nodes.ts";
import { dropTraces } from "../../tools/engines/traces.ts";
import { freePorts } from "../../tools/free-ports.ts";
import type { EnginePlace } from "../floor/engines.ts";
import type { PushNode } from "../publishing.ts";
import { type Server, targetOf } from "../requests.ts";
import type { World } from "../world.ts";
import type { BenchEngines } from "./engines.ts";

export interface ClusterNode extends Server, PushNode {
  readonly region: string;
  /** The address at which other nodes find it, which determines placement. */
  readonly address: string;
  readonly baseUrl: string;
}

export interface Regions extends AsyncDisposable {
  readonly world: World;
  readonly engines: BenchEngines;
  readonly keysFolder: string;
  /** One node of each region, and of them the one that is asked. */
  readonly nodes: readonly ClusterNode[];
  readonly node: ClusterNode;
  /** Where the floor finds the engines of its region. */
  readonly place: EnginePlace;
  indexPrefix(region: string): string;
  /** Starts a second node in the region of the one that is asked, or restarts it when it has ended. */
  startSecond(): Promise<ClusterNode>;
}

export async function openRegions(world: World, engines: BenchEngines): Promise<Regions> {
  const name = `b${process.pid.toString(36)}${Date.now().toString(36)}`;
  const { regions, cassandra, elastic, replication } = engines;
  const [region = "", [contact = ""]] = [regions[0], cassandra];
  const folder = world.path("cluster");
  const plans = planNodes({
    regions: regions.map((each, at) => ({
      region: each,
      cassandra: cassandra[at] ?? "",
      elastic: elastic[at] ?? "",
    })),
    folder,
    portBase: await freePorts(portsSpan(regions.length) + 1),
    replication,
    secret: randomBytes(32).toString("hex"),
  });
  await using failing = new AsyncDisposableStack();
  const opening = failing.use(new AsyncDisposableStack());
  opening.defer(() => dropTraces(engines, name));
  /** The plans are of two nodes in the one region, and then of two in the other. */
  const start = async (at: number): Promise<ClusterNode> => {
    const { region, home, env } = plans[at] as (typeof plans)[number];
    await mkdir(home, { recursive: true, mode: 0o700 });
    const child = opening.use(world.start());
    const { base_url: baseUrl, business_url: businessUrl } = await child.call("serve.ts", "join", {
      ...env,
      SVC_CLUSTER_NAME: name,
      SVC_CASSANDRA_KEYSPACE: name,
      SVC_SAMPLES: "no",
      SVC_LOG_LEVEL: "warn",
    });
    const address = env["SVC_NODE_ADDRESS"] ?? "";
    return { region, address, baseUrl, businessUrl, target: targetOf(baseUrl), child };
  };
  const node = await start(0);
  const nodes = [node, await start(2)];
  failing.move();
  return {
    world,
    engines,
    keysFolder: join(folder, "keys"),
    node,
    nodes,
    place: { region, keyspace: name, cassandra: contact, elastic: elastic[0] ?? "" },
    indexPrefix: (of) => `${name}-${of}-`,
    startSecond: () => start(1),
    [Symbol.asyncDispose]: () => opening.disposeAsync(),
  };
}
