// The newest pushes of a business at the portal, with what was wrong in them by its cause.

import { afterAll, beforeAll, expect, it } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { openBusiness, product, publish } from "../publishing/publishing.fixture.ts";
import { batchBody } from "../retrieval/attack.fixture.ts";
import { cellsOf, newBusinessAt, type Owned, setRoleAt } from "./business.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

/** A business that pushed a good product, and three of which two have the same fault. */
async function newPusher(name: string) {
  const owned = await newBusinessAt(portal, name);
  const { services } = portal.node;
  const business = await openBusiness(services, owned.uuid, name);
  const push = async (records: readonly Uint8Array[], seq: number): Promise<string> => {
    const { body, pushId } = await batchBody(business, records, { seq });
    await publish(services, business, body);
    return pushId;
  };
  const script = `<script>alert("1")</script>`;
  const faulty = [
    product("loaf-1", { availability: "in_stok" }),
    product("loaf-2", { availability: "in_stok" }),
    product(script, { gtin: "1" }),
  ];
  const good = await push([product("loaf")], 1);
  return { owned, script, good, bad: await push(faulty, 2) };
}

const pushesOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/pushes`);
it("shows the newest pushes first, and faults by their cause with how to mend them", async () => {
  const { owned, script, good, bad } = await newPusher("Loaves Ltd");
  const { html } = await pushesOf(owned);
  expect(cellsOf(html, 0).map((row) => row.slice(1, 6))).toEqual([
    [bad, "complete", "3 of 3", "0", "3"],
    [good, "complete", "1 of 1", "1", "0"],
  ]);
  expect(cellsOf(html, 1)).toEqual([
    ["Must be in the vocabulary availability. Is it in_stock?", "/availability", "2", "loaf-1, loaf-2"],
    [expect.stringContaining("GTIN"), "/gtin", "1", script],
  ]);
  expect(html.includes(script)).toBe(false);
  expect(html).toContain("None is on its way.");
});

it("shows the newest, however much was refused before", async () => {
  const { owned, good, bad } = await newPusher("Busy Ltd");
  const { actors, clock } = portal.node.services;
  const hourMs = 3_600_000;
  // As many as are kept of an hour, for most of a day.
  const stepMs = hourMs / 50;
  const refused = {
    ...({ category: "seal", code: "seal_invalid", reason: "hash_mismatch", detail: "Other bytes." } as const),
    ...({ type: "products", source: "api", key_id: "k", records: 2, push_id: null, seq: null } as const),
  };
  const firstMs = clock.now() - 23 * hourMs;
  for (let at = 0; at < 1_050; at += 1) {
    const each = { ...refused, id: `refused ${at}`, at_ms: firstMs + at * stepMs };
    await actors.ask(businessRef(owned.uuid), { type: "refusal.keep", refused: each });
  }
  const { html } = await pushesOf(owned);
  expect(cellsOf(html, 0).map((row) => row[1])).toEqual([bad, good]);
  const causes = cellsOf(html, 1).map((row) => row[0]);
  expect(causes).toHaveLength(3);
  expect(causes.join()).toContain("Must be in the vocabulary availability.");
});

it("says the same to the page's script, to people of the business alone", async () => {
  const [mine, theirs] = [await newPusher("Mine Ltd"), await newPusher("Theirs Ltd")];
  const state = (by: Visitor, { uuid }: Owned) => by.get(`/businesses/${uuid}/pushes/state`);
  const own = await state(mine.owned.owner, mine.owned);
  expect(own.headers.get("cache-control")).toBe("no-store");
  const { pushes, causes } = JSON.parse(own.html);
  expect(pushes).toMatchObject([{ push_id: mine.bad }, { push_id: mine.good, state: "complete" }]);
  expect(causes).toMatchObject([
    { count: 2, places: [{ own_id: "loaf-1" }, { own_id: "loaf-2" }] },
    { count: 1 },
  ]);
  expect((await state(mine.owned.owner, theirs.owned)).status).toBe(404);
  expect((await pushesOf({ ...theirs.owned, owner: mine.owned.owner })).status).toBe(404);
  expect((await state(new Visitor(portal.url), mine.owned)).status).toBe(401);
  await setRoleAt(portal, mine.owned, "viewer");
  expect((await state(mine.owned.owner, mine.owned)).status).toBe(200);
  await setRoleAt(portal, mine.owned, null);
  expect((await state(mine.owned.owner, mine.owned)).status).toBe(404);
});
