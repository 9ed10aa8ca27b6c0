// Minimal conditional batches: the statements of the actor store (a fence and a row) in separate partitions, one for each
// batch in flight, so that none waits for another.

import { randomUUID } from "node:crypto";
import { neverWakes } from "../../storage/cassandra/actor-rows.ts";
import type { CassandraSession, Statement } from "../../storage/cassandra/session.ts";

const kind = "floor";
const cql = {
  begin: "UPDATE actor SET epoch = 1, head = 0, op = ? WHERE kind = ? AND id = ?",
  firstRow: "INSERT INTO actor (kind, id, rt, k, k2) VALUES (?, ?, 0, 0, '')",
  advance: `UPDATE actor SET head = ?, op = ?, wake_at = ? WHERE kind = ? AND id = ?
    IF epoch = ? AND head = ? AND op = ?`,
  put: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, 16, 0, ?, ?) USING TTL ?",
} as const;

/** As long as the service keeps a nonce whose signature is valid for five minutes. */
const nonceSeconds = 370;

interface Lane {
  readonly id: string;
  head: number;
  op: string;
}

export class BatchLanes {
  readonly #session: CassandraSession;
  readonly #free: Lane[] = [];

  private constructor(session: CassandraSession) {
    this.#session = session;
  }

  static async open(session: CassandraSession, count: number): Promise<BatchLanes> {
    const lanes = new BatchLanes(session);
    for (let at = 0; at < count; at += 1) {
      const lane: Lane = { id: randomUUID(), head: 0, op: randomUUID() };
      const statements: Statement[] = [
        { cql: cql.begin, params: [lane.op, kind, lane.id] },
        { cql: cql.firstRow, params: [kind, lane.id] },
      ];
      await session.batch(statements, { idempotent: true });
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
