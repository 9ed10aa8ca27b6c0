import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  endedPush,
  holdSettlement,
  keyFacts,
  mandateFacts,
  partyFacts,
  policyFacts,
  pushSeal,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { HoldFaultCode } from "../messages/admission.ts";
import type { LeafClaim } from "../messages/business.ts";
import { businessActor } from "./definition.ts";
import { holdDecisions } from "./rows.ts";

type Business = ActorHarness<"business">;

/** A business with 20 listings that holds the push `p`, sealed under what is in force. */
function holding(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  business.send({ type: "key.register", key: keyFacts() });
  business.send({ type: "mandate.accept", mandate: mandateFacts() });
  const records = Array.from({ length: 20 }, (_, index) => `r${index}`);
  admit(business, "catalogue", null);
  business.send({
    ...({ type: "chunk.assign", push_id: "catalogue", number: 1, chunk: 0, collection: "products" } as const),
    leaves: records.map(
      (record_id, leaf_index): LeafClaim => ({
        leaf_index,
        record_id,
        hash: "h",
        business_product_id: record_id,
        listings: { US: ["10.00", "USD"] },
      }),
    ),
    refused: [],
    seal: pushSeal,
  });
  business.send({ type: "push.finished", push_id: "catalogue", chunks: 1, ended: endedPush });
  expect(admit(business, "p", "r0")).toMatchObject({ held: true, number: 2 });
  return business;
}

const admit = (business: Business, push_id: string, jump: string | null) =>
  business.send({
    ...({ type: "push.admit", push_id, key_id: "k", records: 1, may_hold: jump !== null } as const),
    plan:
      jump === null
        ? null
        : {
            pending: business.snapshot.context.pending,
            earlier: business.snapshot.context.pending.map(() => []),
            listings: [[jump, { US: ["99.00", "USD"] }]],
          },
  });

const held = { key_id: "k", mandate_ids: ["m"], cert_id: "c", ai_policy_version: 0 };
const settle = (business: Business, confirmed: boolean, changes: Parameters<typeof holdSettlement>[2] = {}) =>
  business.send(holdSettlement("p", confirmed, { held, ...changes }));

/** What the push is told. */
const told = (business: Business) =>
  business.effects.flatMap((effect) =>
    effect.kind === "tell" && effect.to.kind === "push" ? [effect.message] : [],
  );

const sealed = { key_id: "owner", at: "2026-01-01T00:00:00.000Z" };

describe("a decision on a hold", () => {
  it("puts the push before one that was admitted in the same turn, and holds are read beside one", () => {
    const business = holding();
    const admission = { type: "push.admit", push_id: "q", key_id: "k", records: 1, may_hold: false } as const;
    const [, , holds] = business.sendTogether([
      { ...admission, plan: null },
      holdSettlement("p", true, { held }),
      { type: "holds.read", after: 0, limit: 5 },
    ]);
    expect(holds).toEqual({ holds: [] });
    expect(business.snapshot.context.pending).toEqual(["p", "q"]);
  });

  it("is kept with its document, and told to the push with who and when", () => {
    const business = holding();
    expect(settle(business, true)).toEqual({ status: "done" });
    const decision = { decision: "confirm", ...sealed, decided_at: "2026-01-01T00:00:00.000Z" };
    expect(told(business)).toEqual([{ type: "hold.release", confirmed: true, decision }]);
    const [row] = business.rows(holdDecisions.rt);
    expect(row && holdDecisions.decode(row.body, row)).toEqual({
      ...sealed,
      envelope: "{}",
      confirmed: true,
      decided_at: decision.decided_at,
      fault: null,
    });
    expect(business.snapshot.context).toMatchObject({ held: [], pending: ["p"] });
  });

  it.each([true, false])("made once counts, the same again changes nothing (confirmed: %s)", (confirmed) => {
    const business = holding();
    settle(business, confirmed);
    const before = [JSON.stringify(business.snapshot), business.rows(holdDecisions.rt), told(business)];
    // A second person decides the same, much later.
    business.nowMs += 86_400_000;
    const second = { key_id: "admin", at: "2026-01-02T00:00:00.000Z", envelope: '{"of":"admin"}' };
    expect(settle(business, confirmed, { decision: second })).toEqual({ status: "done" });
    expect(settle(business, confirmed)).toEqual({ status: "done" });
    expect(settle(business, !confirmed, { decision: second })).toMatchObject({ code: "hold_decided" });
    expect([JSON.stringify(business.snapshot), business.rows(holdDecisions.rt), told(business)]).toEqual(
      before,
    );
  });

  it("sealed more than five minutes ago, or ahead, is refused, unless it was accepted before", () => {
    const business = holding();
    const startedMs = business.nowMs;
    for (const offMs of [300_001, -300_001]) {
      business.nowMs = startedMs + offMs;
      expect(settle(business, true)).toMatchObject({ code: "sealed_at_skew" });
    }
    expect(business.snapshot.context.held).toEqual(["p"]);
    business.nowMs = startedMs + 300_000;
    expect(settle(business, true)).toEqual({ status: "done" });
    business.nowMs += 1;
    expect(settle(business, true)).toEqual({ status: "done" });
  });

  it("about a push that is not held is refused", () => {
    const business = holding();
    business.send({ type: "push.finished", push_id: "p", chunks: 1, ended: endedPush });
    expect(settle(business, true)).toMatchObject({ code: "hold_unknown" });
    expect(business.send(holdSettlement("never", false))).toMatchObject({ code: "hold_unknown" });
    expect(business.rows(holdDecisions.rt)).toEqual([]);
  });

  it("that meets a push which was cancelled meanwhile leaves nothing waiting", () => {
    const business = holding();
    settle(business, true);
    business.send({ type: "push.finished", push_id: "p", chunks: 1, ended: endedPush });
    expect(business.snapshot.context).toMatchObject({ held: [], pending: [] });
    expect(settle(business, true)).toEqual({ status: "done" });
    expect(business.snapshot.context).toMatchObject({ held: [], pending: [] });
  });
});

