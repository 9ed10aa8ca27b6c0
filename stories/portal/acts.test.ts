// Owners and admins see at the portal what was done to their business, by whom and why.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, type ShownForm, Visitor } from "../../portal/portal.fixture.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import {
  act,
  cellsOf,
  idIn,
  newBusinessAt,
  type Owned,
  provenKey,
  registerKeyAt,
  setRoleAt,
  showMandate,
  unescaped,
  writeRecord,
} from "./business.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const newBusiness = (name: string) => newBusinessAt(portal, name);
const pathOf = ({ uuid }: Owned) => `/businesses/${uuid}/acts`;
/** What, about what, by whom and why. */
const rowsOf = async (owned: Owned, path = pathOf(owned)) =>
  cellsOf((await owned.owner.get(path)).html, 0).map(([, ...cells]) => cells);

/** As many acts of operators. */
async function actOften({ uuid }: Owned, times: number): Promise<void> {
  const { actors } = portal.node.services;
  for (let at = 0; at < times; at += 1)
    await actors.ask(businessRef(uuid), {
      type: at % 2 === 0 ? "group.block" : "group.unblock",
      group: "10000000-0000-4000-8000-000000000005",
      act,
    });
}

describe("the acts of a business", () => {
  it("are linked from its page, newest first, with the names of people and without those of operators", async () => {
    const owned = await newBusiness("Acts Ltd");
    const { owner, uuid } = owned;
    const { key_id } = await registerKeyAt(portal, owned, await provenKey(owned));
    await actOften(owned, 1);
    expect((await owner.get(`/businesses/${uuid}`)).html).toContain(`href="${pathOf(owned)}"`);
    const rows = await rowsOf(owned);
    expect(rows.slice(0, 2)).toEqual([
      ["blocked a group of AI companies", "Acts Ltd", "operators of this service", ""],
      ["registered a key", `key ${key_id}`, "Ada Lovelace", "Registered at the portal."],
    ]);
    const { html } = await owner.get(pathOf(owned));
    for (const secret of [act.by, act.reason]) expect(html).not.toContain(secret);
  });

  it("name who sealed, published and took out what, once each", async () => {
    const owned = await newBusiness("Sealed Ltd");
    const { owner, uuid } = owned;
    await registerKeyAt(portal, owned, await provenKey(owned));
    await owner.answer((await showMandate(owned)).form("/mandates/seal"));
    const policy = (await owner.get(`/businesses/${uuid}/ai-policy`)).form("/ai-policies/make");
    await owner.answer((await owner.send(policy, { "action/answer": "on" })).form("/records/seal"));
    /** A double click does it once. */
    const sealTwice = async (form: ShownForm) => {
      const credential = owner.credentialFor(form);
      const [first] = [await owner.send(form, { credential }), await owner.send(form, { credential })];
      return first;
    };
    const record = await writeRecord(owned, "events", sampleRecords.events);
    const id = idIn(await sealTwice(record.form("/records/seal")));
    const list = await owner.get(`/businesses/${uuid}/records`);
    const removing = await owner.send(list.form("/records/remove"), { action: "withdraw" });
    await sealTwice(removing.form("/records/seal"));
    const { register } = portal.node.services;
    await register.refresh();
    const [mandate_] = await register.mandates(uuid);
    const by = ["Ada Lovelace", "Sealed at the portal."];
    expect((await rowsOf(owned)).filter(([, , , why]) => why === by[1])).toEqual([
      ["withdrew a record", `record ${id}`, ...by],
      ["published a record", `record ${id}`, ...by],
      ["sealed an AI policy", `AI policy ${uuid}/1`, ...by],
      ["sealed a mandate", `mandate ${mandate_?.mandate_id}`, ...by],
    ]);
  });

  it("name a key of the party's own system that acted", async () => {
    const owned = await newBusiness("System Ltd");
    const by = `key ${"k".repeat(43)}`;
    await portal.node.services.actors.ask(businessRef(owned.uuid), {
      type: "group.block",
      group: "10000000-0000-4000-8000-000000000005",
      act: { by, reason: "By request." },
    });
    expect((await rowsOf(owned))[0]?.slice(2)).toEqual([by, "By request."]);
  });

  it("have every act on one of their pages", async () => {
    const owned = await newBusiness("Many Ltd");
    await actOften(owned, 120);
    const { html } = await owned.owner.get(pathOf(owned));
    const [, next = ""] = /href="([^"]*\?cursor=[^"]*)"/.exec(html) ?? [];
    const pages = [await rowsOf(owned), await rowsOf(owned, unescaped(next))];
    expect(pages.flat().filter(([what]) => what?.includes("blocked a group"))).toHaveLength(120);
    expect(pages[1]?.length).toBeGreaterThan(0);
    expect((await owned.owner.get(unescaped(next))).html).not.toContain("?cursor=");
    const wrong = await owned.owner.get(`${pathOf(owned)}?cursor=x`);
    expect([wrong.status, wrong.html]).toEqual([409, expect.stringContaining("an earlier page")]);
  });

  it("stay with the name of somebody who left", async () => {
    const owned = await newBusiness("Left Ltd");
    const { owner, uuid } = owned;
    await registerKeyAt(portal, owned, await provenKey(owned));
    await setRoleAt(portal, owned, null);
    expect((await owner.get(pathOf(owned))).status).toBe(404);
    const asked = await owner.send((await owner.get("/account")).form("/leave"));
    await owner.confirm(asked.form("/confirm"));
    const second = Visitor.of(portal);
    await second.signUp("Grace Hopper");
    await portal.node.services.actors.ask(businessRef(uuid), {
      type: "member.set",
      person_id: second.personId,
      role: "admin",
      act,
    });
    const rows = await rowsOf({ ...owned, owner: second });
    expect(rows).toContainEqual(expect.arrayContaining(["registered a key", "Ada Lovelace"]));
  });
});

describe("nobody sees the acts of a business", () => {
  it("who only develops for it, works for another, or is not signed in", async () => {
    const [owned, other] = [await newBusiness("Own Ltd"), await newBusiness("Other Ltd")];
    expect((await other.owner.get(pathOf(owned))).status).toBe(404);
    expect((await Visitor.of(portal).get(pathOf(owned))).html).toContain("Sign in");
    for (const role of ["developer", "viewer"] as const) {
      await setRoleAt(portal, owned, role);
      expect((await owned.owner.get(pathOf(owned))).status).toBe(403);
      expect((await owned.owner.get(`/businesses/${owned.uuid}`)).html).not.toContain(pathOf(owned));
    }
  });
});
