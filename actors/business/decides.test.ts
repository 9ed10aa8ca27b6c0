// The commands that the state of a business allows (N5 of the definition).

import { describe, expect, it } from "vitest";
import type { CertificateStatus } from "../../protocol/keys/certificate.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  keyFacts,
  mandateFacts,
  partyFacts,
  policyFacts,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { PartyFacts } from "../messages/business.ts";
import { businessActor } from "./definition.ts";
import { agreementsMax } from "./register.ts";

type Business = ActorHarness<"business">;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  return business;
}

const admit = (business: Business, push_id: string) =>
  business.send({ type: "push.admit", push_id, key_id: "k", records: 1, may_hold: false, plan: null });

describe("a business decides by its state", () => {
  const issue = (business: Business, status: CertificateStatus) =>
    business.send({
      type: "certificate.issue",
      certificate: certificateFacts({ cert_id: `c ${status}`, status }),
      follows: business.snapshot.context.certificate?.cert_id ?? null,
    });

  it("publishes nothing before its first certificate, nor before it is opened", () => {
    const refused = { status: "refused", code: "business_not_verified" };
    expect(admit(open(), "a")).toMatchObject(refused);
    expect(admit(driveActor(businessActor, uuid), "a")).toMatchObject(refused);
  });

  it.each(["revoked", "closed", "withdrawn"] as const)(
    "publishes nothing while it is %s, and numbers nothing; what was admitted before is answered as before",
    (state) => {
      const business = open();
      issue(business, "active");
      const before = admit(business, "before");
      issue(business, state);
      expect(business.snapshot.value).toMatchObject({ standing: state });
      expect(admit(business, "after")).toMatchObject({ status: "refused", code: "business_not_verified" });
      expect(business.snapshot.context).toMatchObject({ number: 1, pending: ["before"] });
      expect(admit(business, "before")).toEqual(before);
    },
  );

  it("publishes nothing of an AI company, whose certificate is in force too", () => {
    const company = driveActor(businessActor, uuid);
    company.send({ type: "party.open", party: partyFacts({ kind: "ai_company" }) });
    issue(company, "active");
    expect(admit(company, "a")).toMatchObject({ status: "refused", code: "business_not_verified" });
  });

  it("opens nothing once it is closed, and still ends what is open", () => {
    const business = open();
    issue(business, "active");
    business.send({ type: "key.register", key: keyFacts() });
    issue(business, "closed");
    const refused = { status: "refused", code: "certificate_not_in_force" };
    const key = keyFacts({ key_id: "new" });
    expect(business.send({ type: "key.register", key })).toMatchObject(refused);
    expect(business.send({ type: "mandate.accept", mandate: mandateFacts() })).toMatchObject(refused);
    expect(business.send({ type: "policy.accept", policy: policyFacts() })).toMatchObject(refused);
    // A repetition of what it already has is answered as before.
    expect(business.send({ type: "key.register", key: keyFacts() })).toEqual({ status: "done" });
    const revoke = { type: "key.revoke", key_id: "k", revoked_at: "2026", compromised_from: null } as const;
    expect(business.send(revoke)).toEqual({ status: "done", changed: true });
    expect(business.send({ type: "group.block", group: "g" })).toEqual({ status: "done", changed: true });
  });

  it("retires an integration key that is revoked, once; no other key has anything to charge", () => {
    const business = open();
    issue(business, "active");
    for (const [key_id, role] of [
      ["k", "integration"],
      ["r", "retrieval"],
    ] as const)
      business.send({ type: "key.register", key: keyFacts({ key_id, role }) });
    for (const key_id of ["k", "k", "r"])
      for (const revoked_at of ["2026", "2025"])
        business.send({ type: "key.revoke", key_id, revoked_at, compromised_from: null });
    const told = business.effects.filter(
      (effect) => effect.kind === "tell" && effect.to.kind === "integration-key",
    );
    expect(told).toEqual([
      {
        kind: "tell",
        to: { kind: "integration-key", id: `${uuid}.k` },
        message: { type: "key.retire" },
      },
    ]);
  });
});

