// The store model against the engine that it models: the same randomized operations show the same results to their caller.
// `SVC_TEST_SEED=N` repeats a sequence.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCassandraActorStore } from "../../storage/cassandra/actor-store.ts";
import {
  hasCassandra,
  openTestKeyspace,
  type TestKeyspace,
} from "../../storage/cassandra/keyspace.fixture.ts";
import { actorTables, recordTables } from "../../storage/cassandra/migrations.ts";
import { openCassandraRecordStore } from "../../storage/cassandra/record-store.ts";
import { openCassandraRegisterStore } from "../../storage/cassandra/register-store.ts";
import type { CassandraSession } from "../../storage/cassandra/session.ts";
import { Random } from "../kernel/random.ts";
import { openSimActorStore } from "./actor-store.ts";
import { openSimRecordStore } from "./record-store.ts";
import { openSimRegisterStore } from "./register-store.ts";
import { actorSteps, recordSteps, registerSteps, type Sequence } from "./same-operations.fixture.ts";
import { calmStoreModel, type StoreClient } from "./store-model.ts";

const seed = Number(process.env["SVC_TEST_SEED"] ?? 1 + Math.floor(Math.random() * 1_000_000_000));

/** Runs a sequence on both, step by step, until their results differ. */
async function compare<S>(sequence: Sequence<S>, model: S, engine: S): Promise<void> {
  const nameOf = (n: number): string => `n${seed}x${n}`;
  const [ofModel, ofEngine] = [model, engine].map((store) =>
    sequence(store, Random.of(seed), nameOf)[Symbol.asyncIterator](),
  );
  const before: string[] = [];
  for (;;) {
    const [expected, shown] = [await ofModel?.next(), await ofEngine?.next()];
    if (expected?.done === true) break;
    before.push(expected?.value?.what ?? "");
    const story = `seed ${seed}, step ${before.length}: ${before.slice(-12).join("; ")}`;
    expect(shown?.value, story).toEqual(expected?.value);
  }
  expect(before.length).toBeGreaterThan(50);
}

describe.skipIf(!hasCassandra)(`the model of the stores shows what Cassandra shows (seed ${seed})`, () => {
  const client: StoreClient = {
    model: calmStoreModel(Random.of(seed), () => Date.now()),
    life: null,
    region: "eu-west1",
  };
  const now = (): number => Date.now();
  let keyspace: TestKeyspace;
  let session: CassandraSession & { close(): Promise<void> };
  beforeAll(async () => {
    keyspace = await openTestKeyspace([...actorTables, ...recordTables]);
    session = await keyspace.connect();
  });
  afterAll(async () => {
    await session?.close();
    await keyspace?.[Symbol.asyncDispose]();
  });

  it("of actors: claims, commits, refusals and reads", () =>
    compare(
      actorSteps,
      openSimActorStore(client),
      openCassandraActorStore(session, { region: session.localDc, now }),
    ));

  it("of records: versions, heads, seals and what is staged", () =>
    compare(recordSteps, openSimRecordStore(client), openCassandraRecordStore(session, { now })));

  it("of the register: entries, lists and feeds", () =>
    compare(registerSteps, openSimRegisterStore(client), openCassandraRegisterStore(session, { now })));
});
