import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { holdDecided, pushFacts } from "../facts.fixture.ts";
import type { HeldReason } from "../messages/business.ts";
import { pushActor } from "./definition.ts";
import { judgeAsHeld } from "./held.fixture.ts";

const listing = (record_id: string) => ({
  record_id,
  business_product_id: `own ${record_id}`,
  country: "US",
  change: "-5.50",
  before: { amount: "461.73", currency: "USD" },
  after: { amount: "456.23", currency: "USD" },
});
const reasons: readonly HeldReason[] = [
  { code: "price_changes", detail: "Many.", count: 2, of: 20, largest: [listing("a"), listing("b")] },
  { code: "price_jump", detail: "One.", count: 1, of: 20, largest: [listing("a")] },
];
const without = (held: readonly HeldReason[]) => held.map(({ largest: _, ...reason }) => reason);

function open(held: readonly HeldReason[] = reasons, number = 4) {
  const push = driveActor(pushActor, "bat_0");
  const accept = { facts: pushFacts({ records: 2, number }), accept_by_ms: Number.POSITIVE_INFINITY };
  push.send({ type: "push.accept", ...accept, held_reasons: held, seal_leaf: "sha256:s" });
  judgeAsHeld(push, 2);
  return push;
}
type Push = ReturnType<typeof open>;

const said = (push: Push) =>
  push.send({ type: "push.status", outcome: null, from_leaf: 0, limit: 9 })?.held_reasons;
const forget = (push: Push, number: number) => push.send({ type: "push.forget", record_id: "a", number });

describe("the reasons of a hold (U7)", () => {
  it("are said with their listings, of which the journal keeps none", () => {
    const push = open();
    expect(said(push)).toEqual(reasons);
    expect(push.send({ type: "push.await" })?.held_reasons).toEqual(reasons);
    expect(push.snapshot.context.heldReasons).toEqual(without(reasons));
  });

  it("are the same for a push that is held once its file is prepared", () => {
    const push = driveActor(pushActor, "bat_0");
    const file = { upload_id: "upl_1", name: "n", root: "sha256:" };
    const accept = { facts: pushFacts({ records: 2, file }), accept_by_ms: Number.POSITIVE_INFINITY };
    push.send({ type: "push.accept", ...accept, held_reasons: [], seal_leaf: "sha256:s" });
    push.send({ type: "push.prepared", held_reasons: reasons });
    judgeAsHeld(push, 2);
    expect(said(push)).toEqual(reasons);
    expect(push.snapshot.context.heldReasons).toEqual(without(reasons));
    push.send({ type: "hold.release", confirmed: false, decision: holdDecided });
    expect(said(push)).toEqual(reasons);
  });

  it("forget a record that is purged, however the push ended, and keep their counts", () => {
    const push = open();
    push.send({ type: "hold.release", confirmed: false, decision: holdDecided });
    forget(push, 5);
    const left = reasons.map((each) => ({
      ...each,
      largest: each.largest?.filter(({ record_id }) => record_id !== "a"),
    }));
    expect(said(push)).toEqual(left);
    expect(JSON.stringify(push.rows(19))).not.toContain("own a");
    forget(push, 5);
    expect(said(push)).toEqual(left);
  });

  it("forget nothing for a deletion that came before the push", () => {
    const push = open();
    forget(push, 3);
    expect(said(push)).toEqual(reasons);
  });
});

describe("a push that does not have its reasons yet", () => {
  it("does not exist afterwards if it was not accepted", () => {
    expect(pushActor.absent?.({ type: "push.forget" })).toEqual({ reply: { status: "early" } });
  });

  it("says so while its file is prepared, unless it came after the deletion", () => {
    const push = driveActor(pushActor, "bat_0");
    const file = { upload_id: "upl_1", name: "n", root: "sha256:" };
    const facts = pushFacts({ records: 2, number: 4, file });
    push.send({
      type: "push.accept",
      facts,
      accept_by_ms: Number.POSITIVE_INFINITY,
      held_reasons: [],
      seal_leaf: "sha256:s",
    });
    expect(forget(push, 5)).toEqual({ status: "early" });
    expect(forget(push, 3)).toEqual({ status: "done" });
    push.send({ type: "push.prepared", held_reasons: reasons });
    expect(forget(push, 5)).toEqual({ status: "done" });
    judgeAsHeld(push, 2);
    expect(JSON.stringify(said(push))).not.toContain("own a");
  });
});