describe("the choice to be in the key directory", () => {
  const chosen = (actor: ReturnType<typeof open>) => {
    const row = actor.rows(18).findLast(({ k2 }) => k2.startsWith("party/"));
    return (JSON.parse(JSON.parse(row?.body ?? "{}").body) as PartyFacts).listed;
  };

  it("is an AI company's alone, and changes the register once", () => {
    const company = driveActor(businessActor, uuid);
    company.send({ type: "party.open", party: partyFacts({ kind: "ai_company" }) });
    expect(chosen(company)).toBeUndefined();
    // Who chose nothing is not listed: to choose so changes nothing.
    expect(company.send({ type: "directory.choose", listed: false })).toEqual({ status: "done" });
    for (const listed of [true, false, true]) {
      const changed = { status: "done", changed: true };
      expect(company.send({ type: "directory.choose", listed })).toEqual(changed);
      expect(company.send({ type: "directory.choose", listed })).toEqual({ status: "done" });
      expect(chosen(company)).toBe(listed);
    }
    company.send({ type: "group.block", group: "g" });
    company.send({ type: "party.open", party: partyFacts({ kind: "ai_company" }) });
    expect(chosen(company)).toBe(true);
    const refused = { status: "refused", code: "role_not_allowed" };
    expect(open().send({ type: "directory.choose", listed: true })).toMatchObject(refused);
    const nobody = driveActor(businessActor, uuid);
    expect(nobody.send({ type: "directory.choose", listed: true })).toMatchObject({ code: "party_unknown" });
  });
});

describe("an agreement to terms", () => {
  const act = { by: "key k", reason: "version" };
  const agree = (version: number, sha256 = `h${version}`) =>
    ({ type: "terms.agree", version, sha256, act }) as const;
  const openCompany = () => {
    const company = driveActor(businessActor, uuid);
    company.send({ type: "party.open", party: partyFacts({ kind: "ai_company" }) });
    return company;
  };
  const known = (actor: ReturnType<typeof open>) => {
    const row = actor.rows(18).findLast(({ k2 }) => k2.startsWith("party/"));
    return (JSON.parse(JSON.parse(row?.body ?? "{}").body) as PartyFacts).agreements;
  };

  it("is an AI company's alone", () => {
    const refused = { status: "refused", code: "role_not_allowed" };
    expect(open().send(agree(1))).toMatchObject(refused);
    expect(driveActor(businessActor, uuid).send(agree(1))).toMatchObject({ code: "party_unknown" });
  });

  it("stands with its first instant however often it is repeated, and whatever the company chooses later", () => {
    const company = openCompany();
    const first = new Date(company.nowMs).toISOString();
    expect(company.send(agree(2))).toEqual({ status: "done", changed: true });
    company.nowMs += 1_000;
    expect(company.send(agree(2))).toEqual({ status: "done" });
    expect(company.send(agree(1))).toEqual({ status: "done", changed: true });
    const second = new Date(company.nowMs).toISOString();
    const both = [
      { version: 1, sha256: "h1", agreed_at: second },
      { version: 2, sha256: "h2", agreed_at: first },
    ];
    expect(known(company)).toEqual(both);
    company.send({ type: "directory.choose", listed: true });
    company.send({ type: "group.join", group: "g" });
    expect(known(company)).toEqual(both);
    expect(company.snapshot.context.party?.agreements).toEqual(both);
    // Who agreed is among the acts, which are kept for good.
    expect(company.rows(22).map(({ body }) => JSON.parse(body))).toMatchObject([
      { act: "terms.agree", ...act, at: first },
      { act: "terms.agree", ...act, at: second },
    ]);
  });

  it("to another text under the same number takes the place of the first", () => {
    const company = openCompany();
    company.send(agree(1));
    expect(company.send(agree(1, "other"))).toEqual({ status: "done", changed: true });
    expect(known(company)).toMatchObject([{ version: 1, sha256: "other" }]);
  });

  it("is known of the newest hundred versions", () => {
    const company = openCompany();
    for (let version = 1; version <= agreementsMax + 1; version += 1) company.send(agree(version));
    expect(known(company)?.map(({ version }) => version)).toEqual(
      Array.from({ length: agreementsMax }, (_, at) => at + 2),
    );
  });
});
