import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { certificateFacts, endedPush, partyFacts, pushSeal, businessUuid as uuid } from "../facts.fixture.ts";
import type { LeafClaim, PlannedListings } from "../messages/business.ts";
import { businessActor } from "./definition.ts";

type Business = ActorHarness<"business">;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

const listings = (...ids: readonly string[]): PlannedListings =>
  ids.map((id) => [id, { US: ["10.00", "USD"] }] as const);

const admit = (business: Business, push_id: string) =>
  business.send({ type: "push.admit", push_id, key_id: "k", records: 1, may_hold: false, plan: null });

function assign(business: Business, push_id: string, number: number, ids: readonly string[]) {
  const leaves = ids.map(
    (record_id, leaf_index): LeafClaim => ({
      leaf_index,
      record_id,
      hash: "h",
      business_product_id: record_id,
      listings: { US: ["10.00", "USD"] },
    }),
  );
  business.send({
    type: "chunk.assign",
    push_id,
    number,
    chunk: 0,
    collection: "products",
    leaves,
    refused: [],
    seal: pushSeal,
  });
}

const preview = (business: Business, pending: readonly string[], earlier: readonly PlannedListings[]) => {
  const plan = { pending, earlier, listings: listings("a", "b", "c") };
  return business.send({ type: "push.preview", push_id: "p", may_hold: true, plan });
};

describe("a batch that is only validated", () => {
  it("gets the next generation of each record", () => {
    const business = open();
    admit(business, "first");
    assign(business, "first", 1, ["a"]);
    business.send({ type: "push.finished", push_id: "first", chunks: 1, ended: endedPush });
    expect(preview(business, [], [])).toEqual({
      status: "admitted",
      held_reasons: [],
      versions: [
        [2, true],
        [1, false],
        [1, false],
      ],
    });
  });

  it("counts what pending pushes will still publish, and not what they have published already (V2)", () => {
    const business = open();
    admit(business, "first");
    admit(business, "second");
    assign(business, "first", 1, ["a"]);
    const earlier = [listings("a", "b"), listings("b")];
    expect(preview(business, ["first", "second"], earlier)).toMatchObject({
      versions: [
        [2, true],
        [3, true],
        [1, false],
      ],
    });
  });

  it("is judged as an admission is, and changes nothing (V1)", () => {
    const business = open();
    const before = JSON.stringify([business.snapshot.context, business.rows(19), business.rows(16)]);
    expect(preview(business, ["unknown"], [[]])).toEqual({ status: "plan_stale", pending: [] });
    expect(preview(business, [], [])).toMatchObject({ status: "admitted" });
    expect(JSON.stringify([business.snapshot.context, business.rows(19), business.rows(16)])).toBe(before);
    const unverified = driveActor(businessActor, uuid);
    expect(preview(unverified, [], [])).toMatchObject({ status: "refused", code: "business_not_verified" });
  });
});
