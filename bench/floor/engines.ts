// In a child process, the floors on real engines. Clients, statements and threads are those of the service.
//   Fetch and search: the bare signed server, which does for every request, in sequence: query Elasticsearch or read the record
//   from Cassandra; make one signature; store the nonce with one conditional batch; write one receipt. It answers with given bytes.
//   Durable calls: conditional batches with the rows of the recorded commits, with the same concurrency, which are prepared
//   beforehand; nothing is decided, built or kept in memory.
//   A push: the versions, heads and catalogue rows that ours stored are written to Cassandra again, and its rows sent to every
//   region's Elasticsearch again, under other ids, in parallel and with as many concurrent requests as ours may have. Everything is
//   prepared beforehand; nothing is judged, signed or journaled.

import { randomInt, randomUUID } from "node:crypto";
import { rowPut } from "../../collections/row-change.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { ActorCommit, ActorRef } from "../../storage/actor-store.ts";
import { neverWakes } from "../../storage/cassandra/actor-rows.ts";
import { stampOfChange } from "../../storage/cassandra/columns.ts";
import { catalogueWrites, headText } from "../../storage/cassandra/record-store.ts";
import {
  type CassandraSession,
  openCassandraSession,
  type Statement,
} from "../../storage/cassandra/session.ts";
import { type BulkRequest, bulkRequests } from "../../storage/elasticsearch/bulk.ts";
import { Engine } from "../../storage/elasticsearch/engine.ts";
import type { Stored } from "../serve.ts";
import { inLanes, msOf, type Spent, spend, sumOf } from "../work.ts";
import { type AnswerPlan, BareServer, keyId, newRetrievalId } from "./bare-server.ts";

export interface EnginePlace {
  /** `host:port` of the region's Cassandra node, and the region's name. */
  readonly cassandra: string;
  readonly region: string;
  readonly keyspace: string;
  readonly elastic: string;
}

export interface EngineFloorPlan extends AnswerPlan {
  readonly place: EnginePlace;
  readonly lanes: number;
  /** The Elasticsearch query for each request body. Any other request is a fetch. */
  readonly queries: ReadonlyMap<string, Pick<Parameters<Engine["read"]>[0], "path" | "body">>;
}

export function openSession({ cassandra, region, keyspace }: EnginePlace): Promise<CassandraSession> {
  return openCassandraSession({ contactPoints: [cassandra], localDc: region, keyspace });
}

const shards = 32;
const kind = "floor";
const plain = { idempotent: true } as const;
const fenced = { idempotent: false } as const;
/** As long as the service keeps a nonce whose signature is valid for five minutes. */
const nonceSeconds = 370;
const ofActor = "WHERE kind = ? AND id = ?";
const servedColumns =
  "generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row, cert_id, published_at";
