// Who asks for what a business publishes, and what for, at the portal.

import { afterAll, beforeAll, expect, it } from "vitest";
import { openPortalNode, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import {
  approvedAt,
  cellsOf,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  setRoleAt,
} from "./business.fixture.ts";

let portal: PortalNode;
let company: Owned;
const companyName = `Answers <b onclick="alert(1)"> Ltd`;
beforeAll(async () => {
  portal = await openPortalNode();
  company = await approvedAt(portal, await companyAppliedAt(portal, companyName));
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const others = [2, 3].map((n) => `10000000-0000-4000-8000-00000000000${n}`);
const servedAt = (day: string) => `${day}T12:00:00.000Z`;
const daysAgo = (days: number) =>
  new Date(portal.node.services.clock.now() - days * 86_400_000).toISOString().slice(0, 10);

/** A business that was found by three companies yesterday, each of which named the subject four times, and fetched today. */
async function newFound(name: string, subject: string) {
  const owned = await newBusinessAt(portal, name);
  const { insight } = portal.node.services;
  const of = { collection: "products", country: "GB" } as const;
  for (const by of [company.uuid, ...others])
    for (let at = 0; at < 4; at += 1)
      insight.searched({
        ...of,
        company: by,
        servedAt: servedAt(daysAgo(1)),
        businesses: [owned.uuid, owned.uuid],
        asked: { session: null, subjects: [subject] },
      });
  const fetched = { collection: "events", business: owned.uuid, servedAt: servedAt(daysAgo(0)) } as const;
  insight.fetched({ ...fetched, company: company.uuid });
  await insight.flush();
  return owned;
}

const askingOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/asking`);

it("shows the companies, the subjects, the countries and the days", async () => {
  const { html } = await askingOf(await newFound("Found Ltd", "rye bread"));
  const [who, subjects, where, days] = [0, 1, 2, 3].map((at) => cellsOf(html, at));
  expect(who?.[0]).toEqual([`Certificate of ${companyName}`, "4", "8", "1", daysAgo(0)]);
  expect(who?.map((row) => row[0]?.replace("Certificate of ", ""))).toEqual([companyName, ...others]);
  expect(html).toContain(`/v1/certificates/${company.uuid}"`);
  expect(html.includes("<b onclick")).toBe(false);
  expect(subjects).toEqual([["rye bread", "12", "1"]]);
  expect(where).toEqual([
    ["GB", "products", "12", "24", "0"],
    ["none (fetches name no country)", "events", "0", "0", "1"],
  ]);
  expect(days).toEqual([
    [daysAgo(0), "0", "0", "1"],
    [daysAgo(1), "12", "24", "0"],
  ]);
});

it("shows other days, one country and one type", async () => {
  const owned = await newFound("Filtered Ltd", "oat bread");
  const form = (await askingOf(owned)).form("/asking");
  const shown = (written: object): Promise<Seen> => owned.owner.send(form, { ...form.controls, ...written });
  const events = await shown({ type: "events", country: "" });
  expect(cellsOf(events.html, 0)).toEqual([[`Certificate of ${companyName}`, "0", "0", "1", daysAgo(0)]]);
  expect((await shown({ country: "us" })).html).toContain("Nobody asked.");
  expect((await shown({ from: "2020-01-01", to: "2020-01-09" })).html).toContain("Nobody asked.");
  const wrong = await shown({ from: "2020-01-09", to: "2020-01-01" });
  expect([wrong.status, wrong.html.includes("to must be a later day than from")]).toEqual([409, true]);
  expect((await shown({ country: `"><script>` })).html.includes("<script>")).toBe(false);
  // What reads further back than subjects may is answered without them.
  const far = await shown({ from: daysAgo(90), to: daysAgo(0) });
  expect([far.status, far.html.includes("at most 31 days")]).toEqual([200, true]);
});

it("is for people of the business alone, whatever their role", async () => {
  const [mine, theirs] = [await newFound("Mine Ltd", "malt"), await newFound("Theirs Ltd", "spelt")];
  const form = (await askingOf(mine)).form("/asking");
  expect((await askingOf({ ...theirs, owner: mine.owner })).status).toBe(404);
  expect((await mine.owner.send(form, { uuid: theirs.uuid })).status).toBe(404);
  expect((await askingOf(company)).status).toBe(404);
  expect((await askingOf({ ...mine, owner: new Visitor(portal.url) })).html).toContain("Sign in");
  await setRoleAt(portal, mine, "viewer");
  expect(cellsOf((await askingOf(mine)).html, 0)).toHaveLength(3);
  await setRoleAt(portal, mine, null);
  expect((await askingOf(mine)).status).toBe(404);
  expect((await mine.owner.send(form)).status).toBe(404);
});
