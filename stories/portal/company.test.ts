// An AI company comes in by the portal: its owner applies, registers the key of its system, agrees to terms, and sees what was asked.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef, ledgerRef } from "../../actors/messages/refs.ts";
import { send } from "../../api/surfaces.fixture.ts";
import { search } from "../../cli/search.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import {
  openPortalNode,
  type PortalNode,
  type Seen,
  type ShownForm,
  Visitor,
} from "../../portal/portal.fixture.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import {
  appliedBy,
  approvedAt,
  cellsOf,
  companyAppliedAt,
  decideAt,
  type Owned,
  provenKey,
  registerKeyAt,
} from "./business.fixture.ts";

let portal: PortalNode;
let folder: string;
beforeAll(async () => {
  portal = await openPortalNode();
  folder = await mkdtemp(join(tmpdir(), "svc-company-"));
}, 120_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function applied(legal_name: string) {
  const owner = await companyAppliedAt(portal, legal_name);
  const { html } = await owner.get("/");
  expect(html).toMatch(new RegExp(`${legal_name}.*AI company.*waits for the operators`, "s"));
  return { owner, personId: owner.personId, uuid: await appliedBy(portal, owner), certId: "" };
}

const decide = (uuid: string, what: "approve" | "refuse", members: object = {}) =>
  decideAt(portal, uuid, what, members);

async function newCompany(name: string): Promise<Owned> {
  return approvedAt(portal, (await applied(name)).owner);
}

const pageOf = ({ owner, uuid }: Owned) => owner.get(`/companies/${uuid}`);

/** Registers a key of its own; what the system keeps of it. */
const registerKey = async (owned: Owned) => registerKeyAt(portal, owned, await provenKey(owned, "retrieval"));

const confirm = (person: Visitor, form: ShownForm): Promise<Seen> => person.confirm(form);

const setRole = ({ uuid, personId }: Owned, role: MemberRole) =>
  portal.node.services.actors.ask(businessRef(uuid), {
    type: "member.set",
    person_id: personId,
    role,
    act: { by: "Olga", reason: "Seen." },
  });

const enterMoney = (uuid: string, entry_id: string) =>
  portal.node.services.actors.ask(ledgerRef(uuid), {
    type: "money.enter",
    entry_id,
    kind: "top_up",
    amount: 12_500_000,
    currency: "EUR",
    by: "Olga",
    reason: "A secret reason.",
  });

describe("the owner of an AI company", () => {
  it("registers a key, asks with the configuration of its page, and sees usage and receipts", async () => {
    const owned = await newCompany("Answers Ltd");
    const { owner, uuid } = owned;
    expect((await owner.get("/")).html).toContain(`href="/businesses/${uuid}"`);
    const { jwk, key_id } = await registerKey(owned);
    const shown = await owner.get(`/businesses/${uuid}`);
    expect(shown.html).toContain(`svc prove-key key.json --company ${uuid}`);
    expect(shown.html).toContain(key_id);
    const [, config = ""] = /<pre[^>]*>(\{.*?\})<\/pre>/s.exec(shown.html) ?? [];
    await writeFile(join(folder, "company.json"), config.replaceAll("&quot;", '"'));
    await writeFile(join(folder, "key.json"), JSON.stringify(jwk));
    const words = ["events", "--country", "GB", "--config", join(folder, "company.json")];
    const run = await runRevoke(words, { home: join(folder, "home"), reply: null, command: search });
    expect(run.said + run.printed).toContain("Nothing was found in events.");
    const after = await pageOf(owned);
    expect(after.html).toMatch(new RegExp(`${key_id}.*Usage of this month.*${key_id}`, "s"));
    const from = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const asked = { from, to: "", by_day: "on", by_key: "on" };
    const byKey = await owner.send(after.form("/companies/usage"), asked);
    expect(cellsOf(byKey.html, 0)[0]?.slice(1)).toEqual([key_id, "1", "0", "0"]);
    expect(byKey.form("/companies/usage").controls).toEqual(asked);
    const other = { from, to: "", by_kind: "on", by_collection: "on", by_country: "on" };
    const byKind = await owner.send(after.form("/companies/usage"), other);
    expect(cellsOf(byKind.html, 0)).toEqual([
      ["search", "events", "GB", "1", "0", "0"],
      ["All", "", "", "1", "0", "0"],
    ]);
    const byNothing = await owner.send(after.form("/companies/usage"), { from, to: "" });
    expect([byNothing.status, byNothing.html]).toEqual([409, expect.stringContaining("group_by")]);
    const receipts = await owner.send(after.form("/companies/receipts"));
    expect(receipts.html).toMatch(/ret_[0-9a-f]{32}.*search events/s);
    const form = receipts.form("/companies/receipts");
    const day = await owner.send(form, { from: "2020-02-02", to: "2020-02-03" });
    expect(day.html).toContain("No receipts of these days.");
    const since = await owner.send(form, { from: "2020-02-02" });
    const [, retrieval_id = ""] = /(ret_[0-9a-f]{32})/.exec(since.html) ?? [];
    const one = await owner.send(form, { from: "2020-02-02", retrieval_id });
    expect(cellsOf(one.html, 0)).toEqual(cellsOf(since.html, 0));
    expect(one.html).toContain("This receipt is valid.");
    const none = await owner.send(form, { retrieval_id: `ret_${"0".repeat(32)}` });
    expect([none.status, none.html]).toEqual([409, expect.stringContaining("no receipt of this retrieval")]);
    const wrong = await owner.send(form, { from: "no day" });
    expect([wrong.status, wrong.html]).toEqual([409, expect.stringContaining("UTC timestamp")]);
  });

  it("sees its group, the account with what was paid in, usage of other days, and every version of the terms", async () => {
    const owned = await newCompany("Facts Ltd");
    const { owner, uuid } = owned;
    await enterMoney(uuid, "invoice-7");
    const shown = await pageOf(owned);
    expect(shown.html).toMatch(new RegExp(`Group</h2>.{1,200}<code>${uuid}</code>`, "s"));
    expect(shown.html).toMatch(/Balance.{1,40}12\.5 EUR/s);
    expect(cellsOf(shown.html, 0).map(([, ...cells]) => cells)).toEqual([
      ["payment", "12.5 EUR", "invoice-7"],
    ]);
    for (const hidden of ["Olga", "A secret reason."]) expect(shown.html).not.toContain(hidden);
    const days = { from: "2026-03-01", to: "2026-03-04", by_day: "on" };
    const usage = await owner.send(shown.form("/companies/usage"), days);
    expect(usage.html).toContain("Nothing was asked in these days.");
    const turned = { from: "2026-03-04", to: "2026-03-01", by_day: "on" };
    const wrong = await owner.send(usage.form("/companies/usage"), turned);
    expect([wrong.status, wrong.html]).toEqual([409, expect.stringContaining("a later day")]);
    const terms = `/companies/${uuid}/terms`;
    expect(shown.html).toContain(`href="${terms}?cursor=1"`);
    expect((await owner.get(`${terms}?cursor=1`)).html).toContain("Version 1, in force from 2026-01-01");
    for (const none of ["9", "x"]) expect((await owner.get(`${terms}?cursor=${none}`)).status).toBe(404);
  });

  it("sees every payment and statement, and keeps the very files that its key is answered", async () => {
    const owned = await newCompany("Statements Ltd");
    const { owner, uuid } = owned;
    const base = `/companies/${uuid}/statements`;
    expect((await owner.get(base)).html).toContain("Nothing was paid in yet, so there is no statement.");
    const { jwk } = await registerKey(owned);
    const parsed = await parseSigningKey(jwk);
    if (!parsed.ok) throw new Error(parsed.detail);
    await enterMoney(uuid, "invoice-7");
    const month = new Date().toISOString().slice(0, 7);
    expect((await pageOf(owned)).html).toContain(`href="${base}"`);
    const { html } = await owner.get(base);
    const amounts = ["0 EUR", "12.5 EUR", "0 EUR", "12.5 EUR", "not yet"];
    expect(cellsOf(html, 0)).toEqual([[month, ...amounts]]);
    expect(cellsOf(html, 1).map(([, ...cells]) => cells)).toEqual([["payment", "12.5 EUR", "invoice-7"]]);
    const shown = await owner.get(`${base}/${month}`);
    expect(shown.html).toContain(`Statement of ${month}`);
    expect(cellsOf(shown.html, 0).map((row) => row[3])).toEqual(["invoice-7"]);
    for (const hidden of ["Olga", "A secret reason."]) expect(html + shown.html).not.toContain(hidden);
    for (const [format, path] of [
      ["json", ""],
      ["csv", "/csv"],
    ] as const) {
      const file = await owner.get(`${base}/${month}/${format}`);
      const caller = { key: parsed.value, grant: "" };
      const answer = await send(portal.node.urls.base_url, caller, {
        path: `/v1/statements/${month}${path}`,
      });
      expect(answer.status).toBe(200);
      expect([file.status, file.html]).toEqual([200, answer.text]);
      expect(file.headers.get("content-type")).toBe(answer.headers.get("content-type"));
      const name = `attachment; filename="statement-${month}.${format}"`;
      expect(file.headers.get("content-disposition")).toBe(name);
      expect(file.headers.get("cache-control")).toBe("no-store");
    }
    for (const none of ["/2026-13", "/x", "/1999-01/csv", "/x/json", "?cursor=x"])
      expect([none, (await owner.get(`${base}${none}`)).status]).toEqual([none, 404]);
    const other = await newCompany("Others Ltd");
    await enterMoney(other.uuid, "invoice-8");
    for (const path of ["", `?cursor=${month}`, `/${month}`, `/${month}/json`, `/${month}/csv`]) {
      expect([path, (await other.owner.get(`${base}${path}`)).status]).toEqual([path, 404]);
      const nobody = await new Visitor(portal.url).get(`${base}${path}`);
      expect([path, nobody.html]).toEqual([path, expect.stringContaining("Sign in")]);
    }
  });

  it("agrees to the exact terms that were shown, and chooses whether the company is listed", async () => {
    const owned = await newCompany("Terms Ltd");
    const { owner, uuid } = owned;
    const form = (await pageOf(owned)).form("/companies/terms");
    expect((await owner.send(form, { sha256: `sha256:${"0".repeat(64)}` })).status).toBe(409);
    const asked = await owner.send(form);
    expect(asked.html).toContain(form.fields["sha256"]);
    expect((await confirm(owner, asked.form("/confirm"))).html).toContain("Agreed to at");
    const { parties } = portal.node.services;
    expect((await parties.party(uuid))?.agreements).toMatchObject([{ sha256: form.fields["sha256"] }]);
    for (const listed of [true, false]) {
      const choosing = await owner.send((await pageOf(owned)).form("/companies/listing"));
      await confirm(owner, choosing.form("/confirm"));
      expect((await parties.party(uuid))?.listed).toBe(listed);
    }
    expect((await owner.get("/account")).html).toMatch(/agreed to terms/);
    const acts = await owner.get(`/businesses/${uuid}/acts`);
    expect(acts.html).toMatch(/chose whether the directory lists it.*agreed to terms/s);
  });
});

describe("nothing is done for an AI company", () => {
  it("by a passkey that seals", async () => {
    const { owner, uuid } = await newCompany("Sealing AI Ltd");
    const { form_code = "" } = (await owner.get(`/companies/${uuid}`)).form("/keys/register").fields;
    expect((await owner.post("/sealing/add", { uuid, form_code })).status).toBe(404);
  });

  it("before an operator approved it, nor after it was refused", async () => {
    const owned = await applied("Refused AI Ltd");
    expect((await pageOf(owned)).status).toBe(404);
    expect(await decide(owned.uuid, "refuse", { statement: "No such company." })).toBe(200);
    expect((await owned.owner.get("/")).html).toContain("No such company.");
    expect(await decide(owned.uuid, "approve")).not.toBe(200);
    expect((await pageOf(owned)).status).toBe(404);
  });

  it("by somebody of another company, or whose role is too low when it is confirmed", async () => {
    const [owned, other] = [await newCompany("Own AI Ltd"), await newCompany("Other AI Ltd")];
    const form = (await pageOf(owned)).form("/companies/listing");
    for (const action of [
      "/companies/listing",
      "/companies/terms",
      "/companies/receipts",
      "/companies/usage",
      "/keys/register",
    ]) {
      const fields = (await pageOf(other)).form(action).fields;
      expect((await other.owner.post(action, { ...fields, uuid: owned.uuid })).status).toBe(404);
    }
    expect((await other.owner.get(`/companies/${owned.uuid}/terms`)).status).toBe(404);
    const asked = await owned.owner.send(form);
    await setRole(other, "owner");
    const { actors } = portal.node.services;
    const act = { by: "Olga", reason: "Seen." };
    const second = { type: "member.set", person_id: other.personId, role: "owner", act } as const;
    await actors.ask(businessRef(owned.uuid), second);
    await setRole(owned, "developer");
    expect((await confirm(owned.owner, asked.form("/confirm"))).status).toBe(403);
    for (const action of ["/companies/listing", "/companies/terms"]) {
      const fields = { ...form.fields, sha256: `sha256:${"0".repeat(64)}` };
      expect((await owned.owner.post(action, fields)).status).toBe(403);
    }
    expect((await portal.node.services.parties.party(owned.uuid))?.listed).not.toBe(true);
  });

  it("with a business's page or mandates", async () => {
    const owned = await newCompany("Mandate AI Ltd");
    const { key_id } = await registerKey(owned);
    const { form_code = "" } = (await pageOf(owned)).form("/companies/listing").fields;
    const made = await owned.owner.post("/mandates/make", {
      uuid: owned.uuid,
      key_id,
      form_code,
      type_products: "on",
      countries: "GB",
      records_per_hour: "1",
      bytes_per_day: "1",
      days: "1",
    });
    expect(made.status).toBe(403);
  });
});
