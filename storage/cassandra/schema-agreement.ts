// Changes of the schema, and when all nodes know of them.
//   G1. All changes of a session go through one node, so that each finds what those before it made.
//   G2. A change is settled once every node that is up has the same schema. Nodes tell each other by gossip, about
//       once a second, so a series of changes is settled once, at its end.

import { setTimeout as delay } from "node:timers/promises";
import type cassandra from "cassandra-driver";
import { StoreError } from "../actor-store.ts";

const defineTimeoutMs = 60_000;
const settleMs = 60_000;
const pollMs = 50;

export class SchemaChanges {
  readonly #client: cassandra.Client;
  readonly #localDc: string;
  #host: cassandra.Host | null = null;

  constructor(client: cassandra.Client, localDc: string) {
    this.#client = client;
    this.#localDc = localDc;
  }

  async define(cql: string): Promise<void> {
    const options = { prepare: false, isIdempotent: false, readTimeout: defineTimeoutMs };
    await this.#client.execute(cql, [], { ...options, host: this.#defining() });
  }

  /** G2. Throws StoreError `unknown` when the nodes do not come to agree. */
  async settle(): Promise<void> {
    const untilMs = performance.now() + settleMs;
    while (!(await this.#isAgreed())) {
      if (performance.now() > untilMs) {
        throw new StoreError("unknown", "the nodes of Cassandra do not agree on the schema");
      }
      await delay(pollMs);
    }
  }

  /** G1. */
  #defining(): cassandra.Host {
    if (this.#host?.isUp() !== true) {
      const hosts = this.#client.hosts.values();
      this.#host = hosts.find((host) => host.datacenter === this.#localDc && host.isUp()) ?? null;
    }
    if (this.#host === null) throw new StoreError("not_applied", "no node of Cassandra is up");
    return this.#host;
  }

  async #isAgreed(): Promise<boolean> {
    const options = { prepare: false, isIdempotent: true, host: this.#defining() };
    const [own, peers] = await Promise.all([
      this.#client.execute("SELECT schema_version FROM system.local", [], options),
      this.#client.execute("SELECT peer, schema_version FROM system.peers", [], options),
    ]);
    const versions = new Set(own.rows.map((row) => String(row.get("schema_version"))));
    for (const row of peers.rows) {
      if (this.#isUp(String(row.get("peer")))) versions.add(String(row.get("schema_version")));
    }
    return versions.size === 1;
  }

  /** A node that is down learns of the schema when it comes back. */
  #isUp(peer: string): boolean {
    const host = this.#client.hosts.values().find(({ address }) => address.startsWith(`${peer}:`));
    return host === undefined || host.isUp();
  }
}
