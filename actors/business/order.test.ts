// The order of pushes, holds and removals where they interact (N1, N3 of the definition).

import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  endedPush,
  holdSettlement,
  keyFacts,
  partyFacts,
  pushSeal,
  sealedRemoval,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { LeafClaim, PushPlan } from "../messages/business.ts";
import { businessActor } from "./definition.ts";

type Business = ActorHarness<"business">;

function open(listings = 0): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  business.send({ type: "key.register", key: keyFacts() });
  if (listings > 0) {
    admit(business, "catalogue", null, false);
    assign(
      business,
      "catalogue",
      1,
      Array.from({ length: listings }, (_, index) => `r${index}`),
    );
    finish(business, "catalogue");
  }
  return business;
}

const admit = (business: Business, push_id: string, plan: PushPlan | null, may_hold = true) =>
  business.send({
    type: "push.admit",
    push_id,
    key_id: "k",
    records: 1,
    may_hold,
    plan,
  });

const assign = (business: Business, push_id: string, number: number, records: readonly string[]) => {
  const leaves = records.map(
    (record_id, leaf_index): LeafClaim => ({
      leaf_index,
      record_id,
      hash: `hash by ${push_id}`,
      business_product_id: record_id,
      listings: { US: ["10.00", "USD"] },
    }),
  );
  const command = {
    type: "chunk.assign",
    push_id,
    number,
    chunk: 0,
    collection: "products",
    leaves,
    refused: [],
    seal: pushSeal,
  } as const;
  return business.send(command).assignments.map((each) => each.outcome);
};

const finish = (business: Business, push_id: string) =>
  business.send({ type: "push.finished", push_id, chunks: 1, ended: endedPush });

const settle = (business: Business, push_id: string, confirmed: boolean) =>
  business.send(holdSettlement(push_id, confirmed));

const remove = (business: Business, record_id: string, document_hash: string) =>
  business.send({
    type: "record.remove",
    record_id,
    action: "delete",
    at: "",
    document_hash,
    sealed: sealedRemoval,
  });

const jump = (pending: readonly string[]): PushPlan => ({
  pending,
  earlier: pending.map(() => []),
  listings: [["r0", { US: ["99.00", "USD"] }]],
});

describe("a push that says there is nothing to hold against", () => {
  it("is told to plan when the catalogue has grown meanwhile", () => {
    expect(admit(open(19), "p", null)).toMatchObject({ status: "admitted" });
    expect(admit(open(20), "p", null)).toEqual({ status: "plan_stale", pending: [] });
  });

  it("is told to plan when another push was admitted meanwhile", () => {
    const business = open();
    admit(business, "a", null);
    expect(admit(business, "b", null)).toEqual({ status: "plan_stale", pending: ["a"] });
  });

  it("is admitted all the same when it is never held", () => {
    expect(admit(open(20), "p", null, false)).toMatchObject({ status: "admitted", held: false });
    expect(admit(open(20), "p", jump([]), false)).toMatchObject({ status: "admitted", held: false });
  });
});

describe("a hold", () => {
  it("that was confirmed before the push was accepted does not hold it again", () => {
    const business = open(20);
    expect(admit(business, "p", jump([]))).toMatchObject({ held: true, number: 2 });
    settle(business, "p", true);
    expect(admit(business, "p", null)).toMatchObject({ held: false, held_reasons: [], number: 2 });
  });

  it("that was rejected leaves nothing behind", () => {
    const business = open(20);
    admit(business, "p", jump([]));
    settle(business, "p", false);
    expect(business.rows(19)).toEqual([]);
    expect(business.snapshot.context).toMatchObject({ held: [], pending: [] });
  });

  it("once confirmed stands where its number says among those that wait", () => {
    const business = open(20);
    admit(business, "before", null, false);
    admit(business, "held", jump(["before"]));
    admit(business, "after", null, false);
    settle(business, "held", true);
    expect(business.snapshot.context.pending).toEqual(["before", "held", "after"]);
  });

  it("is not counted any more once its push is over", () => {
    const business = open(20);
    admit(business, "p", jump([]));
    finish(business, "p");
    expect(business.snapshot.context).toMatchObject({ held: [], pending: [] });
  });
});

