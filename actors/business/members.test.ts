import { describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { keyFacts, partyFacts, businessUuid as uuid } from "../facts.fixture.ts";
import type { MemberRole } from "../messages/members.ts";
import type { PersonRole } from "../messages/party.ts";
import { businessActor } from "./definition.ts";

const act = { by: "Ada", reason: "She founded it." };

function open() {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  const set = (person_id: string, role: MemberRole | null) =>
    business.send({ type: "member.set", person_id, role, act });
  const memberOf = (person_id: string) => business.send({ type: "member.read", person_id });
  const roleOf = (person_id: string) => memberOf(person_id)?.role ?? null;
  return { business, set, roleOf, memberOf };
}

describe("the people of a business", () => {
  it("have one role each, until it is changed or taken", () => {
    const { set, roleOf } = open();
    expect(roleOf("ada")).toBeNull();
    expect(set("ada", "owner")).toEqual({ status: "done", changed: true });
    expect(set("ada", "owner")).toEqual({ status: "done" });
    set("bob", "viewer");
    expect([roleOf("ada"), roleOf("bob"), roleOf("eve")]).toEqual(["owner", "viewer", null]);
    expect(set("bob", "developer")).toEqual({ status: "done", changed: true });
    expect(set("bob", null)).toEqual({ status: "done", changed: true });
    expect(set("bob", null)).toEqual({ status: "done" });
    expect(roleOf("bob")).toBeNull();
  });

  it("keep the passkey with which they seal for as long as their role does", () => {
    const { business, set, memberOf } = open();
    const sealing = { key_id: "k", credential_id: "c" };
    const give = () => business.send({ type: "member.set", person_id: "ada", role: "owner", sealing, act });
    expect([give(), give()]).toEqual([{ status: "done", changed: true }, { status: "done" }]);
    set("bob", "owner");
    set("ada", "admin");
    expect(memberOf("ada")).toEqual({ role: "admin", sealing });
    expect(memberOf("bob")).toEqual({ role: "owner", sealing: null });
  });

  it.each([
    ["developer", undefined],
    ["viewer", undefined],
    [null, undefined],
    ["admin", { key_id: "k2", credential_id: "c2" }],
  ] as const)(
    "lose the key with which they seal with the role, or for another passkey (MB3): %s",
    (role, given) => {
      const { business, set, memberOf } = open();
      const sealing = { key_id: "k", credential_id: "c" };
      const key = keyFacts({ key_id: "k", role: "sealing", person_role: "owner" });
      business.send({ type: "key.register", key });
      business.send({ type: "member.set", person_id: "ada", role: "owner", sealing, act });
      set("bob", "owner");
      const revoked = () => {
        const { entries } = business.send({ type: "register.read", keys: ["key/k"] });
        return JSON.parse(entries[0]?.body ?? "").revoked_at;
      };
      const more = given === undefined ? {} : { sealing: given };
      const take = (named: object) =>
        business.send({ type: "member.set", person_id: "ada", role, ...more, ...named, act });
      for (const named of [{}, { revokes: "other" }])
        expect(take(named)).toMatchObject({ code: "member_changed" });
      expect([revoked(), memberOf("ada")]).toEqual([null, { role: "owner", sealing }]);
      expect(take({ revokes: "k" })).toEqual({ status: "done", changed: true });
      expect(revoked()).toBe(new Date(business.nowMs).toISOString());
      expect(memberOf("ada")).toEqual(role === null ? null : { role, sealing: given ?? null });
      const { acts } = business.send({ type: "acts.read", after: 0, limit: 9 });
      expect(acts.slice(-2)).toMatchObject([
        { act: "key.revoke", entry: "key/k", ...act },
        { act: "member.set", entry: "person/ada", ...act },
      ]);
    },
  );

  it("keep an owner (MB1)", () => {
    const { set, roleOf } = open();
    set("ada", "owner");
    expect(set("ada", null)).toMatchObject({ code: "owner_last" });
    expect(set("ada", "viewer")).toMatchObject({ code: "owner_last" });
    set("bob", "owner");
    expect(set("ada", "viewer")).toEqual({ status: "done", changed: true });
    expect(roleOf("ada")).toBe("viewer");
    expect(set("bob", null)).toMatchObject({ code: "owner_last" });
  });

  it("seal with a new passkey, whose key is registered in the same commit, if their role seals (MB3)", () => {
    const { business, set, memberOf } = open();
    for (const [person, role] of [
      ["ada", "owner"],
      ["bob", "admin"],
      ["eve", "developer"],
    ] as const)
      set(person, role);
    const enrol = (person_id: string, key_id: string, person_role: PersonRole, more: object = {}) =>
      business.send({
        type: "sealer.set",
        person_id,
        credential_id: `c of ${key_id}`,
        key: keyFacts({ key_id, role: "sealing", person_role }),
        ...more,
        act,
      });
    const registered = (key_id: string) =>
      business.send({ type: "register.read", keys: [`key/${key_id}`] }).entries.length;
    for (const [person, role] of [
      ["eve", "developer"],
      ["bob", "owner"],
      ["nobody", "owner"],
    ] as const)
      expect(enrol(person, "k", role)).toMatchObject({ code: "role_too_low" });
    expect(registered("k")).toBe(0);
    expect([enrol("bob", "k", "admin"), enrol("bob", "k", "admin")]).toEqual([
      { status: "done", changed: true },
      { status: "done" },
    ]);
    expect([registered("k"), memberOf("bob")]).toEqual([
      1,
      { role: "admin", sealing: { key_id: "k", credential_id: "c of k" } },
    ]);
    expect(enrol("bob", "k2", "admin")).toMatchObject({ code: "sealer_known" });
    const { acts } = business.send({ type: "acts.read", after: 0, limit: 9 });
    expect(acts.slice(-2)).toMatchObject([
      { act: "key.register", entry: "key/k", ...act },
      { act: "sealer.set", entry: "person/bob", ...act },
    ]);
    // A key is one person's, and what was revoked gives nobody a passkey.
    set("ida", "admin");
    expect(enrol("ida", "k", "admin")).toMatchObject({ code: "key_taken" });
    const revoked_at = new Date(business.nowMs).toISOString();
    const revoke = (key_id: string) =>
      business.send({ type: "key.revoke", key_id, revoked_at, compromised_from: null });
    expect(enrol("bob", "k2", "admin", { replaces: "k" })).toMatchObject({ code: "sealer_known" });
    revoke("k");
    expect(enrol("ida", "k", "admin")).toMatchObject({ code: "key_unknown" });
    for (const more of [{}, { replaces: "other" }])
      expect(enrol("bob", "k2", "admin", more)).toMatchObject({ code: "sealer_known" });
    expect(enrol("bob", "k2", "admin", { replaces: "k" })).toEqual({ status: "done", changed: true });
    expect(memberOf("bob")?.sealing?.key_id).toBe("k2");
  });

  it("of an AI company have no passkeys that seal", () => {
    const company = driveActor(businessActor, uuid);
    company.send({ type: "party.open", party: partyFacts({ kind: "ai_company" }) });
    company.send({ type: "member.set", person_id: "ada", role: "owner", act });
    const key = keyFacts({ key_id: "k", role: "sealing", person_role: "owner" });
    expect(
      company.send({ type: "sealer.set", person_id: "ada", credential_id: "c", key, act }),
    ).toMatchObject({ code: "role_not_allowed" });
    expect(company.send({ type: "register.read", keys: ["key/k"] }).entries).toEqual([]);
  });

  it("are of a business that was opened, and in no register (MB2)", () => {
    const unknown = driveActor(businessActor, uuid);
    const set = { type: "member.set", person_id: "ada", role: "owner", act } as const;
    expect(unknown.send(set)).toMatchObject({ code: "party_unknown" });
    const { business } = open();
    const before = business.effects.length;
    business.send(set);
    expect(business.effects).toHaveLength(before);
  });
});

describe("an invitation", () => {
  const list = (business: ActorHarness<"business">, person_id = "ada") =>
    business.send({ type: "members.list", person_id });
  function invited(role: MemberRole = "viewer", from: MemberRole = "owner") {
    const { business, set, roleOf } = open();
    set("ada", "owner");
    set("bob", from);
    const until_ms = business.nowMs + 1_000;
    const make = (person_id = "bob") =>
      business.send({ type: "invitation.set", id: "i", role, person_id, until_ms, act });
    const read = () => list(business)?.invitations[0] ?? null;
    const accept = (person_id = "eve", as = role) =>
      business.send({ type: "member.set", person_id, role: as, invitation: "i", act });
    const revoke = (person_id: string) =>
      business.send({ type: "invitation.set", id: "i", role: null, person_id, until_ms: 0, act });
    return { business, set, roleOf, make, read, accept, revoke };
  }
  const over = { code: "invitation_over" };

  it("gives its role once (MB4)", () => {
    const { business, roleOf, make, read, accept } = invited("developer");
    expect([make(), make()]).toEqual([{ status: "done", changed: true }, { status: "done" }]);
    expect(read()).toMatchObject({ role: "developer", person_id: "bob" });
    expect(accept("ada")).toMatchObject({ code: "member_known" });
    expect(accept("eve", "owner")).toMatchObject(over);
    expect(accept()).toEqual({ status: "done", changed: true });
    expect([roleOf("eve"), read()]).toEqual(["developer", null]);
    expect(accept("mallory")).toMatchObject(over);
    expect(
      list(business)
        ?.members.map((each) => each.person_id)
        .sort(),
    ).toEqual(["ada", "bob", "eve"]);
    expect(list(business, "mallory")).toBeNull();
  });

  it("is there beside a page of those that are over and not forgotten yet, and for a stranger where the business is full", () => {
    const { business, set, roleOf } = open();
    set("ada", "owner");
    const make = (id: string) => {
      const until_ms = business.nowMs + 1_000;
      const of = { role: "viewer", person_id: "ada", act } as const;
      business.send({ type: "invitation.set", id, until_ms, ...of });
    };
    for (let count = 0; count < 50; count += 1) make(`b${count}`);
    business.nowMs += 1_001;
    for (const id of ["i", "j"]) make(id);
    expect(business.send({ type: "invitation.read", id: "i" })).toMatchObject({ role: "viewer" });
    const accept = (person_id: string, invitation: string) =>
      business.send({ type: "member.set", person_id, role: "viewer", invitation, act });
    expect(accept("eve", "i")).toMatchObject({ status: "done" });
    for (let count = 2; count < 200; count += 1) set(`p${count}`, "viewer");
    expect([roleOf("zoe"), accept("zoe", "j")]).toMatchObject([null, { code: "too_many_people" }]);
    expect(set("zoe", "viewer")).toMatchObject({ code: "too_many_people" });
  });

  it("is kept with the acts on the register, as is every change of a role, each under a number of its own (MB2)", () => {
    const { business, set, make, accept, revoke } = invited("developer");
    make();
    revoke("bob");
    make();
    accept();
    set("eve", "viewer");
    set("eve", "viewer");
    set("eve", null);
    const { acts } = business.send({ type: "acts.read", after: 0, limit: 20 });
    const of = (name: string, entry: string) => ({ act: name, entry, by: act.by });
    expect(acts).toMatchObject([
      of("member.set", "person/ada"),
      of("member.set", "person/bob"),
      ...[1, 2, 3].map(() => of("invitation.set", "invitation/i")),
      of("member.set", "person/eve"),
      of("member.set", "person/eve"),
      of("member.set", "person/eve"),
    ]);
    expect(acts[5]?.reason).toBe("She founded it. The invitation is of the person bob.");
    expect(new Set(acts.map(({ change }) => change)).size).toBe(acts.length);
  });

  it("ends by time, by being taken back, and with the role of the member who made it (MB4)", () => {
    for (const end of [
      ({ business }: ReturnType<typeof invited>) => {
        business.nowMs += 1_000;
      },
      ({ revoke }: ReturnType<typeof invited>) => revoke("ada"),
      ({ set }: ReturnType<typeof invited>) => set("bob", "developer"),
      ({ set }: ReturnType<typeof invited>) => set("bob", null),
    ]) {
      const life = invited();
      life.make();
      end(life);
      expect([life.read(), life.accept()]).toMatchObject([null, over]);
    }
  });

  it.each(["admin", "developer", null] as const)(
    "is deleted with the role that gives it, and takes no other's place (MB4): %s",
    (role) => {
      const { business, set } = open();
      set("ada", "owner");
      set("bob", "owner");
      const until_ms = business.nowMs + 1_000;
      const make = (id: string, person_id: string, offered: MemberRole) =>
        business.send({ type: "invitation.set", id, role: offered, person_id, until_ms, act });
      for (let count = 1; count < 50; count += 1) make(`b${count}`, "bob", "owner");
      make("kept", "bob", "viewer");
      expect(make("more", "ada", "viewer")).toMatchObject({ code: "too_many_invitations" });
      set("bob", role);
      expect(make("more", "ada", "viewer")).toEqual({ status: "done", changed: true });
      // Nor does it come back with the role.
      set("bob", "owner");
      const waiting = list(business)?.invitations.map(({ id }) => id);
      expect(waiting?.sort()).toEqual(role === "admin" ? ["kept", "more"] : ["more"]);
    },
  );

  it.each([
    ["admin", "owner"],
    ["admin", "admin"],
    ["developer", "viewer"],
    ["viewer", "viewer"],
  ] as const)("is not made and not taken back by a role that does not give it: %s, %s", (from, role) => {
    const { make, read, revoke } = invited(role, from);
    expect([make(), make("nobody")]).toMatchObject([{ code: "role_too_low" }, { code: "role_too_low" }]);
    make("ada");
    expect(revoke("bob")).toMatchObject({ code: "role_too_low" });
    expect(read()).not.toBeNull();
  });
});

describe("a member who changes roles", () => {
  it("gives and takes those that their role gives, and may always take their own", () => {
    const { business, set, roleOf } = open();
    set("ada", "owner");
    set("bob", "admin");
    set("eve", "developer");
    const by = (by_person: string, person_id: string, role: MemberRole | null) =>
      business.send({ type: "member.set", person_id, role, by_person, act });
    for (const [from, to, role] of [
      ["bob", "ada", "viewer"],
      ["bob", "eve", "admin"],
      ["bob", "bob", "owner"],
      ["bob", "bob", "viewer"],
      ["eve", "eve", "admin"],
      ["nobody", "eve", null],
    ] as const)
      expect(by(from, to, role)).toMatchObject({ code: "role_too_low" });
    expect(by("bob", "eve", "viewer")).toMatchObject({ changed: true });
    expect(by("ada", "eve", "admin")).toMatchObject({ changed: true });
    expect(by("bob", "bob", null)).toMatchObject({ changed: true });
    expect([roleOf("bob"), roleOf("eve")]).toEqual([null, "admin"]);
    expect(by("ada", "ada", null)).toMatchObject({ code: "owner_last" });
    // Who left meanwhile does not come back by it.
    expect(by("ada", "bob", "viewer")).toMatchObject({ code: "member_unknown" });
    expect(roleOf("bob")).toBeNull();
  });
});
