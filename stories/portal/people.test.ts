// An owner invites people to a business by links, changes their roles and takes them; each act is confirmed by a passkey.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef, personRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import { act, newBusinessAt, type Owned, unescaped } from "./business.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const confirm = (person: Visitor, shown: Seen): Promise<Seen> => person.confirm(shown.form("/confirm"));
const idOf = ({ personId }: Visitor) => personId;
const peopleOf = (person: Visitor, uuid: string) => person.get(`/people/${uuid}`);
const roleOf = async (uuid: string, person_id: string) =>
  (await portal.node.services.actors.ask(businessRef(uuid), { type: "member.read", person_id }))?.role ??
  null;

async function newPerson(name: string): Promise<Visitor> {
  const person = new Visitor(portal.url);
  await person.signUp(name);
  return person;
}

/** The code of a new link. */
async function invite(person: Visitor, uuid: string, role: MemberRole): Promise<string> {
  const asked = await person.send((await peopleOf(person, uuid)).form("/people/invite"), { role });
  const made = await confirm(person, asked);
  return /\/invitation#([\w.-]+)"/.exec(made.html)?.[1] ?? "";
}

const openLink = async (person: Visitor, code: string) =>
  person.send((await person.get("/invitation")).form("/invitation"), { code });

/** Somebody with this role. */
async function newMember({ owner, uuid }: Owned, role: MemberRole, name = "Bob") {
  const person = await newPerson(name);
  const after = await confirm(person, await openLink(person, await invite(owner, uuid, role)));
  expect([after.status, await roleOf(uuid, idOf(person))]).toEqual([200, role]);
  return person;
}

describe("an owner", () => {
  it("invites somebody, who comes in by the link, signs up and has the role", async () => {
    const { owner, uuid } = await newBusinessAt(portal, "Invite & Sons Ltd");
    const code = await invite(owner, uuid, "developer");
    const bob = new Visitor(portal.url);
    const door = await openLink(bob, `${portal.url}/invitation#${code}`);
    expect(unescaped(door.html)).toContain("You are invited to work for Invite & Sons Ltd, as developer.");
    const named = await bob.send(door.form("/sign-up"), { name: "Bob" });
    await bob.answer(named.form("/sign-up/passkey"));
    const asked = await openLink(bob, code);
    expect(unescaped(asked.html)).toContain("You work for Invite & Sons Ltd from now on, as developer.");
    const page = await confirm(bob, asked);
    expect([page.status, page.html.includes("Register the key")]).toEqual([200, true]);
    expect((await bob.get("/")).html).toContain(`href="/businesses/${uuid}"`);
    expect((await bob.get("/account")).html).toContain("accepted an invitation");
    expect((await owner.get("/account")).html).toContain("invited somebody");
    expect((await peopleOf(owner, uuid)).html).toMatch(/Ada Lovelace \(you\).*Bob/s);
    // No seal and no secret is kept or published.
    const stored = await portal.node.services.actors.ask(businessRef(uuid), {
      type: "members.list",
      person_id: idOf(owner),
    });
    expect(JSON.stringify(stored)).not.toContain(code.split(".")[1]);
  });

  it("changes and takes roles, with the key by which somebody sealed", async () => {
    const owned = await newBusinessAt(portal, "Change Ltd");
    const { owner, uuid, personId } = owned;
    const bob = await newMember(owned, "owner");
    const change = async (by: Visitor, person_id: string, path: string, role = "") =>
      confirm(by, await by.send((await peopleOf(by, uuid)).form(path), { person_id, role }));
    await change(bob, personId, "/people/change", "viewer");
    const { register } = portal.node.services;
    await register.refresh();
    expect(await roleOf(uuid, personId)).toBe("viewer");
    expect((await register.keys(uuid)).map(({ revoked_at }) => revoked_at !== null)).toEqual([true]);
    expect((await bob.get("/account")).html).toContain("changed a role");
    await change(bob, personId, "/people/remove");
    expect([await roleOf(uuid, personId), (await owner.get(`/businesses/${uuid}`)).status]).toEqual([
      null,
      404,
    ]);
    expect((await owner.get("/")).html).not.toContain("Change Ltd");
    const last = await change(bob, idOf(bob), "/people/remove");
    expect([last.status, last.html.includes("stays its owner")]).toEqual([409, true]);
  });

  it("removes somebody who comes back at once, and finds the business again", async () => {
    const owned = await newBusinessAt(portal, "Return Ltd");
    const { owner, uuid } = owned;
    const bob = await newMember(owned, "viewer");
    const { actors } = portal.node.services;
    const person = personRef(idOf(bob));
    const report = () => actors.ask(person, { type: "person.read" });
    const session = (await report())?.sessions[0]?.session ?? "";
    const ask = actors.ask.bind(actors);
    const isRemoval = (command: { readonly type: string }) => command.type === "member.set";
    const back = vi.spyOn(actors, "ask").mockImplementation(async (to, command) => {
      const reply = await ask(to, command);
      if (!isRemoval(command)) return reply;
      await ask(person, { type: "business.forget", uuid });
      await ask(person, { type: "business.note", session, uuid, name: "Return Ltd", network: null });
      return reply;
    });
    const form = (await peopleOf(owner, uuid)).form("/people/remove");
    const asked = await owner.send(form, { person_id: idOf(bob) });
    await confirm(owner, asked).finally(() => back.mockRestore());
    expect([await roleOf(uuid, idOf(bob)), (await report())?.businesses]).toEqual([null, [uuid]]);
  });

  it("takes an invitation back", async () => {
    const { owner, uuid } = await newBusinessAt(portal, "Back Ltd");
    const code = await invite(owner, uuid, "viewer");
    const bob = await newPerson("Bob");
    const asked = await openLink(bob, code);
    await confirm(owner, await owner.send((await peopleOf(owner, uuid)).form("/people/take-back")));
    expect((await confirm(bob, asked)).html).toContain("used or taken back");
    expect((await openLink(bob, code)).status).toBe(404);
    expect(await roleOf(uuid, idOf(bob))).toBeNull();
  });
});