describe("a removal", () => {
  it("of a record out of serving keeps a waiting push from bringing it back", () => {
    const business = open();
    admit(business, "first", null, false);
    assign(business, "first", 1, ["r"]);
    remove(business, "r", "withdrawal");
    admit(business, "waiting", null, false);
    expect(remove(business, "r", "deletion")).toMatchObject({ status: "removed", change: 3 });
    expect(assign(business, "waiting", 3, ["r"])).toEqual(["superseded"]);
    expect(business.snapshot.context).toMatchObject({ listings: 0, recordsLive: 0 });
  });

  it("by the same document again is not another one", () => {
    const business = open();
    admit(business, "first", null, false);
    assign(business, "first", 1, ["r"]);
    remove(business, "r", "withdrawal");
    admit(business, "next", null, false);
    expect(remove(business, "r", "withdrawal")).toMatchObject({ change: 2 });
    expect(assign(business, "next", 3, ["r"])).toEqual(["accepted"]);
    expect(business.snapshot.context).toMatchObject({ listings: 1, recordsLive: 1 });
  });
});

describe("what a business numbers after its region was lost (N4, H1, H2)", () => {
  const secondEra = 2 ** 32 + 1;
  const leaf = { leaf_index: 0, record_id: "r", hash: "h", business_product_id: "r", listings: {} };
  const assignOne = (business: Business, push_id: string, number: number, record_id = "r") =>
    business.send({
      type: "chunk.assign",
      ...({ push_id, number, chunk: 0, collection: "products", leaves: [{ ...leaf, record_id }] } as const),
      refused: [],
      seal: pushSeal,
    }).assignments[0];
  const published = () => {
    const business = open();
    admit(business, "first", null, false);
    expect(assignOne(business, "first", 1)).toMatchObject({ generation: 1, change: 1 });
    return business;
  };

  it("leaps ahead of all that may be lost, once", () => {
    const business = published();
    business.epoch = secondEra;
    const { number } = admit(business, "second", null, false) as { number: number };
    expect(number).toBe(2 ** 32 + 1);
    expect(assignOne(business, "second", number)).toMatchObject({
      outcome: "updated",
      generation: 10_000_001,
      change: 2 ** 32 + 1,
    });
    business.epoch += 1;
    expect(admit(business, "third", null, false)).toMatchObject({ number: number + 1 });
    expect(assignOne(business, "third", number + 1)).toMatchObject({
      generation: 10_000_002,
      change: 2 ** 32 + 2,
    });
  });

  it("holds for records of which it does not know either: their first versions may be the lost ones", () => {
    const business = published();
    business.epoch = secondEra;
    expect(assignOne(business, "second", 2 ** 32 + 1, "new")).toMatchObject({
      outcome: "accepted",
      generation: 10_000_001,
      change: 2 ** 32 + 1,
    });
  });

  it("holds for removals, and for entries of the register", () => {
    const business = published();
    business.epoch = secondEra;
    expect(remove(business, "r", "document")).toMatchObject({ change: 2 ** 32 + 1 });
    business.send({ type: "group.block", group: "g" });
    const change = 2 ** 32 + 1;
    expect(business.snapshot.context).toMatchObject({ number: change, change });
    expect(JSON.parse(business.rows(18).find(({ k2 }) => k2.startsWith("party/"))?.body ?? "")).toMatchObject(
      { change },
    );
  });

  it("a leaf that was admitted before the loss does not undo what came after it", () => {
    const business = published();
    business.epoch = secondEra;
    assignOne(business, "second", 2 ** 32 + 1);
    expect(assignOne(business, "late", 2)).toMatchObject({ outcome: "superseded" });
  });

  it("has no gap where nothing was lost, however often the actor is claimed", () => {
    const business = published();
    business.epoch = 1_000_000;
    const { number } = admit(business, "second", null, false) as { number: number };
    expect(number).toBe(2);
    expect(assignOne(business, "second", number)).toMatchObject({ generation: 2, change: 2 });
  });
});