describe("a push that is confirmed is judged by what is in force then (H2)", () => {
  const at = "2026-01-01T00:00:00.000Z";
  it.each<readonly [HoldFaultCode, (business: Business) => void]>([
    [
      "business_not_verified",
      (business) =>
        business.send({
          type: "certificate.issue",
          certificate: certificateFacts({ cert_id: "c2", status: "withdrawn", status_reason: "r" }),
          follows: "c",
        }),
    ],
    [
      "key_revoked",
      (business) =>
        business.send({ type: "key.revoke", key_id: "k", revoked_at: at, compromised_from: null }),
    ],
    [
      "mandate_revoked",
      (business) => business.send({ type: "mandate.revoke", mandate_id: "m", revoked_at: at }),
    ],
    [
      "certificate_not_in_force",
      (business) =>
        business.send({
          type: "certificate.issue",
          certificate: certificateFacts({ cert_id: "c2" }),
          follows: "c",
        }),
    ],
    [
      "ai_policy_version_mismatch",
      (business) => business.send({ type: "policy.accept", policy: policyFacts({ version: 1 }) }),
    ],
  ])("and ends with %s", (code, change) => {
    const business = holding();
    change(business);
    expect(settle(business, true)).toEqual({ status: "done" });
    expect(told(business)).toMatchObject([
      { type: "hold.release", confirmed: false, decision: { decision: "confirm" }, error: { code } },
    ]);
    expect(business.snapshot.context).toMatchObject({ held: [], pending: [] });
    expect(business.rows(19)).toEqual([]);
    // What it became stays, whatever comes into force again.
    expect(settle(business, true)).toEqual({ status: "done" });
    expect(told(business)).toHaveLength(1);
  });

  it("and ends with what only the service could judge", () => {
    const business = holding();
    const fallen = { code: "mandate_revoked", detail: "d" } as const;
    settle(business, true, { fallen });
    expect(told(business)).toMatchObject([{ confirmed: false, error: fallen }]);
  });

  it("while a rejection needs none of it", () => {
    const business = holding();
    business.send({ type: "key.revoke", key_id: "k", revoked_at: at, compromised_from: null });
    settle(business, false);
    const [message] = told(business);
    expect(message).toMatchObject({ confirmed: false, decision: { decision: "reject" } });
    expect(message).not.toHaveProperty("error");
  });

  it("but not by what only ran out: it was sealed in time", () => {
    const later = holding();
    later.nowMs = Date.UTC(2026, 5, 1);
    const decision = { key_id: "owner", at: "2026-06-01T00:00:00.000Z", envelope: "{}" };
    settle(later, true, { decision });
    expect(told(later)).toMatchObject([{ confirmed: true }]);
  });
});

describe("the held pushes of a business", () => {
  it("are listed by number, from the one asked for on", () => {
    const business = holding();
    admit(business, "q", "r1");
    admit(business, "s", "r2");
    const read = (after: number, limit: number) => business.send({ type: "holds.read", after, limit }).holds;
    expect(read(0, 2)).toEqual([
      { push_id: "p", number: 2 },
      { push_id: "q", number: 3 },
    ]);
    expect(read(3, 2)).toEqual([{ push_id: "s", number: 4 }]);
    settle(business, true);
    expect(read(0, 9).map(({ push_id }) => push_id)).toEqual(["q", "s"]);
  });

  it("are read without passing over the admissions of pushes that ended", () => {
    const business = holding();
    for (let at = 0; at < 1_100; at += 1) {
      const push_id = `b${at}`;
      business.send({ type: "push.admit", push_id, key_id: "k", records: 1, may_hold: false, plan: null });
      business.send({ type: "push.finished", push_id, chunks: 1, ended: endedPush });
    }
    const { holds } = business.send({ type: "holds.read", after: 0, limit: 9 });
    expect(holds).toEqual([{ push_id: "p", number: 2 }]);
    settle(business, true);
    expect(told(business)).toMatchObject([{ confirmed: true }]);
  });
});
