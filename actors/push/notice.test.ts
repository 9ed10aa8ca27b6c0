import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { PushFacts } from "../messages/push.ts";
import type { PushNotice } from "../messages/serving.ts";
import { pushActor } from "./definition.ts";
import { judgeAsHeld } from "./held.fixture.ts";
import type { StalledPush } from "./ports.ts";

const reasons = [{ code: "price_jump" as const, detail: "d", count: 1 }];

function open(changes: Partial<PushFacts>, held = false) {
  const push = driveActor(pushActor, "bat_0");
  push.send({
    type: "push.accept",
    facts: pushFacts({ records: 250, ...changes }),
    held_reasons: held ? reasons : [],
    accept_by_ms: Number.POSITIVE_INFINITY,
    seal_leaf: "sha256:s",
  });
  if (held) judgeAsHeld(push, changes.records ?? 250, (leaf) => leaf < 2);
  return push;
}

type Push = ReturnType<typeof open>;

function settle(push: Push, chunk: number, count: number, unindexed: readonly string[] = []) {
  const outcomes = Array.from({ length: count }, (_, index) => ({
    leaf_index: chunk * 200 + index,
    outcome: "accepted" as const,
    record_id: null,
    version: 1,
    errors: [],
  }));
  push.send({ type: "chunk.settle", chunk, outcomes, references: [], unindexed });
}

const sent = <T>(push: Push, name: string): readonly T[] =>
  push.effects.flatMap((effect) =>
    effect.kind === "activity" && effect.name === name ? [effect.params as T] : [],
  );

/** The notices of each channel, by state. */
const noticesOf = (push: Push) =>
  ["recordNotice", "mailNotice"].map((name) =>
    sent<PushNotice>(push, name).map(({ notice_id }) => notice_id),
  );

const both = (...ids: readonly string[]) => [ids, ids];

describe("a push gives notice", () => {
  it("once, when it is complete, and of nothing before", () => {
    const push = open({});
    settle(push, 0, 200);
    expect(noticesOf(push)).toEqual(both());
    settle(push, 1, 50, ["us"]);
    expect(noticesOf(push)).toEqual(both());
    push.send({ type: "chunk.indexed", chunk: 1, region: "us" });
    const { push_id } = pushFacts({});
    expect(noticesOf(push)).toEqual(both(`${push_id}.complete`));
    expect(sent<PushNotice>(push, "recordNotice")).toMatchObject([
      {
        state: "complete",
        records: 250,
        counts: { accepted: 250, rejected: 0 },
        error: null,
        held_reasons: [],
      },
    ]);
    push.send({ type: "chunk.indexed", chunk: 1, region: "us" });
    push.send({ type: "push.cancelled" });
    expect(noticesOf(push)).toEqual(both(`${push_id}.complete`));
  });

  it("of its failure, with the reason", () => {
    const push = open({});
    push.send({ type: "push.cancelled" });
    push.send({ type: "push.cancelled" });
    expect(sent<PushNotice>(push, "mailNotice")).toMatchObject([
      { state: "failed", error: { code: "cancelled" }, counts: { rejected: 250 } },
    ]);
  });

  it("that it is held, whatever its size, and of its end if nobody waited for that", () => {
    const queued = open({}, true);
    const { push_id } = pushFacts({});
    expect(sent<PushNotice>(queued, "mailNotice")).toMatchObject([
      { state: "held", held_reasons: ["price_jump"], counts: { held: 248, rejected: 2 } },
    ]);
    queued.send({ type: "push.cancelled" });
    expect(noticesOf(queued)).toEqual(both(`${push_id}.held`, `${push_id}.failed`));
    expect(noticesOf(open({ mode: "inline", records: 10 }, true))).toEqual(both(`${push_id}.held`));
  });

  it("not of what was answered in the request, or sealed alone", () => {
    const inline = open({ mode: "inline", records: 1 });
    settle(inline, 0, 1);
    const alone = open({ path: "B", records: 1 });
    settle(alone, 0, 1);
    expect([noticesOf(inline), noticesOf(alone)]).toEqual([both(), both()]);
  });
});

describe("a push that makes no step for ten minutes", () => {
  it("is reported to operators, and every ten minutes until it makes one (P3)", () => {
    const push = open({});
    expect(push.timers.size).toBe(1);
    push.fireTimers();
    expect(push.snapshot.value).toEqual({ working: { step: "queued", pace: "stalled" } });
    push.fireTimers();
    const reports = sent<StalledPush>(push, "reportStalled");
    expect(reports).toMatchObject([
      { records: 250, settled: 0, regions: [] },
      { records: 250, settled: 0, regions: [] },
    ]);
    settle(push, 0, 200);
    expect(push.snapshot.value).toEqual({ working: { step: "processing", pace: "moving" } });
    // Ten minutes without a further step are reported again.
    push.fireTimers();
    expect(sent(push, "reportStalled")).toHaveLength(3);
  });

  it("says so, in the same state as before, until it moves, is judged, or is over (P3)", () => {
    const said = () => {
      const report = push.send({ type: "push.status", outcome: null, from_leaf: 0, limit: 1 });
      return [report?.state, report?.stalled];
    };
    let push = open({});
    push.fireTimers();
    expect(said()).toEqual(["queued", true]);
    settle(push, 0, 200);
    expect(said()).toEqual(["processing", false]);
    push.fireTimers();
    settle(push, 1, 50, ["us"]);
    expect(said()).toEqual(["processing", false]);
    push.fireTimers();
    expect(said()).toEqual(["processing", true]);
    push = open({ file: { upload_id: "u", name: "n", root: "r" } });
    push.fireTimers();
    const held_reasons = [{ code: "price_jump", detail: "d", count: 1 }] as const;
    push.send({ type: "push.prepared", held_reasons });
    expect([said(), push.timers.size]).toEqual([["queued", false], 1]);
    push.fireTimers();
    expect(said()).toEqual(["queued", true]);
    push.send({ type: "push.cancelled" });
    expect(said()).toEqual(["failed", false]);
  });

  it("for an index that does not confirm names its region", () => {
    const push = open({ records: 200 });
    settle(push, 0, 200, ["us"]);
    push.fireTimers();
    expect(sent<StalledPush>(push, "reportStalled")).toMatchObject([{ settled: 200, regions: ["us"] }]);
  });
});
