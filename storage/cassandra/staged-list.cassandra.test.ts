// The list of what is staged on a real engine, with a clock that the test moves.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RecordStore, stagedPages } from "../record-store.ts";
import { hasCassandra, mostPassedOver, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { recordTables } from "./migrations.ts";
import { openCassandraRecordStore } from "./record-store.ts";
import type { CassandraSession } from "./session.ts";
import { stagedSlotMs } from "./staged-pushes.ts";

const dayMs = 86_400_000;
const many = 3_000;
const minuteMs = 60_000;

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  let session: CassandraSession;
  let region: string;
  let nowMs: number;
  let store: RecordStore;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(recordTables);
    session = await keyspace.connect();
  });
  afterAll(async () => {
    await session?.close();
    await keyspace?.[Symbol.asyncDispose]();
  });
  /** A node of a region of its own, which shares the engine with the others. */
  const nodeOf = (localDc: string, change: Partial<CassandraSession> = {}) =>
    openCassandraRecordStore(
      { ...session, execute: session.execute.bind(session), ...change, localDc },
      { now: () => nowMs },
    );
  beforeEach(() => {
    nowMs = Math.ceil(Date.now() / stagedSlotMs) * stagedSlotMs;
    region = `region-${randomUUID()}`;
    store = nodeOf(region);
  });

  const stage = async (count: number, prefix: string = randomUUID()) => {
    const ids = Array.from({ length: count }, (_, at) => `${prefix}.${String(at).padStart(5, "0")}`);
    await inHundreds(ids, (id) => store.putStagedDocument(id, "plan", "{}"));
    return ids;
  };
  const listed = async (ids: readonly string[], node = store, limit = 1_000) => {
    const found = new Map<string, number>();
    for await (const { pushes } of stagedPages(node, limit))
      for (const { push_id, staged_at_ms } of pushes) found.set(push_id, staged_at_ms);
    return new Map(ids.flatMap((id) => (found.has(id) ? [[id, found.get(id)]] : [])));
  };
  /** The beginnings of the slots in which the test's own region lists the push. */
  const entriesOf = async (id: string) => {
    const { rows } = await session.execute("SELECT region, slot, push_id FROM staged_push", [], {
      idempotent: true,
      fetchSize: 100_000,
    });
    return rows
      .filter((row) => row["push_id"] === id && row["region"] === region)
      .map((row) => Number(row["slot"]) * stagedSlotMs)
      .sort();
  };

  it("SL2: no read passes over deleted rows, however many pushes were staged and dropped", async () => {
    const ids = await stage(many);
    const [kept = "", ...dropped] = ids;
    await inHundreds(dropped, (id) => store.dropStaged(id));
    for (let look = 0; look < 4; look += 1) {
      expect([...(await listed(ids, nodeOf(region))).keys()]).toEqual([kept]);
      nowMs += stagedSlotMs;
    }
    expect(await mostPassedOver(session, "staged_push")).toBeLessThanOrEqual(10);
    const { rows } = await session.execute("SELECT push_id, region FROM staged_push", [], {
      idempotent: true,
      fetchSize: 10_000,
    });
    expect(rows.filter((row) => row["region"] === region)).toHaveLength(1);
  });

  it("SL2: what stays staged moves on with its instant, through pages of any size, and goes when it is dropped", async () => {
    const ids = await stage(5);
    const beganMs = nowMs;
    const expected = new Map(ids.map((id) => [id, beganMs]));
    for (const limit of [1, 2, 100, 1_000]) {
      nowMs += 3 * stagedSlotMs;
      expect(await listed(ids, nodeOf(region), limit)).toEqual(expected);
      expect(await entriesOf(ids[0] ?? "")).toEqual([nowMs]);
    }
    for (const id of ids) await store.dropStaged(id, beganMs);
    expect(await listed(ids)).toEqual(new Map());
  });

  it("SL1, SL4: a push that is staged in several slots is whole when it is dropped, and its other entries go with their slots", async () => {
    const [id = ""] = await stage(1);
    nowMs += stagedSlotMs;
    await store.stageLeaves(id, 0, [new Uint8Array([1])]);
    expect(await entriesOf(id)).toEqual([nowMs - stagedSlotMs, nowMs]);
    await store.dropStaged(id, nowMs - stagedSlotMs);
    expect([...(await listed([id])).values()]).toEqual([nowMs]);
    await store.dropStaged(id, nowMs);
    expect([await store.loadLeaves(id, 0, 1), await store.readStagedDocument(id, "plan")]).toEqual([
      [],
      null,
    ]);
    nowMs += 2 * stagedSlotMs;
    expect(await listed([id])).toEqual(new Map());
  });

  it("SL1: a push that is staged again after it was dropped is listed again, in its slot and in a later one", async () => {
    const [id = ""] = await stage(1);
    for (const laterMs of [0, 1, stagedSlotMs, dayMs]) {
      nowMs += laterMs;
      await store.dropStaged(id);
      expect(await listed([id])).toEqual(new Map());
      await store.stageLeaves(id, 0, [new Uint8Array([1])]);
      expect([...(await listed([id], nodeOf(region))).keys()]).toEqual([id]);
    }
  });

  it("SL3: a node that stood still while it listed a push lists it again", async () => {
    let pauses = 1;
    const paused = nodeOf(region, {
      execute: async (cql, params, options) => {
        if (cql.startsWith("INSERT INTO staged_push") && pauses > 0) {
          pauses -= 1;
          nowMs += 30 * minuteMs;
          // Meanwhile another node deletes the slot that it had chosen.
          await listed([], store);
        }
        return session.execute(cql, params, options);
      },
    });
    const id = randomUUID();
    await stage(1);
    await paused.stageLeaves(id, 0, [new Uint8Array([1])]);
    expect([...(await listed([id])).keys()]).toEqual([id]);
  });

  it("SL3: what another region listed is found, and kept by others only after a day", async () => {
    const [id = ""] = await stage(1);
    const other = nodeOf(`other-${randomUUID()}`);
    const stagedMs = nowMs;
    for (const laterMs of [0, dayMs / 2]) {
      nowMs += laterMs;
      expect(await listed([id], other)).toEqual(new Map([[id, stagedMs]]));
      expect(await entriesOf(id)).toEqual([stagedMs]);
    }
    nowMs += dayMs;
    expect(await listed([id], other)).toEqual(new Map([[id, stagedMs]]));
    expect(await entriesOf(id)).toEqual([]);
    await other.dropStaged(id, stagedMs);
    nowMs += 3 * stagedSlotMs;
    expect(await listed([id], other)).toEqual(new Map());
  });
});

async function inHundreds(ids: readonly string[], act: (id: string) => Promise<void>): Promise<void> {
  for (let from = 0; from < ids.length; from += 100) await Promise.all(ids.slice(from, from + 100).map(act));
}
