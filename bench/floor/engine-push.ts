// Child process, floor of a push on real engines: the versions, heads and catalogue rows that ours stored are written to
// Cassandra again, and its rows sent to every region's Elasticsearch again, under other ids, in parallel and with as many
// concurrent requests as ours may have. Everything is prepared beforehand; nothing is judged, signed or journaled.

import { rowPut } from "../../collections/row-change.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { catalogueWrites } from "../../storage/cassandra/catalogue.ts";
import { headText } from "../../storage/cassandra/heads.ts";
import {
  type CassandraSession,
  openCassandraSession,
  type Statement,
} from "../../storage/cassandra/session.ts";
import { stampOfChange } from "../../storage/cassandra/write-timestamps.ts";
import { type BulkRequest, bulkRequests } from "../../storage/elasticsearch/bulk.ts";
import { Engine } from "../../storage/elasticsearch/engine.ts";
import { answerParent, type CpuTimes, type Spent, spendHere } from "../answer-parent.ts";
import type { Stored } from "../serve.ts";
import type { EnginePlace } from "./engine-serve.ts";

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

const served = "generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row, cert_id, published_at";
const cql = {
  version: `INSERT INTO record (record_id, ${served}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  head: "UPDATE record USING TIMESTAMP ? SET head = ? WHERE record_id = ?",
} as const;
const plain = { idempotent: true } as const;

async function run(push: EnginePush): Promise<Spent> {
  const { cassandra, region, keyspace } = push.place;
  const session = await openCassandraSession({ contactPoints: [cassandra], localDc: region, keyspace });
  const engines = push.indexes.map(({ elastic }) => new Engine({ nodes: [elastic] }));
  try {
    const total = { elapsedMs: 0, cpu: { allMs: 0, mainMs: 0 } };
    for (const mark of push.marks) {
      const marked = push.stored.map((each) => markedWith(each, mark));
      const writes = [...marked.map(recordWrite), ...catalogueWrites(marked.map(({ head }) => head))];
      const requests = bulkRequests(marked.map(({ version, head }) => rowPut("products", head, version.row)));
      await timeInto(total, () =>
        Promise.all([
          writeAll(session, writes),
          ...push.indexes.map(({ alias }, at) => indexAll(engines[at] as Engine, alias, requests)),
        ]),
      );
    }
    await timeInto(total, () =>
      Promise.all(push.indexes.map(({ alias }, at) => refresh(engines[at] as Engine, alias))),
    );
    return total;
  } finally {
    await session.close();
    for (const engine of engines) await engine.close();
  }
}

/** Adds what the work takes. */
async function timeInto(
  total: { elapsedMs: number; cpu: CpuTimes },
  work: () => Promise<unknown>,
): Promise<void> {
  const { elapsedMs, cpu } = await spendHere(work);
  total.elapsedMs += elapsedMs;
  total.cpu = { allMs: total.cpu.allMs + cpu.allMs, mainMs: total.cpu.mainMs + cpu.mainMs };
}

/** Replaces the last digits of the id; the relative order of ids with the same prefix does not matter here. */
function markedWith({ version, head }: Stored, mark: string): Stored {
  const record_id = version.record_id.slice(0, -mark.length) + mark;
  return { version: { ...version, record_id }, head: { ...head, record_id } };
}

function recordWrite({ version, head }: Stored): readonly Statement[] {
  const { record_id: id, generation, hash, bytes, seal_id, leaf_index, proof, sidecar, row } = version;
  const facts = [seal_id, leaf_index ?? undefined, proof, sidecar, row, version.cert_id];
  const stamp = Date.now() * 1_000;
  return [
    {
      cql: cql.version,
      params: [id, generation, hash, bytes, ...facts, version.published_at_ms, stamp],
    },
    { cql: cql.head, params: [stampOfChange(head.change), headText(head), id] },
  ];
}

async function writeAll(session: CassandraSession, writes: readonly (readonly Statement[])[]): Promise<void> {
  await new Semaphore(writesAtOnce).all(writes.map((write) => () => session.batch(write, plain)));
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

async function refresh(engine: Engine, alias: string): Promise<void> {
  await engine.write({ method: "POST", path: `/${alias}/_refresh` });
}

answerParent({ run });
