import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { certificateFacts, partyFacts, pushSeal, businessUuid as uuid } from "../facts.fixture.ts";
import type { HeldReason } from "../messages/business.ts";
import type { Purge } from "../messages/removal.ts";
import { businessActor } from "./definition.ts";

function open() {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}
type Business = ReturnType<typeof open>;

/** Has a push of which one leaf is rejected, and names the record. */
function reject(business: Business, push_id: string, record_id: string, business_product_id: string): number {
  const admit = { push_id, key_id: "k", records: 1, may_hold: false, plan: null };
  const admitted = business.send({ type: "push.admit", ...admit });
  const number = admitted.status === "admitted" ? admitted.number : 0;
  const refused = [{ record_id, business_product_id }];
  business.send({
    type: "chunk.assign",
    push_id,
    number,
    chunk: 0,
    collection: "products",
    leaves: [],
    refused,
    seal: pushSeal,
  });
  return number;
}

const ownIds = (business: Business, ...record_ids: string[]) =>
  business.send({ type: "own_ids.read", record_ids }).own_ids;

const purgeOf = (record_id: string, number: number): Purge => ({
  record_id,
  number,
  collection: "products",
  generation: 1,
  document_hash: "d",
  due_ms: 0,
  deleted_at_ms: 0,
});

const reasons = (...records: string[]): readonly HeldReason[] => [
  {
    code: "price_jump",
    detail: "One price.",
    count: 1,
    of: 20,
    largest: records.map((record_id) => ({
      record_id,
      business_product_id: `own ${record_id}`,
      country: "US",
      change: "5.00",
      before: { amount: "1.00", currency: "USD" },
      after: { amount: "6.00", currency: "USD" },
    })),
  },
];

function hold(business: Business, push_id: string, ...records: string[]): number {
  const admit = { push_id, key_id: "k", records: 1, may_hold: false, plan: null };
  const admitted = business.send({ type: "push.admit", ...admit });
  business.send({ type: "push.hold", push_id, held_reasons: reasons(...records) });
  return admitted.status === "admitted" ? admitted.number : 0;
}

const again = (business: Business, push_id: string) => {
  const admit = { push_id, key_id: "k", records: 1, may_hold: false, plan: null };
  return JSON.stringify(business.send({ type: "push.admit", ...admit }));
};

describe("the own ids of rejected records", () => {
  it("are known for as long as attempts are listed, and until a purge of the record (T1, T3)", () => {
    const business = open();
    reject(business, "p", "svc_a", "own a");
    reject(business, "q", "svc_b", "own b");
    expect(ownIds(business, "svc_b", "svc_x", "svc_a")).toEqual(["own b", null, "own a"]);
    business.send({ type: "purges.forget", purge: purgeOf("svc_a", 9), after: "" });
    expect(ownIds(business, "svc_a", "svc_b")).toEqual([null, "own b"]);
    expect(business.rows(54).map(({ expiresAtMs }) => expiresAtMs)).toEqual([
      business.nowMs + 90 * 86_400_000,
    ]);
  });

  it("are not learnt again from a chunk that was answered before the purge", () => {
    const business = open();
    const number = reject(business, "p", "svc_a", "own a");
    business.send({ type: "purges.forget", purge: purgeOf("svc_a", 9), after: "" });
    const refused = [{ record_id: "svc_a", business_product_id: "own a" }];
    const chunk = { push_id: "p", number, chunk: 0, collection: "products" } as const;
    business.send({ type: "chunk.assign", ...chunk, leaves: [], refused, seal: pushSeal });
    expect(ownIds(business, "svc_a")).toEqual([null]);
  });
});

describe("the pushes that were held because of a record", () => {
  it("are found by the record alone, and no longer say its prices if they are sent again (T2, T3)", () => {
    const business = open();
    hold(business, "p", "svc_a", "svc_b");
    hold(business, "q", "svc_ab");
    const later = hold(business, "r", "svc_a");
    const purge = purgeOf("svc_a", later - 1);
    const reply = business.send({ type: "purges.forget", purge, after: "" });
    expect(reply).toEqual({ push_ids: ["p", "r"], held: ["p", "r"], more: false });
    expect(again(business, "p")).toContain("own svc_b");
    expect(again(business, "p")).not.toContain("own svc_a");
    expect(again(business, "q")).toContain("own svc_ab");
    // This one was accepted after the deletion.
    expect(again(business, "r")).toContain("own svc_a");
    expect(business.send({ type: "purges.forget", purge, after: "p" }).push_ids).toEqual(["r"]);
  });

  it("are answered a page at a time", () => {
    const business = open();
    for (let index = 0; index < 101; index += 1) hold(business, `p${1_000 + index}`, "svc_a");
    const purge = purgeOf("svc_a", 1_000);
    const first = business.send({ type: "purges.forget", purge, after: "" });
    expect([first.push_ids.length, first.more]).toEqual([100, true]);
    const after = first.push_ids.at(-1) ?? "";
    expect(business.send({ type: "purges.forget", purge, after })).toEqual({
      push_ids: ["p1100"],
      held: ["p1100"],
      more: false,
    });
  });
});
