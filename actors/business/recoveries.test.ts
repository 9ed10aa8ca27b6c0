import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { certificateFacts, keyFacts, partyFacts, businessUuid as uuid } from "../facts.fixture.ts";
import type { MemberRole } from "../messages/members.ts";
import { noticeKinds, type SentNotice } from "../messages/notices.ts";
import { businessActor } from "./definition.ts";

const act = { by: "Olga; Max", reason: "Seen." };
const hourMs = 3_600_000;
const asked = { recovery: "new/1", person_id: "ada", applicant: "new", applicant_name: "Ada again" };
const oldKey = keyFacts({ key_id: "old", role: "sealing", person_role: "owner" });
const newKey = keyFacts({ key_id: "new", role: "sealing", person_role: "owner" });

/** A business with the owner Ada, who seals, and an admin. */
function open() {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  business.send({ type: "key.register", key: oldKey });
  const sealing = { key_id: "old", credential_id: "c" };
  business.send({ type: "member.set", person_id: "ada", role: "owner", sealing, act });
  const set = (person_id: string, role: MemberRole | null) =>
    business.send({ type: "member.set", person_id, role, act });
  set("bob", "admin");
  set("eve", "developer");
  business.effects.splice(0);
  const announce = (more: Partial<typeof asked> = {}) =>
    business.send({ type: "recovery.announce", ...asked, ...more, act });
  const stop = (by_person?: string, recovery = asked.recovery) =>
    business.send({
      type: "recovery.end",
      recovery,
      ...(by_person === undefined ? {} : { by_person }),
      act,
    });
  const replace = (more: { readonly revokes?: string | null; readonly key?: typeof newKey } = {}) =>
    business.send({
      type: "owner.replace",
      recovery: asked.recovery,
      key: newKey,
      credential_id: "n",
      revokes: "old",
      act,
      ...more,
    });
  const roleOf = (person_id: string) => business.send({ type: "member.read", person_id })?.role ?? null;
  const keyOf = (key_id: string) =>
    JSON.parse(business.send({ type: "register.read", keys: [`key/${key_id}`] }).entries[0]?.body ?? "null");
  /** Who was sent which state since the last look. */
  const told = () =>
    business.effects.splice(0).flatMap((each) => {
      if (each.kind !== "tell" || each.message.type !== "notice.send") return [];
      const { notice } = each.message as unknown as SentNotice;
      return notice.kind === "owner.recovery" ? [`${each.to.id}: ${notice.state}`] : [];
    });
  return { business, set, announce, stop, replace, roleOf, keyOf, told };
}

const late = { status: "refused", code: "recovery_stopped" };

