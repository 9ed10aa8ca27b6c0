import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { RecordOutcome, SettledOutcome } from "../messages/push.ts";
import { pushActor } from "./definition.ts";

const outcome = (leaf_index: number, code: string | null, names?: string): SettledOutcome => ({
  ...{ leaf_index, record_id: null, version: code === null ? 1 : null },
  outcome: code === null ? "accepted" : "rejected",
  errors: code === null ? [] : [{ code, pointer: "", detail: "" }],
  ...(names === undefined ? {} : { names }),
});

function open(records = 600) {
  const push = driveActor(pushActor, "bat_0");
  const facts = pushFacts({ records });
  push.send({
    type: "push.accept",
    facts,
    held_reasons: [],
    accept_by_ms: Number.POSITIVE_INFINITY,
    seal_leaf: "sha256:s",
  });
  return push;
}
type Push = ReturnType<typeof open>;

const reject = (push: Push, chunk: number, outcomes: readonly SettledOutcome[]) =>
  push.send({ type: "chunk.reject", chunk, outcomes });

function settle(push: Push, chunk: number, changed: readonly SettledOutcome[]) {
  const outcomes = Array.from({ length: 200 }, (_, index) => outcome(chunk * 200 + index, null));
  for (const each of changed) outcomes[each.leaf_index % 200] = each;
  return push.send({ type: "chunk.settle", chunk, outcomes, references: [], unindexed: [] });
}

function status(push: Push, asked: RecordOutcome | null = null, from_leaf = 0) {
  const report = push.send({ type: "push.status", outcome: asked, from_leaf, limit: 100, details: true });
  if (report === null) throw new Error("There is a push.");
  return report;
}

const shown = (push: Push, asked: RecordOutcome): readonly (readonly [number, string | undefined])[] =>
  status(push, asked).results.map(({ leaf_index, errors }) => [leaf_index, errors[0]?.code] as const);

describe("what an open chunk rejects", () => {
  it("is shown with its reasons and counted while the rest is pending", () => {
    const push = open();
    reject(push, 0, [outcome(3, "money_not_string", "svc_3")]);
    reject(push, 2, [outcome(450, "scope_violation"), outcome(599, "url_flagged")]);
    expect(status(push).counts).toMatchObject({ rejected: 3, pending: 597, accepted: 0 });
    expect(shown(push, "rejected")).toEqual([
      [3, "money_not_string"],
      [450, "scope_violation"],
      [599, "url_flagged"],
    ]);
    const pending: number[] = [];
    for (let from: number | null = 0; from !== null; ) {
      const page = status(push, "pending", from);
      pending.push(...page.results.map((each) => each.leaf_index));
      from = page.next_leaf;
    }
    expect(pending).toEqual(
      Array.from({ length: 600 }, (_, leaf) => leaf).filter((leaf) => ![3, 450, 599].includes(leaf)),
    );
    expect(status(push, "rejected").details?.[0]).toEqual({ names: "svc_3", settled_at_ms: push.nowMs });
  });

  it("keeps the reasons that were given first, and is gone with the settlement", () => {
    const push = open();
    reject(push, 0, [outcome(3, "money_not_string", "svc_3")]);
    reject(push, 0, [outcome(3, "refused_before")]);
    expect(push.rows(18)).toHaveLength(1);
    settle(push, 0, [outcome(3, "refused_before"), outcome(4, "processing_failed")]);
    expect(push.rows(18)).toEqual([]);
    expect(shown(push, "rejected")).toEqual([
      [3, "money_not_string"],
      [4, "processing_failed"],
    ]);
    expect(status(push).counts).toMatchObject({ accepted: 198, rejected: 2, pending: 400 });
  });

  it("is not written for a chunk that is settled, nor for a push that is over", () => {
    const push = open();
    settle(push, 0, []);
    reject(push, 0, [outcome(3, "x")]);
    push.send({ type: "push.fail", code: "processing_failed", detail: "d" });
    reject(push, 1, [outcome(203, "x")]);
    expect(push.rows(18)).toEqual([]);
  });

  it("keeps its reasons when the push fails, which rejects the rest", () => {
    const push = open();
    reject(push, 0, [outcome(3, "money_not_string")]);
    push.send({ type: "push.fail", code: "cancelled", detail: "d" });
    expect(status(push).counts).toMatchObject({ rejected: 600, pending: 0 });
    expect(shown(push, "rejected").slice(2, 5)).toEqual([
      [2, "cancelled"],
      [3, "money_not_string"],
      [4, "cancelled"],
    ]);
  });
});
