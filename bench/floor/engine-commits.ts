// Child process, floor of durable calls on Cassandra: conditional batches with the rows of the recorded commits, with the
// same concurrency, directly through the driver's session. The statements are prepared beforehand; nothing is decided,
// built or kept in memory.

import { randomUUID } from "node:crypto";
import type { ActorCommit, ActorRef } from "../../storage/actor-store.ts";
import { neverWakes } from "../../storage/cassandra/actor-rows.ts";
import {
  type CassandraSession,
  openCassandraSession,
  type Statement,
} from "../../storage/cassandra/session.ts";
import { answerParent } from "../answer-parent.ts";
import { inLanes, msOf } from "../lanes.ts";
import type { EnginePlace } from "./engine-serve.ts";

export interface EngineReplay {
  readonly place: EnginePlace;
  /** In an order in which each actor's own commits follow one another. */
  readonly commits: readonly ActorCommit[];
  readonly callers: number;
}

const ofActor = "WHERE kind = ? AND id = ?";
const cql = {
  begin: `UPDATE actor SET epoch = ?, head = ?, op = ? ${ofActor}`,
  firstRow: "INSERT INTO actor (kind, id, rt, k, k2) VALUES (?, ?, 0, 0, '')",
  advance: `UPDATE actor SET head = ?, op = ?, wake_at = ? ${ofActor} IF epoch = ? AND head = ? AND op = ?`,
  snapshot: `UPDATE actor SET head = ?, op = ?, wake_at = ?, snap_seq = ?, snap = ?, schema_v = ? ${ofActor}
    IF epoch = ? AND head = ? AND op = ?`,
  prune: `DELETE FROM actor ${ofActor} AND rt = 1 AND k <= ?`,
  remove: `DELETE FROM actor ${ofActor} AND rt = ? AND k = ? AND k2 = ?`,
  put: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, ?, ?, ?, ?)",
} as const;

const claimsAtOnce = 64;

/** Milliseconds that the commits took. */
async function replay({ place, commits, callers }: EngineReplay): Promise<number> {
  const { cassandra, region, keyspace } = place;
  const session = await openCassandraSession({ contactPoints: [cassandra], localDc: region, keyspace });
  try {
    const run = randomUUID();
    await beginAll(session, commits, run);
    const batches = commits.map((commit) => ({ id: commit.ref.id, batch: batchOf(commit, run) }));
    const last = new Map<string, Promise<void>>();
    const sendInOrder = (at: number): Promise<void> => {
      const { id, batch } = batches[at] as (typeof batches)[number];
      const done = (last.get(id) ?? Promise.resolve()).then(() => send(session, batch));
      last.set(id, done);
      return done;
    };
    return await msOf(() => inLanes(callers, batches.length, sendInOrder));
  } finally {
    await session.close();
  }
}

async function send(session: CassandraSession, batch: readonly Statement[]): Promise<void> {
  const { applied } = await session.batch(batch, { idempotent: false });
  if (!applied) throw new Error("a batch was refused that was applied when it was recorded");
}

/** Brings every actor to its state before the first of its commits. */
async function beginAll(
  session: CassandraSession,
  commits: readonly ActorCommit[],
  run: string,
): Promise<void> {
  const first = new Map<string, ActorCommit>();
  for (const commit of commits) if (!first.has(commit.ref.id)) first.set(commit.ref.id, commit);
  const begins = [...first.values()].map(({ ref, epoch, expectedHead, expectedOp }): Statement[] => {
    const key = keyOf(ref, run);
    return [
      { cql: cql.begin, params: [epoch, expectedHead, expectedOp, ...key] },
      { cql: cql.firstRow, params: key },
    ];
  });
  for (let from = 0; from < begins.length; from += claimsAtOnce) {
    const some = begins.slice(from, from + claimsAtOnce);
    await Promise.all(some.map((begin) => session.batch(begin, { idempotent: true })));
  }
}

/** A partition key that no other run uses. */
function keyOf({ kind, id }: ActorRef, run: string): readonly [string, string] {
  return [kind, `${run}/${id}`];
}

function batchOf(commit: ActorCommit, run: string): readonly Statement[] {
  const { ref, epoch, expectedHead, expectedOp, op, wakeAtMs, snapshot } = commit;
  const key = keyOf(ref, run);
  const head = [expectedHead + 1, op, wakeAtMs ?? neverWakes];
  const fence = [...key, epoch, expectedHead, expectedOp];
  const statements: Statement[] = [];
  if (snapshot === undefined) statements.push({ cql: cql.advance, params: [...head, ...fence] });
  else {
    const body = new TextEncoder().encode(snapshot.body);
    const params = [...head, snapshot.seq, body, snapshot.schemaVersion, ...fence];
    statements.push({ cql: cql.snapshot, params }, { cql: cql.prune, params: [...key, snapshot.seq] });
  }
  for (const each of commit.deletes)
    statements.push({ cql: cql.remove, params: [...key, each.rt, each.k, each.k2] });
  for (const row of commit.puts) {
    const body = new TextEncoder().encode(row.body);
    statements.push({ cql: cql.put, params: [...key, row.rt, row.k, row.k2, body] });
  }
  return statements;
}

answerParent({ replay });
