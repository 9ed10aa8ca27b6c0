import { describe, expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  keyFacts,
  mandateFacts,
  partyFacts,
  policyFacts,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { CustodyFacts, KeyFacts, MandateFacts, RegisterCommand } from "../messages/business.ts";
import { businessActor } from "./definition.ts";
import { mandatesOfKeyMax } from "./mandates.ts";
import { mandatesByKey } from "./rows.ts";

const other = "00000000-0000-4000-8000-000000000002";
type Business = ActorHarness<"business">;

function open(keys: readonly KeyFacts[] = [keyFacts()]): Business {
  const business = driveActor(businessActor, uuid);
  business.nowMs = Date.UTC(2026, 0, 10);
  business.send({ type: "party.open", party: partyFacts() });
  for (const key of keys) business.send({ type: "key.register", key });
  return business;
}

const mandate = (mandate_id: string, changes: Partial<MandateFacts> = {}): MandateFacts =>
  mandateFacts({ mandate_id, ...changes });

const accept = (business: Business, facts: MandateFacts) =>
  business.send({ type: "mandate.accept", mandate: facts });

const revoke = (business: Business, mandate_id: string, revoked_at = "2026-01-02T00:00:00.000Z") =>
  business.send({ type: "mandate.revoke", mandate_id, revoked_at });

const mandatesOf = (business: Business, key_id = "k") =>
  business.send({ type: "publishing.facts", key_id }).mandates;

const read = (business: Business, id: string) =>
  business.send({ type: "register.read", keys: [`mandate/${id}`] }).entries;

describe("a mandate", () => {
  it("is projected under a name that holds its business, whatever its own id holds", () => {
    const business = open();
    for (const id of ["m", "a/b", `${other}/m`]) {
      expect(accept(business, mandate(id))).toEqual({ status: "done", changed: true });
      expect(read(business, id)).toMatchObject([
        { table: "mandate", partition: uuid, key: `${uuid}/${id}`, body: JSON.stringify(mandate(id)) },
      ]);
    }
    expect(business.effects.at(-1)).toMatchObject({
      kind: "activity",
      name: "projectRegister",
      params: { keys: [`mandate/${other}/m`] },
    });
  });

  it("may be accepted again, and changes nothing then; another one of its id is refused", () => {
    const business = open([keyFacts({ key_id: "k" }), keyFacts({ key_id: "k2" })]);
    accept(business, mandate("m"));
    const { length } = business.effects;
    expect(accept(business, mandate("m"))).toEqual({ status: "done" });
    // This is the same mandate with another signature by its sealer.
    expect(accept(business, mandate("m", { envelope: "{}" }))).toEqual({ status: "done" });
    for (const changes of [
      { key_id: "k2" },
      { valid_until: "2026-02-01T00:00:00.000Z" },
      { scope: { ...mandate("m").scope, countries: ["GB", "US"] } },
    ]) {
      expect(accept(business, mandate("m", changes))).toMatchObject({
        status: "refused",
        code: "mandate_id_taken",
      });
    }
    expect(business.effects).toHaveLength(length);
    expect(mandatesOf(business)).toMatchObject([{ mandate_id: "m", scope: { countries: ["GB"] } }]);
    revoke(business, "m");
    expect(accept(business, mandate("m"))).toEqual({ status: "done" });
    expect(mandatesOf(business)).toMatchObject([{ revoked_at: "2026-01-02T00:00:00.000Z" }]);
  });

  it("is for a live integration key of its business only", () => {
    const business = open([
      keyFacts({ key_id: "k" }),
      keyFacts({ key_id: "person", role: "sealing" }),
      keyFacts({ key_id: "ended", valid_until: "2025-12-31T00:00:00.000Z" }),
      keyFacts({ key_id: "ends now", valid_until: "2026-01-10T00:00:00.000Z" }),
      keyFacts({ key_id: "ends later", valid_until: "2026-01-10T00:00:00.001Z" }),
      keyFacts({ key_id: "lost" }),
    ]);
    business.send({
      type: "key.revoke",
      key_id: "lost",
      revoked_at: "2026-01-01T00:00:00.000Z",
      compromised_from: null,
    });
    const codeFor = (key_id: string) =>
      (accept(business, mandate(`m of ${key_id}`, { key_id })) as { code?: string }).code;
    expect(codeFor("nobody")).toBe("mandated_key_unknown");
    expect(codeFor("person")).toBe("mandated_key_unknown");
    expect(codeFor("ended")).toBe("mandated_key_not_valid");
    expect(codeFor("ends now")).toBe("mandated_key_not_valid");
    expect(codeFor("ends later")).toBeUndefined();
    expect(codeFor("lost")).toBe("mandated_key_not_valid");
    expect(codeFor("k")).toBeUndefined();
    // A mandate accepted while the key was live is still the same mandate.
    business.send({
      type: "key.revoke",
      key_id: "k",
      revoked_at: "2026-01-01T00:00:00.000Z",
      compromised_from: null,
    });
    expect(codeFor("k")).toBeUndefined();
  });

  it("is found for its key, however many ended before it or belong to other keys", () => {
    const business = open([keyFacts({ key_id: "k" }), keyFacts({ key_id: "j" }), keyFacts({ key_id: "l" })]);
    const ended = Array.from({ length: 3 * mandatesOfKeyMax }, (_, index) => {
      const day = (n: number) => new Date(Date.UTC(2025, 0, n)).toISOString();
      return mandate(`a${index}`, { valid_from: day(index), valid_until: day(index + 1) });
    });
    for (const [index, each] of ended.entries()) {
      accept(business, { ...each, key_id: ["j", "k", "l"][index % 3] ?? "" });
      accept(business, { ...each, mandate_id: `b${index}` });
    }
    accept(business, mandate("z-live"));
    expect(mandatesOf(business)[0]).toMatchObject({ mandate_id: "z-live" });
    expect(mandatesOf(business)).toHaveLength(mandatesOfKeyMax);
    expect(mandatesOf(business, "j").every(({ key_id }) => key_id === "j")).toBe(true);
    expect(mandatesOf(business, "l").length).toBeGreaterThan(0);
    expect(mandatesOf(business, "nobody")).toEqual([]);
  });

  it("that is revoked stands behind those in force, and is the only one of its id", () => {
    const business = open();
    for (let index = 0; index < 2 * mandatesOfKeyMax; index += 1) {
      expect(accept(business, mandate(`a${index}`))).toEqual({ status: "done", changed: true });
      revoke(business, `a${index}`);
    }
    accept(business, mandate("z", { valid_until: "2026-01-20T00:00:00.000Z" }));
    expect(mandatesOf(business).filter(({ revoked_at }) => revoked_at === null)).toMatchObject([
      { mandate_id: "z" },
    ]);
    expect(business.rows(mandatesByKey.rt)).toHaveLength(2 * mandatesOfKeyMax + 1);
    expect(revoke(business, "a0", "2026-01-03T00:00:00.000Z")).toEqual({ status: "done" });
    expect(JSON.parse(read(business, "a0")[0]?.body ?? "{}")).toMatchObject({
      revoked_at: "2026-01-02T00:00:00.000Z",
    });
    expect(revoke(business, "none")).toMatchObject({ code: "mandate_unknown" });
  });

  it("is one of a bounded number in force for its key", () => {
    const business = open();
    for (let index = 0; index < mandatesOfKeyMax; index += 1) accept(business, mandate(`m${index}`));
    expect(accept(business, mandate("more"))).toMatchObject({ code: "too_many_mandates" });
    expect(accept(business, mandate("m0"))).toEqual({ status: "done" });
    revoke(business, "m0");
    expect(accept(business, mandate("more"))).toEqual({ status: "done", changed: true });
  });
});

describe("what is registered of a business", () => {
  it("names that business", () => {
    const business = open();
    const strange: readonly RegisterCommand[] = [
      { type: "key.register", key: keyFacts({ key_id: "x", party_uuid: other }) },
      { type: "mandate.accept", mandate: mandate("x", { business_uuid: other }) },
      {
        type: "certificate.issue",
        certificate: certificateFacts({ cert_id: "x", uuid: other }),
        follows: null,
      },
      { type: "policy.accept", policy: policyFacts({ business_uuid: other }) },
      { type: "custody.state", custody: part({ statement_id: "x", business_uuid: other, key_id: "k" }) },
    ];
    for (const command of strange) {
      expect(business.send(command), command.type).toMatchObject({
        status: "refused",
        code: "party_unknown",
      });
    }
  });

  it("says who holds a key only of a key that it has", () => {
    const business = open();
    const state = (key_id: string) =>
      business.send({
        type: "custody.state",
        custody: part<CustodyFacts>({
          statement_id: `s ${key_id}`,
          business_uuid: uuid,
          key_id,
          envelope: "{}",
        }),
      });
    expect(state("nobody")).toMatchObject({ status: "refused", code: "key_unknown" });
    expect(state("k")).toEqual({ status: "done", changed: true });
  });
});
