import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import type { MandateFacts, PublishingFacts, RegisterReadReply } from "../messages/business.ts";
import { businessActor } from "./definition.ts";
import { mandatesOfKeyMax } from "./mandates.ts";
import { rt } from "./rows.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
const other = "00000000-0000-4000-8000-000000000002";
const party = { uuid, kind: "business", legal_name: "L", country: "GB", group: uuid, blocked_groups: [] };

const send = (business: ActorHarness, command: object) => business.send(command as never);

function keyFacts(key_id: string, changes: object = {}) {
  return {
    key_id,
    party_uuid: uuid,
    role: "integration",
    alg: "Ed25519",
    public_key: {},
    cose: null,
    valid_from: "2025-01-01T00:00:00.000Z",
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
    ...changes,
  };
}

function open(keys: readonly object[] = [keyFacts("k")]): ActorHarness {
  const business = driveActor(businessActor as never, uuid);
  business.nowMs = Date.UTC(2026, 0, 10);
  send(business, { type: "party.open", party });
  for (const key of keys) send(business, { type: "key.register", key });
  return business;
}

function mandate(id: string, changes: Partial<MandateFacts> = {}): MandateFacts {
  return {
    mandate_id: id,
    business_uuid: uuid,
    key_id: "k",
    scope: {
      record_types: ["products"],
      countries: ["GB"],
      directions: ["publish"],
      caps: { records_per_hour: 1, bytes_per_day: 1 },
      source_ip_allow_list: null,
    },
    valid_from: "2026-01-01T00:00:00.000Z",
    valid_until: "2026-03-01T00:00:00.000Z",
    revoked_at: null,
    envelope: `{"of":"${id}"}`,
    ...changes,
  };
}

const accept = (business: ActorHarness, facts: MandateFacts) =>
  send(business, { type: "mandate.accept", mandate: facts });

const revoke = (business: ActorHarness, mandate_id: string, revoked_at = "2026-01-02T00:00:00.000Z") =>
  send(business, { type: "mandate.revoke", mandate_id, revoked_at });

const mandatesOf = (business: ActorHarness, key_id = "k") =>
  (send(business, { type: "publishing.facts", key_id }) as PublishingFacts).mandates;

const read = (business: ActorHarness, id: string) =>
  (send(business, { type: "register.read", keys: [`mandate/${id}`] }) as RegisterReadReply).entries;

/** As an earlier release kept a mandate: among the other register entries, by its id alone. */
const olderRow = (facts: MandateFacts, change: number) => ({
  rt: rt.register,
  k: 0,
  k2: `mandate/${facts.mandate_id}`,
  body: JSON.stringify({ partition: uuid, change, body: JSON.stringify(facts) }),
});

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
    const business = open([keyFacts("k"), keyFacts("k2")]);
    accept(business, mandate("m"));
    const { length } = business.effects;
    expect(accept(business, mandate("m"))).toEqual({ status: "done" });
    // The same mandate under another signature of its sealer.
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
      keyFacts("k"),
      keyFacts("person", { role: "sealing" }),
      keyFacts("ended", { valid_until: "2025-12-31T00:00:00.000Z" }),
      keyFacts("ends now", { valid_until: "2026-01-10T00:00:00.000Z" }),
      keyFacts("ends later", { valid_until: "2026-01-10T00:00:00.001Z" }),
      keyFacts("lost"),
    ]);
    send(business, {
      type: "key.revoke",
      key_id: "lost",
      revoked_at: "2026-01-01T00:00:00.000Z",
      compromised_from: null,
    });
    const codeFor = (key_id: string) =>
      (accept(business, mandate(`m of ${key_id}`, { key_id })) as { code?: string }).code;
    expect(codeFor("nobody")).toBe("key_unknown");
    expect(codeFor("person")).toBe("key_unknown");
    expect(codeFor("ended")).toBe("key_not_valid");
    expect(codeFor("ends now")).toBe("key_not_valid");
    expect(codeFor("ends later")).toBeUndefined();
    expect(codeFor("lost")).toBe("key_not_valid");
    expect(codeFor("k")).toBeUndefined();
    // What was accepted while the key was live is still the same mandate.
    send(business, {
      type: "key.revoke",
      key_id: "k",
      revoked_at: "2026-01-01T00:00:00.000Z",
      compromised_from: null,
    });
    expect(codeFor("k")).toBeUndefined();
  });

  it("is found for its key, however many ended before it or belong to other keys", () => {
    const business = open([keyFacts("k"), keyFacts("j"), keyFacts("l")]);
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
    expect(business.rows(rt.mandateOfKey)).toHaveLength(2 * mandatesOfKeyMax + 1);
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

describe("a mandate of an older journal", () => {
  const older = () => {
    const business = open();
    business.lay(olderRow(mandate("m"), 7));
    return business;
  };

  it("is found for its key beside those of now, and read for its projection", () => {
    const business = older();
    expect(mandatesOf(business)).toMatchObject([{ mandate_id: "m", revoked_at: null }]);
    expect(read(business, "m")).toMatchObject([{ key: `${uuid}/m`, change: 7 }]);
    accept(business, mandate("n", { valid_from: "2026-01-02T00:00:00.000Z" }));
    expect(mandatesOf(business).map(({ mandate_id }) => mandate_id)).toEqual(["n", "m"]);
  });

  it("is known by its id, and moves when it is revoked", () => {
    const business = older();
    expect(accept(business, mandate("m"))).toEqual({ status: "done" });
    expect(accept(business, mandate("m", { key_id: "x" }))).toMatchObject({ code: "mandate_id_taken" });
    expect(revoke(business, "m")).toEqual({ status: "done", changed: true });
    expect(mandatesOf(business)).toMatchObject([{ mandate_id: "m", revoked_at: "2026-01-02T00:00:00.000Z" }]);
    expect(business.rows(rt.register).filter(({ k2 }) => k2.startsWith("mandate/"))).toEqual([]);
    expect(read(business, "m")).toHaveLength(1);
  });
});

describe("what is registered of a business", () => {
  it("names that business", () => {
    const business = open();
    const strange = [
      { type: "key.register", key: keyFacts("x", { party_uuid: other }) },
      { type: "mandate.accept", mandate: mandate("x", { business_uuid: other }) },
      { type: "certificate.issue", certificate: { cert_id: "x", uuid: other, status: "active" } },
      { type: "policy.accept", policy: { business_uuid: other, version: 1 } },
      { type: "custody.state", custody: { statement_id: "x", business_uuid: other, key_id: "k" } },
    ];
    for (const command of strange) {
      expect(send(business, command), command.type).toMatchObject({
        status: "refused",
        code: "party_unknown",
      });
    }
  });

  it("says who holds a key only of a key that it has", () => {
    const business = open();
    const state = (key_id: string) =>
      send(business, {
        type: "custody.state",
        custody: { statement_id: `s ${key_id}`, business_uuid: uuid, key_id },
      });
    expect(state("nobody")).toMatchObject({ status: "refused", code: "key_unknown" });
    expect(state("k")).toEqual({ status: "done", changed: true });
  });
});
