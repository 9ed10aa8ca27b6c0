// What is known of a push's chunks, by whichever release they were settled.

import { describe, expect, it } from "vitest";
import { answers } from "../../../actors/business/rows.ts";
import { pushFacts } from "../../../actors/facts.fixture.ts";
import type { ChunkWork } from "../../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../../actors/messages/refs.ts";
import { chunkTimes, lateIndexes } from "../../../actors/push/ports.ts";
import type { PushContext } from "../../../machines/push.ts";
import { part } from "../../../protocol/rubbish.fixture.ts";
import type { PartitionRow } from "../../../storage/actor-store.ts";
import { MemoryActorStore } from "../../../storage/memory/actor-store.ts";
import { type ChunkRoad, type JournalPart, readChunks } from "./chunk-road.ts";
import { storeRows } from "./stored-rows.fixture.ts";

const base = Date.UTC(2026, 0, 1);
const at = (ms: number): string => new Date(base + ms).toISOString();
const work: ChunkWork = {
  ...{ begun_ms: base + 1, judged_ms: base + 2, numbered_ms: base + 3, signed_ms: base + 4 },
  ...{ stored_ms: base + 5, indexed: { "eu-west1": base + 6 } },
};
const times = (chunk: number, settled_ms: number, done?: ChunkWork): PartitionRow =>
  chunkTimes.write("t", { settled_ms: base + settled_ms, ...(done ? { work: done } : {}) }, { k: chunk });

interface Given {
  readonly records: number;
  readonly settled: number;
  readonly rows?: readonly PartitionRow[];
  readonly answered?: readonly PartitionRow[];
  readonly events?: JournalPart["events"];
  readonly unindexed?: PushContext["unindexed"];
  readonly completedAtMs?: number;
  readonly fromChunk?: number;
}

async function read(given: Given): Promise<ChunkRoad> {
  const { records, settled, rows = [], answered = [], events = [], fromChunk = null } = given;
  const store = new MemoryActorStore({ now: () => base });
  const facts = pushFacts({ records });
  await storeRows(store, pushRef(facts.business_uuid, facts.push_id), rows);
  await storeRows(store, businessRef(facts.business_uuid), answered);
  const context = part<PushContext>({
    ...{ facts, chunksSettled: settled, unindexed: given.unindexed ?? [] },
    completedAtMs: given.completedAtMs ?? null,
  });
  const activations = [
    { p: 2, o: "us-east1/n2", t: base + 100 },
    { p: 1, o: "eu-west1/n1", t: base },
  ];
  const push: JournalPart = { actor: "push/x", steps: [], events, activations, isPruned: false, context };
  return readChunks(store, { facts, context, push, regions: ["eu-west1", "us-east1"], fromChunk });
}

const _settledEvent = (chunk: number, failed = false) => ({
  ...{ type: "chunk.settled", chunk, unindexed: [], at_ms: 0 },
  ...(failed ? { failed: { code: "processing_failed", detail: "d" } } : {}),
});

describe("the chunks of a push", () => {
  it("CR1: have the times of their rows, the owner of that time, and each index with when it confirmed", async () => {
    const rows = [
      times(0, 7, work),
      lateIndexes.write("us-east1", base + 50, { k: 0 }),
      times(1, 120, { ...work, stored_ms: null, indexed: {} }),
      times(2, 130),
    ];
    const unindexed = [[2, "eu-west1"]] as const;
    const { chunks, total } = await read({ records: 450, settled: 3, rows, unindexed, completedAtMs: base });
    expect(total).toBe(3);
    const [first, second, third] = chunks;
    expect(first).toMatchObject({
      ...{ state: "settled", region: "eu-west1", node: "n1", published: true, settled_at: at(7) },
      ...{ begun_at: at(1), judged_at: at(2), numbered_at: at(3), signed_at: at(4), stored_at: at(5) },
      indexes: [
        { region: "eu-west1", state: "confirmed", at: at(6) },
        { region: "us-east1", state: "confirmed", at: at(50) },
      ],
    });
    expect(second).toMatchObject({ node: "n2", published: false, stored_at: null, indexes: [] });
    expect(third).toMatchObject({
      ...{ records: 50, first_leaf: 400, state: "given_up", settled_at: at(130), judged_at: null },
      indexes: expect.arrayContaining([{ region: "eu-west1", state: "waiting", at: null }]),
    });
  });

  it("CR2: that are open have their generations as the business remembers them, until the push is over", async () => {
    const reply = { assigned_at_ms: base + 20, assignments: [] };
    const answered = [answers.write(`${pushFacts({ records: 1 }).push_id}/1`, reply)];
    const open = await read({ records: 600, settled: 1, rows: [times(0, 7, work)], answered });
    expect(open.chunks.map(({ state, numbered_at }) => [state, numbered_at])).toEqual([
      ["settled", at(3)],
      ["numbered", at(20)],
      ["open", null],
    ]);
    const over = await read({
      records: 600,
      settled: 1,
      rows: [times(0, 7, work)],
      answered,
      completedAtMs: base + 30,
    });
    expect(over.chunks.map(({ state }) => state)).toEqual(["settled", "not_processed", "not_processed"]);
  });

  it("CR3: are shown fifty at a time: those that are under way, or from the one that is asked for", async () => {
    const rows = [times(60, 7, work), times(3, 7, work)];
    const newest = await read({ records: 20_000, settled: 61, rows });
    expect([newest.fromChunk, newest.chunks.length, newest.total]).toEqual([18, 50, 100]);
    expect(newest.chunks.find(({ chunk }) => chunk === 60)?.signed_at).toBe(at(4));
    const early = await read({ records: 20_000, settled: 61, rows, fromChunk: 2 });
    expect([early.fromChunk, early.chunks[1]?.signed_at]).toEqual([2, at(4)]);
    const beyond = await read({ records: 20_000, settled: 61, fromChunk: 1_000 });
    expect([beyond.fromChunk, beyond.chunks.length]).toEqual([99, 1]);
  });
});