describe("nobody", () => {
  it("comes in by a link that is used, forged, or of another business, and all are told the same", async () => {
    const owned = await newBusinessAt(portal, "Links Ltd");
    const other = await newBusinessAt(portal, "Other Ltd");
    const used = await invite(owned.owner, owned.uuid, "viewer");
    const [bob, eve] = [await newPerson("Bob"), await newPerson("Eve")];
    const late = await openLink(eve, used);
    const asked = await openLink(bob, used);
    const [own] = bob.authenticator.passkeys;
    const form = asked.form("/confirm");
    const credential = bob.credentialFor(form, own && { passkey: own });
    const invited = JSON.parse(form.fields["act"] ?? "");
    const swapped = { credential, act: JSON.stringify({ ...invited, role: "owner" }) };
    expect((await bob.send(form, swapped)).status).toBe(401);
    expect((await bob.send(form, { credential })).status).toBe(200);
    // A double click, and the link in a second hand.
    expect((await bob.send(form, { credential })).html).toContain("Done before");
    expect((await confirm(eve, late)).html).toContain("used or taken back");
    const secret = used.split(".")[1] ?? "";
    const nowhere = "10000000-0000-4000-8000-0000000000ff";
    const pages: string[] = [];
    for (const code of [
      used,
      `${other.uuid}.${secret}`,
      `${owned.uuid}.${"A".repeat(43)}`,
      `${nowhere}.${secret}`,
      "x",
    ]) {
      const { status, html } = await openLink(eve, code);
      pages.push(`${status} ${html.replaceAll(/value="[^"]*"/g, "")}`);
    }
    expect([new Set(pages).size, pages[0]?.slice(0, 3)]).toEqual([1, "404"]);
    expect([await roleOf(owned.uuid, idOf(eve)), await roleOf(owned.uuid, idOf(bob))]).toEqual([
      null,
      "viewer",
    ]);
  });

  it("gives or takes a role that theirs does not, or under the ids of another business", async () => {
    const owned = await newBusinessAt(portal, "Bounds Ltd");
    const other = await newBusinessAt(portal, "Elsewhere Ltd");
    const { owner, uuid, personId } = owned;
    const admin = await newMember(owned, "admin", "Adam");
    const viewer = await newMember(owned, "viewer", "Vera");
    const shown = await peopleOf(admin, uuid);
    const invitation = shown.form("/people/invite");
    for (const role of ["owner", "admin"]) expect((await admin.send(invitation, { role })).status).toBe(403);
    const change = shown.form("/people/change");
    expect((await admin.send(change, { role: "admin" })).status).toBe(403);
    expect((await admin.send(change, { person_id: personId, role: "viewer" })).status).toBe(403);
    expect((await admin.send(shown.form("/people/remove"), { person_id: personId })).status).toBe(403);
    expect((await admin.send(invitation, { uuid: other.uuid, role: "viewer" })).status).toBe(404);
    expect((await admin.send(change, { person_id: other.personId, role: "viewer" })).status).toBe(404);
    expect((await peopleOf(viewer, uuid)).html).not.toContain("Invite somebody");
    expect((await peopleOf(other.owner, uuid)).status).toBe(404);
    // A role that was taken since the page was shown does nothing more.
    const late = await admin.send(invitation, { role: "viewer" });
    const person_id = idOf(admin);
    await portal.node.services.actors.ask(businessRef(uuid), {
      type: "member.set",
      person_id,
      role: "viewer",
      act,
    });
    expect((await confirm(admin, late)).status).toBe(403);
    expect((await peopleOf(owner, uuid)).html).toContain("Nobody is invited.");
  });
});
