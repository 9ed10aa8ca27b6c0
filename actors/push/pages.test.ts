import { describe, expect, it } from "vitest";
import { chunkSize } from "../../machines/push.ts";
import { driveActor } from "../actor.fixture.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { PublishOutcome, PushReport, RecordOutcome } from "../messages/push.ts";
import { pushActor } from "./definition.ts";
import { chunksOfPage } from "./report.ts";

const records = 100_000;

/** A push of 100,000 leaves, settled up to some chunk; `outcomeOf` says how a leaf ended. */
function pushOf(outcomeOf: (leaf: number) => "accepted" | "updated" | "rejected", settledChunks = 500) {
  const push = driveActor(pushActor, "bat_0");
  const facts = pushFacts({ records });
  push.send({
    type: "push.accept",
    facts,
    held_reasons: [],
    accept_by_ms: Number.POSITIVE_INFINITY,
    seal_leaf: "sha256:s",
  });
  for (let chunk = 0; chunk < settledChunks; chunk += 1) {
    const outcomes = Array.from({ length: chunkSize }, (_, index): PublishOutcome => {
      const leaf_index = chunk * chunkSize + index;
      const outcome = outcomeOf(leaf_index);
      const errors = outcome === "rejected" ? [{ code: "x", pointer: "", detail: "" }] : [];
      return { leaf_index, outcome, record_id: null, version: null, errors };
    });
    push.send({ type: "chunk.settle", chunk, outcomes, references: [], unindexed: [] });
  }
  return push;
}

type Push = ReturnType<typeof pushOf>;

function read(push: Push, outcome: RecordOutcome | null, limit = 100) {
  const leaves: number[] = [];
  let pages = 0;
  for (let from: number | null = 0; from !== null; pages += 1) {
    const page: PushReport | null = push.send({ type: "push.status", outcome, from_leaf: from, limit });
    if (page === null || page.results.length > limit) throw new Error("A page is missing or too long.");
    leaves.push(...page.results.map((each) => each.leaf_index));
    expect(page.results.every((each) => outcome === null || each.outcome === outcome)).toBe(true);
    from = page.next_leaf;
  }
  return { leaves, pages };
}

const where = (holds: (leaf: number) => boolean, upTo = records): readonly number[] =>
  Array.from({ length: upTo }, (_, leaf) => leaf).filter(holds);

describe("the outcomes of a push of 100,000 records", () => {
  it("of one kind are found wherever they are, each once and in order, in few pages", () => {
    const rare = (leaf: number): boolean => leaf === 7 || leaf === 60_199 || leaf >= 99_990;
    const push = pushOf((leaf) => (rare(leaf) ? "rejected" : "updated"));
    expect(read(push, "rejected")).toEqual({ leaves: where(rare), pages: 1 });
    expect(read(push, "accepted")).toEqual({ leaves: [], pages: 1 });
    expect(read(push, "pending")).toEqual({ leaves: [], pages: 1 });
    expect(read(push, "updated").leaves).toEqual(where((leaf) => !rare(leaf)));
  });

  it("are read in a bounded number of chunks, wherever the page begins (G1)", () => {
    const push = pushOf((leaf) => (leaf % 150 === 0 ? "rejected" : "accepted"));
    const { context } = push.snapshot;
    for (const outcome of [null, "rejected", "accepted", "held"] as const)
      for (const from_leaf of [0, 199, 50_001, 99_999]) {
        const ranges = chunksOfPage(context, { outcome, from_leaf, limit: 100 });
        expect(ranges.reduce((sum, { chunks }) => sum + chunks, 0)).toBeLessThanOrEqual(20);
      }
    const { leaves, pages } = read(push, "rejected");
    expect(leaves).toEqual(where((leaf) => leaf % 150 === 0));
    expect(pages).toBeLessThan(40);
  });

  it("that are not settled yet are pending, behind those that are", () => {
    const push = pushOf(() => "accepted", 30);
    expect(read(push, "pending").leaves).toEqual(where((leaf) => leaf >= 6_000));
    expect(read(push, "accepted", 1_000).leaves).toEqual(where(() => true, 6_000));
    expect(read(push, null, 500).leaves).toHaveLength(records);
  });
});
