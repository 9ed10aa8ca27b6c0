// Schema changes, and waiting until all nodes know of them.
//   G1. All changes of a session go through one node, so that each change sees the results of the ones before it.
//   G2. A change is settled once every node that is up has the same schema. Nodes inform each other by gossip, about once
//       a second, so a series of changes is settled once, at its end.

import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type cassandra from "cassandra-driver";
import { StoreError } from "../actor-store.ts";

const defineTimeoutMs = 60_000;
/** A Cassandra node that missed a change asks for it again only after a minute. */
const settleMs = 150_000;
const pollMs = 50;
/** Gossip has had its time: nodes that still disagree are checked for being up at all. */
const suspectMs = 3_000;
const probeMs = 1_000;

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

  /** G2. Throws StoreError `unknown` when the nodes do not reach agreement. */
  async settle(): Promise<void> {
    const startMs = performance.now();
    for (;;) {
      const others = await this.#disagreeing();
      if (others.length === 0) return;
      const waitedMs = performance.now() - startMs;
      // A session that began after a node's end is never notified that the node is down.
      if (waitedMs > suspectMs && !(await Promise.all(others.map(isListening))).includes(true)) return;
      if (waitedMs > settleMs) {
        throw new StoreError("unknown", "the nodes of Cassandra do not agree on the schema");
      }
      await delay(pollMs);
    }
  }

  /** See G1. */
  #defining(): cassandra.Host {
    if (this.#host?.isUp() !== true) {
      const hosts = this.#client.hosts.values();
      this.#host = hosts.find((host) => host.datacenter === this.#localDc && host.isUp()) ?? null;
    }
    if (this.#host === null) throw new StoreError("not_applied", "no node of Cassandra is up");
    return this.#host;
  }

  /**
   * Nodes whose schema differs from that of the defining node. A node that is down learns the schema when it comes back.
   */
  async #disagreeing(): Promise<readonly cassandra.Host[]> {
    const options = { prepare: false, isIdempotent: true, host: this.#defining() };
    const [own, peers] = await Promise.all([
      this.#client.execute("SELECT schema_version FROM system.local", [], options),
      this.#client.execute("SELECT peer, schema_version FROM system.peers", [], options),
    ]);
    const version = String(own.rows[0]?.get("schema_version"));
    const hosts = this.#client.hosts.values();
    return peers.rows
      .filter((row) => String(row.get("schema_version")) !== version)
      .flatMap((row) => hosts.filter(({ address }) => address.startsWith(`${row.get("peer")}:`)))
      .filter((host) => host.isUp());
  }
}

function isListening(host: cassandra.Host): Promise<boolean> {
  const colon = host.address.lastIndexOf(":");
  const socket = connect({
    host: host.address.slice(0, colon),
    port: Number(host.address.slice(colon + 1)),
    timeout: probeMs,
  });
  return new Promise((resolve) => {
    const end = (listens: boolean) => () => {
      socket.destroy();
      resolve(listens);
    };
    socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
  });
}
