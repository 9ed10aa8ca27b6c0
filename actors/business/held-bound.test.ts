import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { businessUuid, certificateFacts, partyFacts } from "../facts.fixture.ts";
import { businessActor } from "./definition.ts";
import { heldMax, pendingMax } from "./rows.ts";

/** A business with twenty listings at 10.00 USD. */
function merchant(): ActorHarness<"business"> {
  const business = driveActor(businessActor, businessUuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts() });
  const first = { push_id: "first", key_id: "k", records: 20, may_hold: false, plan: null };
  business.send({ type: "push.admit", ...first });
  const leaves = Array.from({ length: 20 }, (_, leaf_index) => ({
    ...{ leaf_index, record_id: `r${leaf_index}`, hash: "h", business_product_id: `p${leaf_index}` },
    listings: { US: ["10.00", "USD"] as const },
  }));
  const chunk = { push_id: "first", number: 1, chunk: 0, collection: "products", leaves } as const;
  business.send({ type: "chunk.assign", ...chunk });
  business.send({ type: "push.finished", push_id: "first", chunks: 1 });
  return business;
}

const ask = (business: ActorHarness<"business">, push_id: string, amount: string) => ({
  ...{ push_id, key_id: "k", records: 1, may_hold: true },
  plan: {
    pending: business.snapshot.context.pending,
    earlier: [],
    listings: [["r0", { US: [amount, "USD"] as const }] as const],
  },
});
const admit = (business: ActorHarness<"business">, push_id: string, amount: string) =>
  business.send({ type: "push.admit", ...ask(business, push_id, amount) });
const holds = { status: "busy", reason: "holds_waiting", retry_after_seconds: 3_600 };

function full(): ActorHarness<"business"> {
  const business = merchant();
  for (let index = 0; index < heldMax; index += 1)
    expect(admit(business, `held${index}`, "99.00")).toMatchObject({ status: "admitted", held: true });
  return business;
}

describe("the held pushes of a business", () => {
  it("are so many, and one more is asked to come back, also where it is only validated", () => {
    const business = full();
    const { number } = business.snapshot.context;
    expect(admit(business, "more", "99.00")).toEqual(holds);
    expect(business.send({ type: "push.preview", ...ask(business, "more", "99.00") })).toEqual(holds);
    expect(business.snapshot.context).toMatchObject({ number, pending: [] });
    expect(business.snapshot.context.held).toHaveLength(heldMax);
    // What is held already is answered as before.
    expect(admit(business, "held0", "99.00")).toMatchObject({ status: "admitted", held: true });
    business.send({ type: "push.finished", push_id: "held0", chunks: 1 });
    expect(admit(business, "more", "99.00")).toMatchObject({ status: "admitted", held: true });
  });

  it("keep no other push waiting, however many there are", () => {
    const business = full();
    for (let index = 0; index < pendingMax; index += 1)
      expect(admit(business, `p${index}`, "10.00")).toMatchObject({ status: "admitted", held: false });
    expect(admit(business, "one more", "10.00")).toEqual({ status: "busy", retry_after_seconds: 5 });
  });

  it("may be more if it is decided later, as for a file, or was decided by an earlier release", () => {
    const business = full();
    for (let index = 0; index < pendingMax - heldMax; index += 1) {
      expect(admit(business, `file${index}`, "10.00")).toMatchObject({ status: "admitted" });
      business.send({ type: "push.hold", push_id: `file${index}`, held_reasons: [] });
    }
    expect(business.snapshot.context.held).toHaveLength(pendingMax);
    for (let index = 0; index < pendingMax; index += 1)
      expect(admit(business, `p${index}`, "10.00")).toMatchObject({ status: "admitted", held: false });
    expect(admit(business, "one more", "10.00")).toMatchObject({ status: "busy" });
    const listed = business.send({ type: "holds.read", after: 0, limit: 1_000 }).holds;
    expect(listed.map(({ number }) => number)).not.toContain(0);
    expect(listed).toHaveLength(pendingMax);
  });
});
