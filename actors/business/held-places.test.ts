import { expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { certificateFacts, endedPush, partyFacts, pushSeal, businessUuid as uuid } from "../facts.fixture.ts";
import type { LeafClaim, Listings } from "../messages/business.ts";
import { businessActor } from "./definition.ts";
import { heldMax, pendingMax } from "./rows.ts";

type Business = ActorHarness<"business">;

const priced = (amount: string): Listings => ({ US: [amount, "USD"] });

function withCatalogue(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  business.send({ type: "push.admit", push_id: "p", key_id: "k", records: 20, may_hold: false, plan: null });
  const leaves = Array.from(
    { length: 20 },
    (_, leaf_index): LeafClaim => ({
      leaf_index,
      record_id: `r${leaf_index}`,
      hash: "h",
      business_product_id: `r${leaf_index}`,
      listings: priced("10.00"),
    }),
  );
  const chunk = { push_id: "p", number: 1, chunk: 0, collection: "products", leaves } as const;
  business.send({ type: "chunk.assign", ...chunk, refused: [], seal: pushSeal });
  business.send({ type: "push.finished", push_id: "p", chunks: 1, ended: endedPush });
  return business;
}

function offer(business: Business, push_id: string, amount: string) {
  const { pending } = business.snapshot.context;
  const plan = { pending, earlier: [], listings: [["r0", priced(amount)]] } as const;
  return business.send({ type: "push.admit", push_id, key_id: "k", records: 1, may_hold: true, plan });
}

it("a business has so many pushes held, and the others go on", () => {
  const business = withCatalogue();
  for (let index = 0; index < heldMax; index += 1)
    expect(offer(business, `held-${index}`, "99.00")).toMatchObject({ status: "admitted", held: true });
  const full = { status: "busy", reason: "holds_waiting", retry_after_seconds: 3_600 };
  expect(offer(business, "one more", "99.00")).toEqual(full);
  // The same is said of a push that is only validated.
  const plan = { pending: [], earlier: [], listings: [["r0", priced("99.00")]] } as const;
  const preview = { type: "push.preview", push_id: "v", may_hold: true, plan, root: "root" } as const;
  expect(business.send(preview)).toEqual(full);
  expect(offer(business, "held-0", "99.00")).toMatchObject({ status: "admitted", held: true });
  for (let index = heldMax; index < pendingMax; index += 1)
    expect(offer(business, `goes-on-${index}`, "10.00")).toMatchObject({ status: "admitted", held: false });
  const { held, pending } = business.snapshot.context;
  expect([held.length, pending.length]).toEqual([heldMax, pendingMax - heldMax]);
  const busy = offer(business, "too many", "10.00");
  expect(busy).toEqual({ status: "busy", retry_after_seconds: 5 });
  business.send({ type: "push.cancel", push_id: "held-0" });
  expect(offer(business, "one more", "99.00")).toMatchObject({ status: "admitted", held: true });
});
