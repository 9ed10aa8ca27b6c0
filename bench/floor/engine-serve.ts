// Child process, floor of fetch and search on real engines: the bare signed server, which does for every request, in sequence:
// query Elasticsearch or read the record from Cassandra; make one signature; store the nonce with one conditional batch; write one
// receipt. It answers with given bytes. Clients, statements and threads are those of the service.

import { randomInt, randomUUID } from "node:crypto";
import { neverWakes } from "../../storage/cassandra/actor-rows.ts";
import { type CassandraSession, openCassandraSession } from "../../storage/cassandra/session.ts";
import { Engine } from "../../storage/elasticsearch/engine.ts";
import { type AnswerPlan, BareServer, keyId, newRetrievalId, runFloor } from "./bare-server.ts";

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

export interface EngineFloorPlan extends AnswerPlan {
  readonly place: EnginePlace;
  /** Maximum number of concurrent requests. */
  readonly lanes: number;
  /** The Elasticsearch query for each request body. Any other request is a fetch. */
  readonly queries: ReadonlyMap<string, EngineQuery>;
}

const shards = 32;
const kind = "floor";
const plain = { idempotent: true } as const;
/** As long as the service keeps a nonce whose signature is valid for five minutes. */
const nonceSeconds = 370;
const cql = {
  record: `SELECT head, generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row, cert_id, published_at
    FROM record WHERE record_id = ? LIMIT 1`,
  receipt: `INSERT INTO receipt (region, name, shard, retrieval_id, key_id, nonce, billable, served_at, envelope)
    VALUES ('floor', ?, ?, ?, ?, ?, false, ?, ?)`,
  begin: "UPDATE actor SET epoch = 1, head = 0, op = ? WHERE kind = ? AND id = ?",
  firstRow: "INSERT INTO actor (kind, id, rt, k, k2) VALUES (?, ?, 0, 0, '')",
  advance: `UPDATE actor SET head = ?, op = ?, wake_at = ? WHERE kind = ? AND id = ?
    IF epoch = ? AND head = ? AND op = ?`,
  put: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, 16, 0, ?, ?) USING TTL ?",
} as const;

interface Lane {
  readonly id: string;
  head: number;
  op: string;
}

/** Conditional batches (a fence and a row) in separate partitions, one for each batch in flight, so that none waits for another. */
class BatchLanes {
  readonly #session: CassandraSession;
  readonly #free: Lane[] = [];

  private constructor(session: CassandraSession) {
    this.#session = session;
  }

  static async open(session: CassandraSession, count: number): Promise<BatchLanes> {
    const lanes = new BatchLanes(session);
    for (let at = 0; at < count; at += 1) {
      const lane: Lane = { id: randomUUID(), head: 0, op: randomUUID() };
      const begin = { cql: cql.begin, params: [lane.op, kind, lane.id] };
      await session.batch([begin, { cql: cql.firstRow, params: [kind, lane.id] }], plain);
      lanes.#free.push(lane);
    }
    return lanes;
  }

  /** Stores a nonce with one conditional batch. */
  async keep(nonce: string): Promise<void> {
    const lane = this.#free.pop();
    if (lane === undefined) throw new Error("there are more requests at once than lanes");
    const op = randomUUID();
    const { applied } = await this.#session.batch(
      [
        { cql: cql.advance, params: [lane.head + 1, op, neverWakes, kind, lane.id, 1, lane.head, lane.op] },
        { cql: cql.put, params: [kind, lane.id, nonce, new Uint8Array(), nonceSeconds] },
      ],
      { idempotent: false },
    );
    if (!applied) throw new Error("a batch was refused that nobody competes with");
    lane.head += 1;
    lane.op = op;
    this.#free.push(lane);
  }
}

runFloor(async (plan: EngineFloorPlan) => {
  const { cassandra, region, keyspace, elastic } = plan.place;
  const session = await openCassandraSession({ contactPoints: [cassandra], localDc: region, keyspace });
  const lanes = await BatchLanes.open(session, plan.lanes);
  const engine = new Engine({ nodes: [elastic] });
  const readRecord = async (url: string): Promise<void> => {
    const { rows } = await session.execute(cql.record, [url.slice(url.lastIndexOf("/") + 1)], plain);
    if (rows.length === 0) throw new Error(`there is no record ${url}`);
  };
  const server = new BareServer(plan, async ({ request, body, nonce }) => {
    const query = plan.queries.get(body.toString());
    if (query !== undefined) await engine.read({ method: "POST", ...query });
    else await readRecord(request.url ?? "");
    await server.sign();
    await lanes.keep(nonce);
    const nowMs = Date.now();
    const place = [`${Math.floor(nowMs / 60_000)}-floor`, randomInt(shards), newRetrievalId(nowMs)];
    await session.execute(cql.receipt, [...place, keyId, nonce, nowMs, server.envelope], plain);
    return server.nextBody();
  });
  const close = async (): Promise<void> => {
    await engine.close();
    await session.close();
  };
  return { server, close };
});
