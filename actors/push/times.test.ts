import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { ChunkWork } from "../messages/push.ts";
import { pushActor } from "./definition.ts";
import { acceptedTimes, chunkTimes, lateIndexes } from "./ports.ts";

const work: ChunkWork = {
  begun_ms: 1,
  judged_ms: 2,
  numbered_ms: 3,
  signed_ms: 4,
  stored_ms: 5,
  indexed: { "eu-west1": 6 },
};
const accept = {
  type: "push.accept",
  facts: pushFacts({ records: 201 }),
  held_reasons: [],
  accept_by_ms: Number.POSITIVE_INFINITY,
  seal_leaf: "sha256:1",
} as const;
const settle = (chunk: number, unindexed: readonly string[], times?: ChunkWork) =>
  ({
    type: "chunk.settle",
    chunk,
    references: [],
    unindexed,
    outcomes: [{ leaf_index: chunk * 200, outcome: "accepted", record_id: "r", version: 1, errors: [] }],
    ...(times === undefined ? {} : { times }),
  }) as const;

function open(times?: { readonly charged_ms?: number; readonly numbered_ms?: number }) {
  const push = driveActor(pushActor, "bat_0");
  push.send({ ...accept, ...(times === undefined ? {} : { times }) });
  const rows = () => [acceptedTimes, chunkTimes, lateIndexes].map(({ rt }) => push.rows(rt));
  return { push, rows };
}

describe("what a push knows of its steps", () => {
  it("is kept when it is accepted, when a chunk is settled, and when an index confirms it later", () => {
    const { push, rows } = open({ charged_ms: 1, numbered_ms: 2 });
    const { nowMs } = push;
    push.send(settle(0, ["us-east1"], work));
    push.nowMs += 7;
    push.send({ type: "chunk.indexed", chunk: 0, region: "us-east1" });
    push.nowMs += 7;
    // A chunk that was given up, and a confirmation of what nobody waits for.
    push.send({ ...settle(1, []), failed: { code: "processing_failed", detail: "d" } });
    push.send({ type: "chunk.indexed", chunk: 0, region: "us-east1" });
    const [accepted, chunks, late] = rows();
    expect(accepted?.map(({ body }) => JSON.parse(body))).toEqual([
      { charged_ms: 1, numbered_ms: 2, leaf: "sha256:1" },
    ]);
    expect(chunks?.map(({ k, body }) => [k, JSON.parse(body)])).toEqual([
      [0, { settled_ms: nowMs, work }],
      [1, { settled_ms: nowMs + 14 }],
    ]);
    expect(late?.map(({ k, k2, body }) => [k, k2, JSON.parse(body)])).toEqual([[0, "us-east1", nowMs + 7]]);
  });

  it("is not written again by a repetition", () => {
    const { push, rows } = open({ charged_ms: 1 });
    push.send(settle(0, [], work));
    const before = rows();
    push.send({ ...accept, times: { charged_ms: 9 }, seal_leaf: "sha256:s" });
    push.send(settle(0, [], { ...work, judged_ms: 99 }));
    expect(rows()).toEqual(before);
  });
});