const cql = {
  readRecord: `SELECT head, ${servedColumns} FROM record WHERE record_id = ? LIMIT 1`,
  receipt: `INSERT INTO receipt (region, name, shard, retrieval_id, key_id, nonce, billable, served_at, envelope)
    VALUES ('floor', ?, ?, ?, ?, ?, false, ?, ?)`,
  begin: `UPDATE actor SET epoch = ?, head = ?, op = ? ${ofActor}`,
  firstRow: "INSERT INTO actor (kind, id, rt, k, k2) VALUES (?, ?, 0, 0, '')",
  advance: `UPDATE actor SET head = ?, op = ?, wake_at = ? ${ofActor} IF epoch = ? AND head = ? AND op = ?`,
  nonce: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, 16, 0, ?, ?) USING TTL ?",
  snapshot: `UPDATE actor SET head = ?, op = ?, wake_at = ?, snap_seq = ?, snap = ?, schema_v = ? ${ofActor}
    IF epoch = ? AND head = ? AND op = ?`,
  prune: `DELETE FROM actor ${ofActor} AND rt = 1 AND k <= ?`,
  remove: `DELETE FROM actor ${ofActor} AND rt = ? AND k = ? AND k2 = ?`,
  put: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, ?, ?, ?, ?)",
  version: `INSERT INTO record (record_id, ${servedColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  head: "UPDATE record USING TIMESTAMP ? SET head = ? WHERE record_id = ?",
} as const;

/** Brings an actor to a state from which a fenced batch continues. */
function beginning(
  key: readonly [string, string],
  { epoch, head, op }: { readonly epoch: number; readonly head: number; readonly op: string },
): Statement[] {
  return [
    { cql: cql.begin, params: [epoch, head, op, ...key] },
    { cql: cql.firstRow, params: key },
  ];
}

async function commitFenced(session: CassandraSession, batch: readonly Statement[]): Promise<void> {
  const { applied } = await session.batch(batch, fenced);
  if (!applied) throw new Error("a batch was refused that nobody competes with");
}

/**
 * Keeps nonces with one conditional batch each (a fence and a row) in so many separate partitions, one for each batch in flight, so
 * that none waits for another.
 */
async function openLanes(
  session: CassandraSession,
  count: number,
): Promise<(nonce: string) => Promise<void>> {
  const free: { readonly id: string; head: number; op: string }[] = [];
  for (let at = 0; at < count; at += 1) {
    const lane = { id: randomUUID(), head: 0, op: randomUUID() };
    await session.batch(beginning([kind, lane.id], { ...lane, epoch: 1 }), plain);
    free.push(lane);
  }
  return async (nonce) => {
    const lane = free.pop();
    if (lane === undefined) throw new Error("there are more requests at once than lanes");
    const op = randomUUID();
    await commitFenced(session, [
      { cql: cql.advance, params: [lane.head + 1, op, neverWakes, kind, lane.id, 1, lane.head, lane.op] },
      { cql: cql.nonce, params: [kind, lane.id, nonce, new Uint8Array(), nonceSeconds] },
    ]);
    lane.head += 1;
    lane.op = op;
    free.push(lane);
  };
}

const closing = new AsyncDisposableStack();

export const close = () => closing.disposeAsync();

export async function listen(plan: EngineFloorPlan): Promise<number> {
  const session = closing.adopt(await openSession(plan.place), (opened) => opened.close());
  const keep = await openLanes(session, plan.lanes);
  const engine = closing.adopt(new Engine({ nodes: [plan.place.elastic] }), (opened) => opened.close());
  const readRecord = async (url: string): Promise<void> => {
    const { rows } = await session.execute(cql.readRecord, [url.slice(url.lastIndexOf("/") + 1)], plain);
    if (rows.length === 0) throw new Error(`there is no record ${url}`);
  };
  const server = new BareServer(plan, async ({ request, body, nonce }) => {
    const query = plan.queries.get(body.toString());
    if (query !== undefined) await engine.read({ method: "POST", ...query });
    else await readRecord(request.url ?? "");
    await server.sign();
    await keep(nonce);
    const nowMs = Date.now();
    const place = [`${Math.floor(nowMs / 60_000)}-floor`, randomInt(shards), newRetrievalId(nowMs)];
    await session.execute(cql.receipt, [...place, keyId, nonce, nowMs, envelope], plain);
    return server.nextBody();
  });
  const envelope = utf8(server.envelope);
  return await closing.adopt(server, (opened) => opened.close()).listen();
}

export interface EngineReplay {
  readonly place: EnginePlace;
  /** In an order in which each actor's own commits follow one another. */
  readonly commits: readonly ActorCommit[];
  readonly callers: number;
}

const claimsAtOnce = 64;

export async function replay({ place, commits, callers }: EngineReplay): Promise<number> {
  const session = await openSession(place);
  try {
    const run = randomUUID();
    // Every actor is in its state before the first of its commits.
    const begins = [...Map.groupBy(commits, ({ ref }) => ref.id).values()].map(([first]) => {
      const { ref, epoch, expectedHead: head, expectedOp: op } = first as ActorCommit;
      return beginning(keyOf(ref, run), { epoch, head, op });
    });
    await inLanes(claimsAtOnce, begins.length, (at) => session.batch(begins[at] ?? [], plain));
    const batches = commits.map((commit) => ({ id: commit.ref.id, batch: batchOf(commit, run) }));
    const last = new Map<string, Promise<void>>();
    const sendInOrder = (at: number): Promise<void> => {
      const { id, batch } = batches[at] as (typeof batches)[number];
      const done = (last.get(id) ?? Promise.resolve()).then(() => commitFenced(session, batch));
      last.set(id, done);
      return done;
    };
    return await msOf(() => inLanes(callers, batches.length, sendInOrder));
  } finally {
    await session.close();
  }
}

/** A partition key that no other run uses. */
function keyOf({ kind, id }: ActorRef, run: string): readonly [string, string] {
  return [kind, `${run}/${id}`];
}

function batchOf(commit: ActorCommit, run: string): readonly Statement[] {
  const { ref, epoch, expectedHead, expectedOp, op, wakeAtMs, snapshot, deletes, puts } = commit;
  const key = keyOf(ref, run);
  const head = [expectedHead + 1, op, wakeAtMs ?? neverWakes];
  const fence = [...key, epoch, expectedHead, expectedOp];
  const advance = { cql: cql.advance, params: [...head, ...fence] };
  return [
    ...(snapshot === undefined ? [advance] : snapshotOf(snapshot, key, head, fence)),
    ...deletes.map(({ rt, k, k2 }) => ({ cql: cql.remove, params: [...key, rt, k, k2] })),
    ...puts.map(({ rt, k, k2, body }) => ({ cql: cql.put, params: [...key, rt, k, k2, utf8(body)] })),
  ];
}

function snapshotOf(
  { seq, body, schemaVersion }: NonNullable<ActorCommit["snapshot"]>,
  key: readonly string[],
  head: Statement["params"],
  fence: Statement["params"],
): readonly Statement[] {
  return [
    { cql: cql.snapshot, params: [...head, seq, utf8(body), schemaVersion, ...fence] },
    { cql: cql.prune, params: [...key, seq] },
  ];
}

export interface EnginePush {
  readonly place: EnginePlace;
  /** Every region's Elasticsearch and the alias through which its rows are written. */
  readonly indexes: readonly { readonly elastic: string; readonly alias: string }[];
  readonly stored: readonly Stored[];
  /**
   * The records are written once for each mark, which makes the ids, and so the rows, different from those of any other
   * run: base 32 digits.
   */
  readonly marks: readonly string[];
}

/** The same limits as in the service's stores: storage/cassandra/record-store.ts, storage/elasticsearch/row-index.ts. */
const writesAtOnce = 128;
const bulksAtOnce = 4;

/** What it took until every index could find the rows. */
export async function push({ place, indexes, stored, marks }: EnginePush): Promise<Spent> {
  const session = await openSession(place);
  const engines = indexes.map(({ elastic, alias }) => ({ alias, engine: new Engine({ nodes: [elastic] }) }));
  try {
    const spent = await Array.fromAsync(marks, (mark) => {
      const marked = stored.map((each) => markedWith(each, mark));
      const writes = [...marked.map(recordWrite), ...catalogueWrites(marked.map(({ head }) => head))];
      const requests = bulkRequests(marked.map(({ version, head }) => rowPut("products", head, version.row)));
      return spend(() =>
        Promise.all([
          new Semaphore(writesAtOnce).all(writes.map((each) => () => session.batch(each, plain))),
          ...engines.map(({ engine, alias }) => indexAll(engine, alias, requests)),
        ]),
      );
    });
    const refresh = ({ engine, alias }: (typeof engines)[number]) =>
      engine.write({ method: "POST", path: `/${alias}/_refresh` });
    return sumOf([...spent, await spend(() => Promise.all(engines.map(refresh)))]);
  } finally {
    await session.close();
    for (const { engine } of engines) await engine.close();
  }
}

/** Replaces the last digits of the id; the relative order of ids with the same prefix does not matter here. */
function markedWith({ version, head }: Stored, mark: string): Stored {
  const record_id = version.record_id.slice(0, -mark.length) + mark;
  return { version: { ...version, record_id }, head: { ...head, record_id } };
}

function recordWrite({ version, head }: Stored): readonly Statement[] {
  const { record_id: id, generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row } = version;
  const facts = [seal_id, leaf_index ?? undefined, proof, sidecar, row, version.cert_id];
  const params = [id, generation, hash, bytes, ...facts, version.published_at_ms, Date.now() * 1_000];
  return [
    { cql: cql.version, params },
    { cql: cql.head, params: [stampOfChange(head.change), headText(head), id] },
  ];
}

async function indexAll(engine: Engine, alias: string, requests: readonly BulkRequest[]): Promise<void> {
  const path = `/${alias}/_bulk?require_alias=true&filter_path=errors`;
  await new Semaphore(bulksAtOnce).all(
    requests.map(({ lines }) => async () => {
      const answer = await engine.write({ method: "POST", path, lines });
      if ((answer as { readonly errors?: unknown }).errors !== false) throw new Error("a row was refused");
    }),
  );
}
