// What a claim asks Cassandra, counted over a session that answers as a keyspace with one actor would.

import { expect, it } from "vitest";
import { noOperation } from "./actor-rows.ts";
import { openCassandraActorStore } from "./actor-store.ts";
import type { CassandraSession, CqlResult, CqlRow } from "./session.ts";

/** Answers all questions of a round at once. */
class Keyspace implements CassandraSession {
  readonly keyspace = "k";
  readonly localDc = "r";
  #isAsked = false;
  rounds = 0;
  asked = 0;
  readonly statics: CqlRow = {
    body: Uint8Array.of(0),
    epoch: 4,
    owner: "before",
    claim: "00000000-0000-4000-8000-000000000000",
    head: 7,
    op: noOperation,
    snap_seq: 0,
    snap: null,
    schema_v: 1,
    wake_at: null,
    outbox_low: 0,
    home: "r",
    moved_from: null,
    epoch_at: 1,
  };

  execute(cql: string): Promise<CqlResult> {
    return this.#answer(() => (cql.includes("epoch") ? [{ ...this.statics }] : []));
  }

  batch(statements: Parameters<CassandraSession["batch"]>[0]): Promise<CqlResult> {
    return this.#answer(() => {
      const [epoch, owner, claim] = statements[0]?.params ?? [];
      Object.assign(this.statics, { epoch, owner, claim });
      return [];
    });
  }

  async define(): Promise<void> {}
  async close(): Promise<void> {}

  async #answer(rows: () => readonly CqlRow[]): Promise<CqlResult> {
    this.asked += 1;
    if (!this.#isAsked) this.rounds += 1;
    this.#isAsked = true;
    await new Promise((resolve) => setImmediate(resolve));
    this.#isAsked = false;
    return { applied: true, rows: rows(), pageState: null };
  }
}

it("wakes an actor in four round trips: who had it, the claim, what it left, and its rows together", async () => {
  const keyspace = new Keyspace();
  const store = openCassandraActorStore(keyspace, { region: "r", now: Date.now });
  const { head } = await store.claim({ kind: "k", id: "a" }, "now");
  expect(head).toMatchObject({ epoch: 5, owner: "now", head: 7 });
  expect([keyspace.rounds, keyspace.asked]).toEqual([4, 6]);
});
