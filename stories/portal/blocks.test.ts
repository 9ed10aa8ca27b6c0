// People of a business block groups of AI companies at the portal, as switches.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import {
  approvedAt,
  cellsOf,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  setRoleAt,
} from "./business.fixture.ts";

let portal: PortalNode;
/** It asked for records of every business here, is in the directory, or keeps to itself. */
let asking: Owned;
let listed: Owned;
let quiet: Owned;
const script = `Asking <b onclick="alert(1)"> Ltd`;
beforeAll(async () => {
  portal = await openPortalNode();
  const newCompany = async (name: string) => approvedAt(portal, await companyAppliedAt(portal, name));
  [asking, listed, quiet] = [
    await newCompany(script),
    await newCompany("Listed Ltd"),
    await newCompany("Quiet Ltd"),
  ];
  await portal.node.services.parties.setListed({ uuid: listed.uuid, listed: true });
  await portal.node.services.register.refresh();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

async function newAsked(name: string): Promise<Owned> {
  const owned = await newBusinessAt(portal, name);
  const { insight, clock } = portal.node.services;
  const servedAt = new Date(clock.now()).toISOString();
  insight.fetched({ company: asking.uuid, servedAt, collection: "products", business: owned.uuid });
  await insight.flush();
  return owned;
}

const pageOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/blocks`);
const rowsOf = async (owned: Owned) =>
  cellsOf((await pageOf(owned)).html, 0).map(([names, group, state]) => [names, group, state]);
/** The page that asks for the passkey. */
const choose = async (owned: Owned, of: Owned, blocked = "yes") =>
  owned.owner.send((await pageOf(owned)).form("/blocks/choose"), { group: of.uuid, blocked });
const isBlocked = async ({ uuid }: Owned, of: Owned) => {
  const { register } = portal.node.services;
  await register.refresh();
  return register.hasBlocked(uuid, { group: of.uuid });
};

describe("a business", () => {
  it("blocks a group and unblocks it, confirmed as shown", async () => {
    const owned = await newAsked("Shy Ltd");
    expect(await rowsOf(owned)).toEqual([
      [script, asking.uuid, "not blocked"],
      ["Listed Ltd", listed.uuid, "not blocked"],
    ]);
    expect((await pageOf(owned)).html.includes("<b onclick")).toBe(false);
    const asked = await choose(owned, listed);
    expect(asked.html).toContain(
      `The AI companies of the group ${listed.uuid} find and fetch nothing of Shy Ltd`,
    );
    const form = asked.form("/confirm");
    const [own] = owned.owner.authenticator.passkeys;
    const credential = owned.owner.credentialFor(form, own && { passkey: own });
    await owned.owner.send(form, { credential });
    expect(await rowsOf(owned)).toEqual([
      ["Listed Ltd", listed.uuid, "blocked"],
      [script, asking.uuid, "not blocked"],
    ]);
    expect([await isBlocked(owned, listed), await isBlocked(owned, asking)]).toEqual([true, false]);
    const { acts } = await portal.node.services.actors.ask(businessRef(owned.uuid), {
      type: "acts.read",
      after: 0,
      limit: 100,
    });
    expect(JSON.stringify(acts)).toContain(`Blocked at the portal: the group ${listed.uuid}.`);
    expect((await owned.owner.get("/account")).html).toContain(
      "chose whether a group of AI companies is blocked",
    );
    await owned.owner.confirm((await choose(owned, listed, "no")).form("/confirm"));
    expect(await isBlocked(owned, listed)).toBe(false);
    // What was confirmed once does nothing again.
    expect((await owned.owner.send(form, { credential })).html).toContain("Nothing was done twice.");
    expect(await isBlocked(owned, listed)).toBe(false);
  });

  it("sees a group that it blocked, whoever is in it by now", async () => {
    const owned = await newAsked("Old Ltd");
    const act = { by: "Olga", reason: "Seen." };
    const { parties } = portal.node.services;
    await parties.setBlocked({ uuid: owned.uuid, group: quiet.uuid, blocked: true, act });
    expect((await rowsOf(owned))[0]).toEqual(["none that is shown to you", quiet.uuid, "blocked"]);
    expect((await pageOf(owned)).html).not.toContain("Quiet Ltd");
    await owned.owner.confirm((await choose(owned, quiet, "no")).form("/confirm"));
    expect((await rowsOf(owned)).map(([, group]) => group)).not.toContain(quiet.uuid);
  });
});

describe("nothing is blocked", () => {
  it("that is not shown, for another business, or otherwise than shown", async () => {
    const [mine, theirs] = [await newAsked("Mine Ltd"), await newAsked("Theirs Ltd")];
    expect((await choose(mine, quiet)).status).toBe(404);
    const form = (await pageOf(mine)).form("/blocks/choose");
    expect((await mine.owner.send(form, { group: `"><script>` })).status).toBe(404);
    expect((await mine.owner.send(form, { uuid: theirs.uuid })).status).toBe(404);
    expect((await pageOf({ ...theirs, owner: mine.owner })).status).toBe(404);
    expect((await pageOf({ ...mine, owner: new Visitor(portal.url) })).html).toContain("Sign in");
    const ofCompany = (await asking.owner.get("/account")).form("/passkeys/add").fields;
    const byCompany = { ...ofCompany, uuid: asking.uuid, group: listed.uuid, blocked: "yes" };
    expect((await asking.owner.post("/blocks/choose", byCompany)).status).toBe(404);
    const asked = (await choose(mine, listed)).form("/confirm");
    for (const change of [{ uuid: theirs.uuid }, { group: quiet.uuid }, { group: asking.uuid }]) {
      const act = JSON.stringify({ ...JSON.parse(asked.fields["act"] ?? "{}"), ...change });
      const given = { ...asked.fields, act };
      const [passkey] = mine.owner.authenticator.passkeys;
      const credential = mine.owner.credentialFor(asked, passkey && { passkey });
      expect((await mine.owner.post("/confirm", { ...given, credential })).status).not.toBe(200);
    }
    for (const each of [asking, listed, quiet])
      expect([await isBlocked(mine, each), await isBlocked(theirs, each)]).toEqual([false, false]);
  });

  it("by somebody whose role is too low", async () => {
    const owned = await newAsked("Low Ltd");
    const page = (await pageOf(owned)).form("/blocks/choose");
    const asked = (await choose(owned, listed)).form("/confirm");
    for (const role of ["developer", "viewer"] as const) {
      await setRoleAt(portal, owned, role);
      expect((await owned.owner.send(page)).status).toBe(403);
      const { html, status } = await pageOf(owned);
      expect([status, html.includes("/blocks/choose"), html.includes("Listed Ltd")]).toEqual([
        200,
        false,
        true,
      ]);
    }
    expect((await owned.owner.confirm(asked)).status).toBe(403);
    expect(await isBlocked(owned, listed)).toBe(false);
  });
});
