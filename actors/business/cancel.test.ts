import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { certificateFacts, endedPush, partyFacts, pushSeal, businessUuid as uuid } from "../facts.fixture.ts";
import type { LeafClaim } from "../messages/business.ts";
import { businessActor } from "./definition.ts";

type Business = ActorHarness<"business">;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  business.send({ type: "push.admit", push_id: "p", key_id: "k", records: 1, may_hold: false, plan: null });
  return business;
}

const leaf: LeafClaim = {
  leaf_index: 0,
  record_id: "r",
  hash: "h",
  business_product_id: "r",
  listings: { US: ["10.00", "USD"] },
};

const assign = (business: Business, push_id = "p", number = 1) =>
  business.send({
    type: "chunk.assign",
    push_id,
    number,
    chunk: 0,
    collection: "products",
    leaves: [leaf],
    refused: [],
    seal: pushSeal,
  });

const cancel = (business: Business, push_id = "p") => business.send({ type: "push.cancel", push_id });

describe("a push that is cancelled", () => {
  it("waits no longer, is told so once, and is answered the same again (C2)", () => {
    const business = open();
    const before = business.effects.length;
    expect([cancel(business), cancel(business)]).toEqual([{ status: "cancelled" }, { status: "cancelled" }]);
    expect(business.snapshot.context).toMatchObject({ pending: [], held: [] });
    expect(business.effects.slice(before)).toEqual([
      { kind: "tell", to: { kind: "push", id: `${uuid}.p` }, message: { type: "push.cancelled" } },
    ]);
  });

  it("gets no generation afterwards, however late it asks (C1)", () => {
    const business = open();
    cancel(business);
    business.send({ type: "push.finished", push_id: "p", chunks: 1, ended: endedPush });
    expect(assign(business)).toMatchObject({ assignments: [], cancelled: true });
    expect(business.snapshot.context).toMatchObject({ listings: 0, recordsLive: 0 });
    expect(business.rows(16)).toEqual([]);
    expect(assign(business, "other", 2)).toMatchObject({ assignments: [{ generation: 1 }] });
  });

  it("by an operator says so to the push, and to an assignment that comes late", () => {
    const business = open();
    const before = business.effects.length;
    const act = { by: "Ada", reason: "asked by its owner" };
    business.send({ type: "push.cancel", push_id: "p", act });
    expect(business.effects.slice(before)).toMatchObject([
      { message: { type: "push.cancelled", by_operator: true } },
    ]);
    expect(assign(business)).toMatchObject({ assignments: [], cancelled: true, by_operator: true });
  });

  it("is not, once a record of it has its generation (C1)", () => {
    const business = open();
    assign(business);
    expect(cancel(business)).toEqual({ status: "too_late" });
    expect(business.snapshot.context.pending).toEqual(["p"]);
    business.send({ type: "push.finished", push_id: "p", chunks: 1, ended: endedPush });
    expect(cancel(business)).toEqual({ status: "too_late" });
    expect(cancel(business, "unknown")).toEqual({ status: "too_late" });
  });
});
