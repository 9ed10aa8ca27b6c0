import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { holdDecided, pushFacts } from "../facts.fixture.ts";
import type { RecordOutcome, SettledOutcome } from "../messages/push.ts";
import { pushActor } from "./definition.ts";
import { judgeAsHeld } from "./held.fixture.ts";

const outcome = (leaf_index: number, code: string | null, names?: string): SettledOutcome => ({
  leaf_index,
  record_id: null,
  version: code === null ? 1 : null,
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

describe("what is known of a push that is held", () => {
  const records = 5_000;
  const faulty = (leaf: number): boolean => leaf === 3 || (leaf >= 400 && leaf < 600) || leaf % 1_000 === 999;
  const decision = holdDecided;

  function held() {
    const push = driveActor(pushActor, "bat_0");
    push.send({
      type: "push.accept",
      facts: pushFacts({ records }),
      accept_by_ms: Number.POSITIVE_INFINITY,
      held_reasons: [{ code: "price_jump", detail: "d", count: 1 }],
      seal_leaf: "sha256:s",
    });
    return push;
  }

  function whole(push: Push, asked: RecordOutcome | null) {
    const results: SettledOutcome[] = [];
    let pages = 0;
    for (let from: number | null = 0; from !== null; pages += 1) {
      const page = status(push, asked, from);
      results.push(...page.results);
      from = page.next_leaf;
    }
    return { results, leaves: results.map(({ leaf_index }) => leaf_index), pages };
  }

  const leaves = (wanted: (leaf: number) => boolean) =>
    Array.from({ length: records }, (_, leaf) => leaf).filter(wanted);

  it("is not shown while it is judged, and may be found again otherwise until then", () => {
    const push = held();
    push.send({ type: "chunk.judge", chunk: 0, outcomes: [outcome(0, "x")] });
    expect(status(push)).toMatchObject({ state: "queued", counts: { rejected: 0, pending: records } });
    expect(push.send({ type: "push.await" })).toBeUndefined();
    judgeAsHeld(push, records, faulty);
    expect(push.send({ type: "push.await" })?.state).toBe("held");
    expect(shown(push, "rejected")[0]).toEqual([3, "money_not_string"]);
    push.send({ type: "chunk.judge", chunk: 0, outcomes: [outcome(0, "x")] });
    expect(shown(push, "rejected")[0]).toEqual([3, "money_not_string"]);
  });

  it("is counted and listed whole: what is rejected with its reasons, and the records of the others", () => {
    const push = held();
    judgeAsHeld(push, records, faulty);
    const count = leaves(faulty).length;
    expect(status(push).counts).toMatchObject({ rejected: count, held: records - count, pending: 0 });
    expect(whole(push, "rejected").leaves).toEqual(leaves(faulty));
    expect(whole(push, "rejected").pages).toBeLessThan(6);
    const found = whole(push, "held");
    expect(found.leaves).toEqual(leaves((leaf) => !faulty(leaf)));
    expect(found.results.every(({ leaf_index, record_id }) => record_id === `svc_${leaf_index}`)).toBe(true);
    expect(whole(push, null).leaves).toHaveLength(records);
    expect(status(push, "held").details?.[0]).toEqual({ names: null, settled_at_ms: null });
    expect(status(push, "rejected").details?.[0]).toEqual({ names: "svc_3", settled_at_ms: push.nowMs });
  });

  it("stays rejected for its own reasons when the hold is rejected, and names its records", () => {
    const push = held();
    judgeAsHeld(push, records, faulty);
    push.send({ type: "hold.release", confirmed: false, decision });
    expect(status(push).counts).toMatchObject({ rejected: records, held: 0 });
    const { results } = whole(push, "rejected");
    expect(results).toHaveLength(records);
    for (const { leaf_index, errors, record_id } of results)
      expect([leaf_index, errors[0]?.code, record_id]).toEqual(
        faulty(leaf_index)
          ? [leaf_index, "money_not_string", null]
          : [leaf_index, "hold_rejected", `svc_${leaf_index}`],
      );
  });

  it("stays rejected when the hold is confirmed, and the rest is pending until it is settled", () => {
    const push = held();
    judgeAsHeld(push, records, faulty);
    push.send({ type: "hold.release", confirmed: true, decision });
    const count = leaves(faulty).length;
    expect(status(push).counts).toMatchObject({ rejected: count, held: 0, pending: records - count });
    expect(whole(push, "pending").leaves).toEqual(leaves((leaf) => !faulty(leaf)));
    const chunks = push.effects.flatMap((effect) =>
      effect.kind === "activity" && effect.name === "processChunk" ? [effect.params] : [],
    );
    expect(chunks).toMatchObject([{ chunk: 0, judged: true }]);
    expect(push.send({ type: "chunk.findings", chunk: 0 }).outcomes[3]).toMatchObject({
      leaf_index: 3,
      outcome: "rejected",
      names: "svc_3",
    });
    // What a chunk rejects besides is added to what was found.
    reject(push, 0, [outcome(2, "superseded"), outcome(3, "refused_before")]);
    expect(shown(push, "rejected").slice(0, 2)).toEqual([
      [2, "superseded"],
      [3, "money_not_string"],
    ]);
    expect(status(push).counts.rejected).toBe(count + 1);
    settle(push, 0, [outcome(2, "superseded"), outcome(3, "refused_before")]);
    expect(shown(push, "rejected")[1]).toEqual([3, "money_not_string"]);
    expect(status(push).counts).toMatchObject({ accepted: 198, rejected: count + 1 });
    expect(whole(push, "pending").leaves).toEqual(leaves((leaf) => leaf >= 200 && !faulty(leaf)));
  });
});
