// Child process, floor of fetch and search on real engines: a bare `node:http` server that does for every request, in
// sequence, the work that no implementation could skip: verify one signature; query Elasticsearch or read the record from
// Cassandra; make one signature; store the nonce with one conditional batch; write one receipt. It answers with given
// bytes. Clients, statements and threads are those of the service.

import { generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { type CassandraSession, openCassandraSession } from "../../storage/cassandra/session.ts";
import { Engine } from "../../storage/elasticsearch/engine.ts";
import { answerParent } from "../answer-parent.ts";
import { cpuTimes } from "../cpu-times.ts";
import { BatchLanes } from "./engine-lanes.ts";
import type { FloorPlan } from "./serve.ts";

export interface EnginePlace {
  /** `host:port` of the region's Cassandra node, and the region's name. */
  readonly cassandra: string;
  readonly region: string;
  readonly keyspace: string;
  /** URL of the region's Elasticsearch. */
  readonly elastic: string;
}

export interface EngineQuery {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface EngineFloorPlan extends Omit<FloorPlan, "file"> {
  readonly place: EnginePlace;
  /** Maximum number of concurrent requests. */
  readonly lanes: number;
  /** The Elasticsearch query for each request body. Any other request is a fetch. */
  readonly queries: ReadonlyMap<string, EngineQuery>;
}

const nonceOf = /;nonce="([^"]{16,128})"/;
const shards = 32;
const signAsync = promisify<null, Uint8Array, KeyObject, Buffer>(sign);
const cql = {
  record: `SELECT head, generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row, cert_id, published_at
    FROM record WHERE record_id = ? LIMIT 1`,
  receipt: `INSERT INTO receipt (region, name, shard, retrieval_id, key_id, nonce, billable, served_at, envelope)
    VALUES ('floor', ?, ?, ?, ?, ?, false, ?, ?)`,
} as const;
const plain = { idempotent: true } as const;

class EngineFloor {
  readonly server: Server;
  readonly #plan: EngineFloorPlan;
  readonly #session: CassandraSession;
  readonly #engine: Engine;
  readonly #lanes: BatchLanes;
  readonly #request: { readonly key: KeyObject; readonly base: Uint8Array; readonly signature: Uint8Array };
  readonly #receipt: { readonly key: KeyObject; readonly message: Uint8Array; readonly envelope: string };
  #next = 0;

  constructor(plan: EngineFloorPlan, session: CassandraSession, lanes: BatchLanes) {
    this.#plan = plan;
    this.#session = session;
    this.#lanes = lanes;
    this.#engine = new Engine({ nodes: [plan.place.elastic] });
    const [caller, region] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    const base = randomBytes(plan.signatureBaseLength);
    this.#request = { key: caller.publicKey, base, signature: sign(null, base, caller.privateKey) };
    const envelope = "e".repeat(plan.envelopeLength);
    this.#receipt = { key: region.privateKey, message: randomBytes(plan.receiptLength), envelope };
    this.server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        console.error(error);
        response.writeHead(500, { "content-length": 0 }).end();
      });
    });
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await this.#engine.close();
    await this.#session.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { key, base, signature } = this.#request;
    const asked = (await buffer(request)).toString();
    const nonce = nonceOf.exec(String(request.headers["signature-input"]))?.[1];
    if (nonce === undefined || !verify(null, base, key, signature)) {
      response.writeHead(401, { "content-length": 0 }).end();
      return;
    }
    const query = this.#plan.queries.get(asked);
    if (query !== undefined) await this.#engine.read({ method: "POST", ...query });
    else await this.#readRecord(request.url ?? "");
    await signAsync(null, this.#receipt.message, this.#receipt.key);
    await this.#lanes.keep(nonce);
    await this.#keepReceipt(nonce);
    const body = this.#plan.bodies[this.#next % this.#plan.bodies.length] ?? new Uint8Array();
    this.#next += 1;
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
    response.end(body);
  }

  async #readRecord(url: string): Promise<void> {
    const { rows } = await this.#session.execute(cql.record, [url.slice(url.lastIndexOf("/") + 1)], plain);
    if (rows.length === 0) throw new Error(`there is no record ${url}`);
  }

  async #keepReceipt(nonce: string): Promise<void> {
    const nowMs = Date.now();
    const random = randomBytes(10);
    const id = `ret_${nowMs.toString(16).padStart(12, "0")}${random.toString("hex")}`;
    const batch = `${Math.floor(nowMs / 60_000)}-floor`;
    const shard = (random[0] ?? 0) % shards;
    const facts = ["k".repeat(43), nonce, nowMs, this.#receipt.envelope];
    await this.#session.execute(cql.receipt, [batch, shard, id, ...facts], plain);
  }
}

let floor: EngineFloor | null = null;

/** Starts to listen and returns the port. */
async function listen(plan: EngineFloorPlan): Promise<number> {
  const { cassandra, region, keyspace } = plan.place;
  const session = await openCassandraSession({ contactPoints: [cassandra], localDc: region, keyspace });
  const started = new EngineFloor(plan, session, await BatchLanes.open(session, plan.lanes));
  floor = started;
  await new Promise<void>((resolve) => started.server.listen(0, "127.0.0.1", resolve));
  return (started.server.address() as AddressInfo).port;
}

answerParent({ listen, cpuTimes }, async () => floor?.close());
