// Nodes in two regions on real engines, each in its own process, with a keyspace and indices for this run.

import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createCqlClient } from "../../tools/engines/cassandra.ts";
import { freePorts } from "../../tools/free-ports.ts";
import type { Child } from "../child.ts";
import type { EnginePlace } from "../floor/engines.ts";
import type { PushNode } from "../publishing.ts";
import { type Server, targetOf } from "../requests.ts";
import type { World } from "../world.ts";
import type { BenchEngines } from "./engines.ts";

export interface ClusterNode extends Server, PushNode {
  readonly name: string;
  readonly region: string;
  /** The address at which other nodes find it, which determines placement. */
  readonly address: string;
  readonly baseUrl: string;
}

/** What the parts of the section are given. */
export interface Regions {
  readonly world: World;
  readonly setting: ClusterSetting;
  /** One node of each region. */
  readonly nodes: readonly ClusterNode[];
  /** The one that is asked. */
  readonly node: ClusterNode;
}

export class ClusterSetting implements AsyncDisposable {
  readonly engines: BenchEngines;
  readonly name = `b${process.pid.toString(36)}${Date.now().toString(36)}`;
  readonly keysFolder: string;
  readonly #world: World;
  readonly #folder: string;
  readonly #secret = randomBytes(32).toString("hex");
  readonly #children = new Set<Child>();

  constructor(world: World, engines: BenchEngines) {
    this.engines = engines;
    this.#world = world;
    this.#folder = world.path("cluster");
    this.keysFolder = join(this.#folder, "keys");
  }

  /** Prefix of the region's index names. */
  indexPrefix(region: string): string {
    return `${this.name}-${region}-`;
  }

  /** Where the floor finds a region's engines. */
  placeOf(region: string): EnginePlace {
    const { regions, cassandra, elastic } = this.engines;
    const at = regions.indexOf(region);
    return {
      ...{ region, keyspace: this.name },
      ...{ cassandra: cassandra[at] ?? "", elastic: elastic[at] ?? "" },
    };
  }

  /** Starts a node; if `again` names one that has ended, restarts that one. */
  async start(region: string, again: ClusterNode | null = null): Promise<ClusterNode> {
    const name = again?.name ?? `${region}-${this.#children.size}`;
    const address = again?.address ?? `127.0.0.1:${await freePorts(1)}`;
    const home = join(this.#folder, name);
    await mkdir(home, { recursive: true, mode: 0o700 });
    const child = this.#world.start();
    this.#children.add(child);
    const env = this.#env(region, address, home);
    const urls = await child.call("serve.ts", "join", env);
    const { base_url: baseUrl, business_url: businessUrl } = urls;
    return { name, region, address, baseUrl, businessUrl, target: targetOf(baseUrl), child };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) await child[Symbol.asyncDispose]();
    await this.#dropTraces();
  }

  #env(region: string, address: string, home: string): Readonly<Record<string, string>> {
    const { regions } = this.engines;
    const { cassandra, elastic } = this.placeOf(region);
    return {
      SVC_STORE: "cassandra",
      SVC_ENVIRONMENT: "sandbox",
      SVC_CLUSTER_NAME: this.name,
      SVC_CLUSTER_SECRET: this.#secret,
      SVC_REGION: region,
      SVC_REGIONS: regions.join(","),
      SVC_CASSANDRA: cassandra,
      SVC_CASSANDRA_KEYSPACE: this.name,
      SVC_CASSANDRA_REPLICATION: regions.map((each) => `${each}:1`).join(","),
      SVC_ELASTICSEARCH: elastic,
      SVC_NODE_LISTEN: address,
      SVC_PORT_BASE: "0",
      SVC_HOME: home,
      SVC_KEYS: this.keysFolder,
      SVC_SAMPLES: "no",
      SVC_LOG_TO: "file",
      SVC_LOG_LEVEL: "warn",
    };
  }

  /** Removes this run's data from engines that were not started for it and keep running. */
  async #dropTraces(): Promise<void> {
    const { cassandra, elastic, regions } = this.engines;
    const [address = ""] = (cassandra[0] ?? "").split(":");
    const client = createCqlClient({ address, dataCenter: regions[0] ?? "" });
    try {
      await client.connect();
      await client.execute(`DROP KEYSPACE IF EXISTS ${this.name}`, [], { readTimeout: 60_000 });
    } finally {
      await client.shutdown();
    }
    for (const url of elastic) {
      const answer = await fetch(`${url}/_cat/indices/${this.name}-*?h=index&expand_wildcards=all`);
      const names = answer.ok ? (await answer.text()).split("\n").filter((each) => each !== "") : [];
      for (const each of names) await fetch(`${url}/${each}`, { method: "DELETE" });
    }
  }
}