describe("an owner who is to be replaced", () => {
  it("is told with all who bind the business, whatever they chose, and 72 hours begin (RO1, NB6)", () => {
    const { business, announce, told } = open();
    business.send({ type: "notices.choose", person_id: "bob", unwanted: [...noticeKinds] });
    const due_at_ms = business.nowMs + 72 * hourMs;
    expect(announce()).toEqual({ status: "announced", due_at_ms });
    expect(told()).toEqual(["ada: announced", "bob: announced"]);
    expect(business.send({ type: "notices.read", person_id: "bob" })?.notices).toHaveLength(1);
    business.nowMs += hourMs;
    expect(announce()).toEqual({ status: "announced", due_at_ms });
    expect(told()).toEqual([]);
    expect(business.send({ type: "recovery.find" })).toMatchObject({
      owners: [{ person_id: "ada", key_id: "old" }],
      open: { ...asked, due_at_ms },
    });
  });

  it("is an owner of a business in force, and the applicant is none of its people; one waits at a time (RO2)", () => {
    const { business, announce } = open();
    const refused = (more: object) => {
      const reply = announce(more);
      return reply.status === "refused" ? reply.code : null;
    };
    expect(refused({ person_id: "bob" })).toBe("owner_unknown");
    expect(refused({ person_id: "nobody" })).toBe("owner_unknown");
    expect(refused({ applicant: "eve" })).toBe("member_known");
    announce();
    expect(refused({ recovery: "other/1", applicant: "other" })).toBe("recovery_open");
    const other = driveActor(businessActor, uuid);
    expect(other.send({ type: "recovery.announce", ...asked, act })).toMatchObject({
      code: "certificate_not_in_force",
    });
    const certificate = certificateFacts({ cert_id: "c2", status: "withdrawn" });
    const { certificate: inForce } = business.snapshot.context;
    business.send({ type: "certificate.issue", certificate, follows: inForce.cert_id });
    business.send({ type: "recovery.end", recovery: asked.recovery, act });
    expect(refused({ recovery: "new/2" })).toBe("certificate_not_in_force");
  });

  it("is replaced after 72 hours and not before, with role and key in one commit (RO1, RO3)", () => {
    const { business, announce, replace, roleOf, keyOf, told } = open();
    expect(replace()).toMatchObject(late);
    announce();
    told();
    business.nowMs += 72 * hourMs - 1;
    expect(replace()).toMatchObject({ status: "refused", code: "recovery_early" });
    expect([roleOf("ada"), roleOf("new"), keyOf("old").revoked_at, keyOf("new")]).toEqual([
      "owner",
      null,
      null,
      null,
    ]);
    business.nowMs += 1;
    for (const revokes of [null, "other"])
      expect(replace({ revokes })).toMatchObject({ code: "member_changed" });
    const before = business.send({ type: "acts.read", after: 0, limit: 99 }).acts.length;
    const invite = { id: "i", role: "viewer", person_id: "ada", until_ms: business.nowMs + hourMs } as const;
    business.send({ type: "invitation.set", ...invite, act });
    business.effects.splice(0);
    expect(replace()).toEqual({ status: "done", changed: true });
    expect(business.effects).toContainEqual({
      kind: "tell",
      to: { kind: "person", id: "ada" },
      message: { type: "business.forget", uuid, noted_before_ms: business.nowMs },
    });
    expect(business.effects).toContainEqual(
      expect.objectContaining({ message: expect.objectContaining({ type: "log.append" }) }),
    );
    expect(told()).toEqual(["ada: done", "bob: done"]);
    expect([roleOf("ada"), roleOf("new"), roleOf("bob")]).toEqual([null, "owner", "admin"]);
    expect(keyOf("old").revoked_at).toBe(new Date(business.nowMs).toISOString());
    expect(keyOf("new")).toMatchObject({ revoked_at: null, person_role: "owner" });
    expect(business.send({ type: "member.read", person_id: "new" })?.sealing).toEqual({
      key_id: "new",
      credential_id: "n",
    });
    expect(business.send({ type: "invitation.read", id: "i" })).toBeNull();
    const { acts } = business.send({ type: "acts.read", after: 0, limit: 99 });
    expect(acts.slice(before + 1).map((each) => each.act)).toEqual([
      "key.revoke",
      "key.register",
      "owner.replace",
    ]);
    expect(new Set(acts.map(({ change }) => change)).size).toBe(acts.length);
    // Asked again, nothing changes (RO4).
    business.nowMs += hourMs;
    expect([replace(), announce()]).toEqual([{ status: "done" }, { status: "stopped" }]);
    expect(told()).toEqual([]);
  });

  it.each(["ada", "bob"])("stays if somebody who binds the business stops it (RO2): %s", (person) => {
    const { business, announce, stop, replace, roleOf, told } = open();
    announce();
    told();
    for (const other of ["eve", "new", "nobody"]) expect(stop(other)).toMatchObject({ code: "role_too_low" });
    expect(stop(person, "new/2")).toMatchObject({ code: "recovery_over" });
    expect(stop(person)).toEqual({ status: "done", changed: true });
    expect(business.effects).toContainEqual({
      kind: "tell",
      to: { kind: "recovery", id: `new.${uuid}` },
      message: { type: "recovery.stopped", recovery: asked.recovery },
    });
    expect(told()).toEqual(["ada: stopped", "bob: stopped"]);
    business.nowMs += 73 * hourMs;
    expect([replace(), stop(person), announce()]).toMatchObject([
      late,
      { code: "recovery_over" },
      { status: "stopped" },
    ]);
    expect(roleOf("ada")).toBe("owner");
    // Another one may follow.
    expect(announce({ recovery: "new/2" })).toMatchObject({ status: "announced" });
  });

  it("stays if it was refused or taken back elsewhere, which is told once", () => {
    const { announce, stop, replace, told } = open();
    announce();
    told();
    expect([stop(), stop()]).toEqual([{ status: "done", changed: true }, { status: "done" }]);
    expect(told()).toEqual(["ada: stopped", "bob: stopped"]);
    expect(replace()).toMatchObject(late);
  });

  it("is not replaced once the certificate has ended in the wait", () => {
    const { business, announce, replace, roleOf } = open();
    announce();
    business.nowMs += 72 * hourMs;
    const certificate = certificateFacts({ cert_id: "d", status: "revoked" });
    business.send({ type: "certificate.issue", certificate, follows: certificateFacts().cert_id });
    expect(replace()).toMatchObject({ status: "refused", code: "certificate_not_in_force" });
    expect([roleOf("ada"), roleOf("new")]).toEqual(["owner", null]);
  });

  it("is not replaced who is no owner any more, nor by somebody who came in meanwhile", () => {
    const { business, announce, set, replace, roleOf } = open();
    announce();
    business.nowMs += 72 * hourMs;
    set("new", "viewer");
    expect(replace()).toMatchObject({ code: "member_known" });
    set("new", null);
    set("bob", "owner");
    set("ada", "admin");
    expect(replace()).toMatchObject({ code: "owner_unknown" });
    expect([roleOf("ada"), roleOf("new")]).toEqual(["admin", null]);
  });
});
