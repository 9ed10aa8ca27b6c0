import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import type { ActsReply, CertificateFacts } from "../messages/business.ts";
import { businessActor } from "./definition.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
const act = { by: "Ada", reason: "It was lost." };

function open(): ActorHarness {
  const business = driveActor(businessActor as never, uuid);
  const party = { uuid, kind: "business", legal_name: "L", country: "GB", group: uuid, blocked_groups: [] };
  business.send({ type: "party.open", party } as never);
  return business;
}

function certificate(cert_id: string, changes: Partial<CertificateFacts> = {}): CertificateFacts {
  return {
    ...{ cert_id, uuid, status: "active", status_effective_from: "t", status_reason: null },
    ...{ issued_at: "t", envelope: "{}" },
    ...changes,
  };
}

const acts = (business: ActorHarness, after = 0, limit = 100) =>
  (business.send({ type: "acts.read", after, limit } as never) as ActsReply).acts;

describe("an act on the register", () => {
  it("is kept with the change that it made, and nothing is kept of one that changed nothing", () => {
    const business = open();
    const key = {
      key_id: "k",
      party_uuid: uuid,
      role: "integration",
      revoked_at: null,
      compromised_from: null,
    };
    business.send({ type: "key.register", key } as never);
    const revoke = (revoked_at: string, compromised_from: string | null) =>
      business.send({ type: "key.revoke", key_id: "k", revoked_at, compromised_from, act } as never);
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

  it("of an earlier release has no name, and is none", () => {
    const business = open();
    expect(
      business.send({ type: "certificate.issue", certificate: certificate("a") } as never),
    ).toMatchObject({
      status: "done",
    });
    expect(acts(business)).toEqual([]);
  });
});

describe("a certificate", () => {
  it("follows the one in force, or is refused", () => {
    const business = open();
    const issue = (cert_id: string, follows: string | null) =>
      business.send({ type: "certificate.issue", certificate: certificate(cert_id), follows, act } as never);
    expect(issue("a", "z")).toMatchObject({ code: "certificate_superseded" });
    expect(issue("a", null)).toEqual({ status: "done", changed: true });
    expect(issue("b", null)).toMatchObject({ code: "certificate_superseded" });
    expect(issue("b", "a")).toEqual({ status: "done", changed: true });
    // The answer to the first was lost: it is the same issuance.
    expect(issue("b", "a")).toEqual({ status: "done" });
    expect(acts(business).map(({ entry }) => entry)).toEqual(["certificate/a", "certificate/b"]);
  });
});
