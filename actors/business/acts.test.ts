import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { certificateFacts, keyFacts, partyFacts, businessUuid as uuid } from "../facts.fixture.ts";
import { businessActor } from "./definition.ts";

const act = { by: "Ada", reason: "It was lost." };

type Business = ActorHarness<"business">;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  return business;
}

const acts = (business: Business, after = 0, limit = 100) =>
  business.send({ type: "acts.read", after, limit }).acts;

describe("an act on the register", () => {
  it("is kept with the change that it made, and nothing is kept of one that changed nothing", () => {
    const business = open();
    business.send({ type: "key.register", key: keyFacts() });
    const revoke = (revoked_at: string, compromised_from: string | null) =>
      business.send({ type: "key.revoke", key_id: "k", revoked_at, compromised_from, act });
    expect(revoke("2026-02-02", null)).toEqual({ status: "done", changed: true });
    expect(revoke("2026-02-03", null)).toEqual({ status: "done" });
    expect(revoke("2026-02-04", "2026-02-01")).toEqual({ status: "done", changed: true });
    expect(acts(business)).toMatchObject([
      { ...act, act: "key.revoke", entry: "key/k", change: 3 },
      { ...act, act: "key.revoke", entry: "key/k", change: 4 },
    ]);
    expect(acts(business, 3)).toHaveLength(1);
    expect(acts(business, 0, 1)).toMatchObject([{ change: 3 }]);
    expect(acts(business, 4)).toEqual([]);
  });
});

describe("a record that a person sealed at the portal", () => {
  it("is noted in the commit that admits it, and once however often that is asked", () => {
    const business = open();
    const certificate = certificateFacts({ cert_id: "a" });
    business.send({ type: "certificate.issue", certificate, follows: null });
    const of = { push_id: "p", key_id: "k", records: 1, may_hold: false, plan: null } as const;
    const sealed = { ...act, record_id: "evt_1" };
    for (const _ of [1, 2])
      expect(business.send({ type: "push.admit", ...of, act: sealed })).toMatchObject({ number: 1 });
    business.send({ type: "push.admit", ...of, push_id: "q" });
    expect(acts(business)).toEqual([
      expect.objectContaining({ ...act, act: "record.publish", entry: "record/evt_1" }),
    ]);
  });
});

describe("a certificate", () => {
  it("follows the one in force, or is refused", () => {
    const business = open();
    const issue = (cert_id: string, follows: string | null) =>
      business.send({ type: "certificate.issue", certificate: certificateFacts({ cert_id }), follows, act });
    expect(issue("a", "z")).toMatchObject({ code: "certificate_superseded" });
    expect(issue("a", null)).toEqual({ status: "done", changed: true });
    expect(issue("b", null)).toMatchObject({ code: "certificate_superseded" });
    expect(issue("b", "a")).toEqual({ status: "done", changed: true });
    // The answer to the first one was lost: it is the same issuance.
    expect(issue("b", "a")).toEqual({ status: "done" });
    expect(acts(business).map(({ entry }) => entry)).toEqual(["certificate/a", "certificate/b"]);
  });
});
