import { describe, expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { driveActor } from "../actor.fixture.ts";
import { holdDecided, pushFacts } from "../facts.fixture.ts";
import type { HeldReason } from "../messages/business.ts";
import type { PublishOutcome, PushCommand, PushReport, RecordOutcome } from "../messages/push.ts";
import type { ActorView } from "../system/definition.ts";
import { pushActor } from "./definition.ts";
import { judgeAsHeld } from "./held.fixture.ts";

const facts = (records: number) => pushFacts({ records });

const accept = (records: number, held_reasons: readonly HeldReason[] = []) =>
  ({
    type: "push.accept",
    facts: facts(records),
    held_reasons,
    accept_by_ms: Number.POSITIVE_INFINITY,
    seal_leaf: "sha256:s",
  }) as const;

const open = (records: number, held: readonly HeldReason[] = []) => {
  const push = driveActor(pushActor, "bat_0");
  push.send(accept(records, held));
  if (held.length > 0) judgeAsHeld(push, records);
  return push;
};

type Push = ReturnType<typeof open>;

const outcomes = (chunk: number, count: number): PublishOutcome[] =>
  Array.from({ length: count }, (_, index) => ({
    leaf_index: chunk * 200 + index,
    outcome: index === 0 ? "rejected" : "accepted",
    record_id: index === 0 ? null : `svc_${index}`,
    version: index === 0 ? null : 1,
    errors: index === 0 ? [{ code: "money_not_string", pointer: "/prices/0/amount", detail: "d" }] : [],
  }));

const settle = (push: Push, chunk: number, count: number, unindexed: readonly string[] = []) =>
  push.send({
    type: "chunk.settle",
    chunk,
    outcomes: outcomes(chunk, count),
    references: [{ record_id: "svc_1", generation: 1, hash: "h", change: 1 }],
    unindexed,
  });

const report = (push: Push, from = 0, outcome: RecordOutcome | null = null, limit = 100) =>
  push.send({ type: "push.status", outcome, from_leaf: from, limit });

const status = (...asked: Parameters<typeof report>): PushReport => {
  const found = report(...asked);
  if (found === null) throw new Error("no push was accepted");
  return found;
};

const isNotice = (effect: Push["effects"][number]) =>
  effect.kind === "activity" && ["recordNotice", "mailNotice"].includes(effect.name);

/** What the push has done, besides its notices (notice.test.ts). */
/** Every acceptance tells the log of the seal. */
const isLeaf = (effect: Push["effects"][number]): boolean =>
  effect.kind === "tell" && effect.to.kind === "log-sequencer";

const activities = (push: Push) =>
  push.effects
    .filter((effect) => !isNotice(effect) && !isLeaf(effect))
    .map((effect) =>
      effect.kind === "activity" ? [effect.name, (effect.params as { chunk?: number }).chunk] : effect,
    );

describe("a queued push", () => {
  it("settles its chunks in order, each once (P1, U2), and is complete after the last", () => {
    const push = open(450);
    expect(status(push)).toMatchObject({ state: "queued", counts: { pending: 450, accepted: 0 } });
    settle(push, 1, 200);
    expect(status(push).state).toBe("queued");
    settle(push, 0, 200);
    settle(push, 0, 200);
    expect(status(push)).toMatchObject({
      state: "processing",
      settled: 200,
      counts: { pending: 250, accepted: 199, rejected: 1 },
    });
    settle(push, 1, 200);
    settle(push, 2, 50);
    expect(status(push)).toMatchObject({
      state: "complete",
      counts: { pending: 0, accepted: 447, rejected: 3 },
      completed_at: expect.any(String),
    });
    expect(activities(push)).toEqual([
      ["processChunk", 0],
      ["processChunk", 1],
      ["processChunk", 2],
      ["finishPush", undefined],
    ]);
  });

  it("says with its acceptance what its status says then, unless it is to be held", () => {
    const push = driveActor(pushActor, "bat_0");
    const said = push.send(accept(450));
    expect(said).toEqual({ status: "accepted", state: "queued", report: status(push) });
    expect(status(push).results.length).toBe(100);
    const held = driveActor(pushActor, "bat_0");
    expect(held.send(accept(450, [{ code: "price_jump", detail: "d", count: 1 }]))).toEqual({
      status: "accepted",
      state: "queued",
    });
  });

  it("is accepted once, whoever accepts it again (U1)", () => {
    const push = open(10);
    expect(push.send(accept(99))).toEqual({
      status: "known",
      state: "queued",
    });
    expect(status(push).facts.records).toBe(10);
  });

  it("is not accepted when it is too late, but known as before (U1, U4)", () => {
    const push = driveActor(pushActor, "bat_0");
    const acceptBy = (accept_by_ms: number) =>
      push.send({ ...accept(10), accept_by_ms, seal_leaf: "sha256:s" });
    expect(acceptBy(push.nowMs - 1)).toEqual({ status: "late" });
    expect([report(push), push.effects]).toEqual([null, []]);
    expect(acceptBy(push.nowMs)).toMatchObject({ status: "accepted", state: "queued" });
    expect(acceptBy(push.nowMs - 1)).toEqual({ status: "known", state: "queued" });
  });

  it("that is over clears up again after whoever accepts it once more", () => {
    const push = open(1);
    settle(push, 0, 1);
    const before = activities(push).length;
    expect(push.send(accept(1))).toEqual({ status: "known", state: "complete" });
    expect(activities(push).slice(before)).toEqual([["finishPush", undefined]]);
  });

  it("is complete only when every region has its rows (P2), told again from references", () => {
    const push = open(10);
    settle(push, 0, 10, ["eu-west1", "us-east1"]);
    expect(status(push).state).toBe("processing");
    expect(activities(push).slice(1)).toEqual([
      ["indexChunk", 0],
      ["indexChunk", 0],
      ["finishPush", undefined],
    ]);
    expect(push.send({ type: "push.references", chunk: 0 })).toMatchObject({
      references: [{ record_id: "svc_1" }],
    });
    push.send({ type: "chunk.indexed", chunk: 0, region: "eu-west1" });
    push.send({ type: "chunk.indexed", chunk: 0, region: "eu-west1" });
    expect(status(push).state).toBe("processing");
    push.send({ type: "chunk.indexed", chunk: 0, region: "us-east1" });
    expect(status(push).state).toBe("complete");
  });

  it("that has failed still hears from a region of what it published before", () => {
    const push = open(250);
    settle(push, 0, 200, ["us-east1"]);
    push.send({ type: "push.fail", code: "c", detail: "d" });
    push.send({ type: "chunk.indexed", chunk: 0, region: "us-east1" });
    expect(status(push).state).toBe("failed");
    expect(push.snapshot.context).toMatchObject({ unindexed: [], error: { code: "c" } });
  });

  it("is finished for its business as soon as it is settled: an index that is away does not make it wait there (P4)", () => {
    const push = open(250);
    settle(push, 0, 200, ["us-east1"]);
    expect(activities(push)).not.toContainEqual(["finishPush", undefined]);
    settle(push, 1, 50);
    expect(activities(push).slice(-1)).toEqual([["finishPush", undefined]]);
    const before = activities(push).length;
    expect(push.send(accept(250))).toEqual({ status: "known", state: "processing" });
    expect(activities(push).slice(before)).toEqual([["finishPush", undefined]]);
  });

  it("asks for a stall timer of ten minutes that every step starts anew (P3)", () => {
    const push = open(450);
    expect([...push.timers.values()]).toEqual([600_000]);
    settle(push, 0, 200);
    expect([...push.timers.values()]).toEqual([600_000]);
    settle(push, 1, 200);
    settle(push, 2, 50);
    expect([...push.timers.values()]).toEqual([]);
  });

  it("answers an awaiting caller once every chunk is settled, whatever an index has confirmed (U5)", () => {
    const push = open(250);
    settle(push, 0, 200, ["us-east1"]);
    expect(push.send({ type: "push.await" })).toBeUndefined();
    settle(push, 1, 50, ["us-east1"]);
    expect(push.send({ type: "push.await" })).toMatchObject({
      state: "processing",
      settled: 250,
      completed_at: null,
      results: { length: 250 },
    });
    for (const chunk of [0, 1]) push.send({ type: "chunk.indexed", chunk, region: "us-east1" });
    expect(push.send({ type: "push.await" })).toMatchObject({ state: "complete" });
  });

  it("lets an awaiting caller wait until it is settled", () => {
    const push = open(10);
    expect(push.send({ type: "push.await" })).toBeUndefined();
    settle(push, 0, 10);
    expect(push.send({ type: "push.await" })).toMatchObject({ state: "complete", results: { length: 10 } });
  });

  it("does not exist before it was accepted", () => {
    expect(report(driveActor(pushActor, "bat_1"))).toBeNull();
  });
});

describe("pages of outcomes (U3)", () => {
  it("are in leaf order, complete, and 100 long", () => {
    const push = open(450);
    settle(push, 0, 200);
    const seen: number[] = [];
    let from: number | null = 0;
    while (from !== null) {
      const page = status(push, from);
      seen.push(...page.results.map((result) => result.leaf_index));
      from = page.next_leaf;
    }
    expect(seen).toEqual(Array.from({ length: 450 }, (_, index) => index));
    expect(status(push, 100).results).toHaveLength(100);
    expect(status(push, 199, null, 2).results.map((result) => result.outcome)).toEqual([
      "accepted",
      "pending",
    ]);
  });

  it("can be filtered by outcome, over all chunks", () => {
    const push = open(450);
    for (const [chunk, count] of [200, 200, 50].entries()) settle(push, chunk, count);
    expect(status(push, 0, "rejected").results.map((result) => result.leaf_index)).toEqual([0, 200, 400]);
    expect(status(push, 0, "rejected").results[0]?.errors[0]?.code).toBe("money_not_string");
    expect(status(push, 0, "accepted").next_leaf).not.toBeNull();
  });
});

describe("a held push", () => {
  const reasons: readonly HeldReason[] = [{ code: "price_jump", detail: "d", count: 1 }];

  it("waits, then goes its way when confirmed", () => {
    const push = open(10, reasons);
    expect(status(push)).toMatchObject({
      state: "held",
      held_reasons: reasons,
      counts: { held: 10, pending: 0 },
    });
    expect(status(push).results[0]?.outcome).toBe("held");
    expect(activities(push)).toEqual([["judgeHeld", undefined]]);
    push.send({ type: "hold.release", confirmed: true, decision: holdDecided });
    expect(activities(push).slice(1)).toEqual([["processChunk", 0]]);
    settle(push, 0, 10);
    expect(status(push).state).toBe("complete");
  });

  it("fails when rejected, with its reason", () => {
    const push = open(10, reasons);
    push.send({ type: "hold.release", confirmed: false, decision: holdDecided });
    expect(status(push)).toMatchObject({ state: "failed", error: { code: "hold_rejected" } });
    expect(activities(push).slice(1)).toEqual([["finishPush", undefined]]);
  });

  it("says of every record that it will not be published, once rejected", () => {
    const push = open(10, reasons);
    push.send({ type: "hold.release", confirmed: false, decision: holdDecided });
    expect(status(push).counts).toEqual({ accepted: 0, updated: 0, rejected: 10, held: 0, pending: 0 });
    const { results } = status(push, 0, "rejected");
    expect(results).toHaveLength(10);
    expect(results[9]).toMatchObject({ outcome: "rejected", errors: [{ code: "hold_rejected" }] });
  });
});

describe("what the state of a push does not allow", () => {
  const reasons: readonly HeldReason[] = [{ code: "price_jump", detail: "d", count: 1 }];

  const day = 86_400_000;
  const decided = { key_id: "owner", at: "2026-01-02T00:00:00.000Z", decided_at: "2026-01-02T00:00:01.000Z" };

  it("fails when its time is over, is told to its business, and takes no decision any more (P5)", () => {
    const push = driveActor(pushActor, "bat_0");
    push.send({ ...accept(10, reasons), hold_ms: 2 * day, seal_leaf: "sha256:s" });
    const hold_expires_at = new Date(push.nowMs + 2 * day).toISOString();
    push.nowMs += 1_000;
    judgeAsHeld(push, 10);
    expect([...push.timers.values()]).toEqual([2 * day - 1_000]);
    expect(status(push)).toMatchObject({ state: "held", hold_expires_at, hold_decision: null });
    push.fireTimers();
    const over = status(push);
    expect(over).toMatchObject({
      state: "failed",
      error: { code: "hold_expired" },
      hold_expires_at: null,
      completed_at: hold_expires_at,
      counts: { rejected: 10 },
    });
    expect(activities(push).slice(1)).toEqual([["finishPush", undefined]]);
    for (const confirmed of [true, false])
      push.send({ type: "hold.release", confirmed, decision: { decision: "confirm", ...decided } });
    expect(status(push)).toEqual(over);
  });

  it("waits 30 days where nobody says how long, and not at all once it is decided", () => {
    const push = open(10, reasons);
    expect([...push.timers.values()]).toEqual([30 * day]);
    push.send({ type: "hold.release", confirmed: true, decision: holdDecided });
    expect([...push.timers.values()]).toEqual([600_000]);
  });

  it("says who decided what, and why a confirmed push is not published", () => {
    const confirmed = open(10, reasons);
    const decision = { decision: "confirm", ...decided } as const;
    confirmed.send({ type: "hold.release", confirmed: true, decision });
    expect(status(confirmed)).toMatchObject({ state: "queued", hold_decision: decision });
    const fallen = open(10, reasons);
    const error = { code: "key_revoked", detail: "d" };
    fallen.send({ type: "hold.release", confirmed: false, decision, error });
    expect(status(fallen)).toMatchObject({ state: "failed", error, hold_decision: decision });
    expect(activities(fallen).slice(1)).toEqual([["finishPush", undefined]]);
  });

  it("answers who waits for the decision once it was taken", () => {
    const push = open(10, reasons);
    expect(push.send({ type: "hold.await" })).toBeUndefined();
    push.send({ type: "hold.release", confirmed: true, decision: holdDecided });
    expect(push.send({ type: "hold.await" })).toMatchObject({ state: "queued" });
    expect(driveActor(pushActor, "bat_1").send({ type: "hold.await" })).toBeNull();
  });

  it("leaves nothing behind: a chunk of a held push, and one of a push that failed", () => {
    const push = open(10, reasons);
    expect(settle(push, 0, 10)).toEqual({ status: "done" });
    expect([status(push).state, push.rows(16)]).toEqual(["held", []]);
    push.send({ type: "hold.release", confirmed: false, decision: holdDecided });
    settle(push, 0, 10);
    expect([status(push).state, push.rows(16)]).toEqual(["failed", []]);
  });

  it("is no event of its journal: a hold that is settled, and a failure, where there is none to settle and nothing to fail", () => {
    const push = open(10);
    const view = () => part<ActorView>({ snapshot: push.snapshot, nowMs: push.nowMs });
    const events = (command: PushCommand) => pushActor.decide(command, view()).events ?? [];
    const release: PushCommand = { type: "hold.release", confirmed: true, decision: holdDecided };
    const fail: PushCommand = { type: "push.fail", code: "c", detail: "d" };
    expect(events(release)).toEqual([]);
    expect(events(fail)).toHaveLength(1);
    settle(push, 0, 10);
    expect(status(push).state).toBe("complete");
    expect([events(release), events(fail)]).toEqual([[], []]);
  });
});
