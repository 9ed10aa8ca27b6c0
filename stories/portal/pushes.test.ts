// The newest pushes of a business at the portal, with what was wrong in them by its cause.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import type { RecentPushes } from "../../service/portal/recent-pushes.ts";
import { priced } from "../publishing/hold-decisions.fixture.ts";
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
  return { owned, business, push, script, good, bad: await push(faulty, 2) };
}

const causesIn = (script: string) => [
  [
    "Must be in the vocabulary availability. Is it in_stock?",
    "Take a code of the vocabulary, such as the suggested one.",
    "/availability",
    "2",
    "loaf-1, loaf-2",
    "vocabulary_unknown",
  ],
  [
    expect.stringContaining("GTIN"),
    "Send a value of the form that the fault names.",
    "/gtin",
    "1",
    script,
    "value_invalid",
  ],
];

const pushPage = ({ owner, uuid }: Owned, pushId: string) =>
  owner.get(`/businesses/${uuid}/pushes/${pushId}`);
const pushesOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/pushes`);
it("shows the newest pushes first, and faults by their cause with how to mend them", async () => {
  const { owned, script, good, bad } = await newPusher("Loaves Ltd");
  const { html } = await pushesOf(owned);
  expect(cellsOf(html, 0).map((row) => row.slice(1, 6))).toEqual([
    [bad, "complete", "3 of 3", "0", "3"],
    [good, "complete", "1 of 1", "1", "0"],
  ]);
  expect(cellsOf(html, 1)).toEqual(causesIn(script));
  expect(html.includes(script)).toBe(false);
  expect(html).toContain(`href="/businesses/${owned.uuid}/pushes/${bad}"`);
  expect(html).toContain("None is on its way.");
});

it("shows batches that were refused whole, with why and how to mend them", async () => {
  const { owned, business, bad } = await newPusher("Refused Ltd");
  const again = await batchBody(business, [product("bun"), product("roll")], { seq: 2 });
  const refused = await publish(portal.node.services, business, again.body);
  expect(refused.kind === "problem" && refused.problem.code).toBe("seq_not_increasing");
  const { html } = await pushesOf(owned);
  expect(cellsOf(html, 0)[0]?.[1]).toBe(bad);
  expect(cellsOf(html, 2).map(([, ...cells]) => cells)).toEqual([
    [
      again.pushId,
      "2",
      refused.kind === "problem" ? refused.problem.detail : "",
      "Continue from last_seq, sealing again; nothing of the batch was taken.",
      "seq_not_increasing",
      business.key.key_id,
    ],
  ]);
  expect((await owned.owner.get(`/businesses/${owned.uuid}/pushes/${again.pushId}`)).status).toBe(404);
});

describe("the page of a push", () => {
  it("says how far it is, and what is wrong by cause and by record, every text escaped", async () => {
    const { owned, script, bad } = await newPusher("Cakes Ltd");
    const { html, status } = await pushPage(owned, bad);
    expect(status).toBe(200);
    expect(html).toMatch(/role="status">.*complete.*3 of 3<\/p>/s);
    expect(html).toMatch(/Rejected<\/dt><dd>3</);
    expect(cellsOf(html, 0)).toEqual(causesIn(script));
    const vocabulary =
      "/availability Must be in the vocabulary availability. Is it in_stock? vocabulary_unknown";
    expect(cellsOf(html, 1)).toEqual([
      ["loaf-1", "1", vocabulary],
      ["loaf-2", "2", vocabulary],
      [script, "3", expect.stringMatching(/^\/gtin .*GTIN.* value_invalid$/)],
    ]);
    expect(html.includes(script)).toBe(false);
  });

  it("counts a record once for a cause that is in it twice", async () => {
    const { owned, push } = await newPusher("Twice Ltd");
    const { html } = await pushPage(owned, await push([product("twice", { countries: ["X1", "X2"] })], 3));
    expect(cellsOf(html, 0)).toContainEqual([
      expect.stringContaining("vocabulary"),
      expect.any(String),
      "/countries/*",
      "1",
      "twice",
      "vocabulary_unknown",
    ]);
  });

  it("pages through rejected records, each once, with the causes of those that follow", async () => {
    const owned = await newBusinessAt(portal, "Many Ltd");
    const { services } = portal.node;
    const business = await openBusiness(services, owned.uuid, "Many Ltd");
    const records = Array.from({ length: 1_130 }, (_, at) =>
      product(`item-${at}`, at % 2 === 0 || at < 60 ? { availability: "in_stok" } : { gtin: "1" }),
    );
    const { body, pushId } = await batchBody(business, records);
    await publish(services, business, body);
    await services.actors.ask(pushRef(owned.uuid, pushId), { type: "push.await", until: "over" });
    const first = await pushPage(owned, pushId);
    expect(first.html).toContain("in 1,000 rejected records");
    expect(cellsOf(first.html, 0).map((row) => row[3])).toEqual(["530", "470"]);
    const seen: string[] = [];
    let path: string | undefined = `/businesses/${owned.uuid}/pushes/${pushId}?cursor=leaf-1090`;
    for (let pages = 0; path !== undefined; pages += 1) {
      expect(pages).toBeLessThan(4);
      const { html } = await owned.owner.get(path);
      seen.push(...cellsOf(html, 1).map((row) => row[0] ?? ""));
      path = /href="([^"]+\?cursor=[^"]+)"/.exec(html)?.[1];
    }
    expect(seen).toEqual(Array.from({ length: 40 }, (_, at) => `item-${at + 1_090}`));
    expect(cellsOf(first.html, 1)).toHaveLength(20);
    expect(first.html).toContain(`href="/businesses/${owned.uuid}/pushes/${pushId}?cursor=leaf-20"`);
    for (const cursor of ["x", "leaf--1", "leaf-1e3"])
      expect((await pushPage(owned, `${pushId}?cursor=${cursor}`)).status).toBe(404);
  });

  it("says what ended it and what to do, and the same to the page's script", async () => {
    const owned = await newBusinessAt(portal, "Ended Ltd");
    const { services } = portal.node;
    const business = await openBusiness(services, owned.uuid, "Ended Ltd");
    const catalogue = Array.from({ length: 25 }, (_, at) => priced(`item-${at}`, "10.00"));
    await publish(services, business, (await batchBody(business, catalogue)).body);
    const { body, pushId } = await batchBody(business, [priced("item-3", "99.00")], { seq: 2 });
    await publish(services, business, body);
    const held = await pushPage(owned, pushId);
    expect(held.html).toContain(`<a href="/businesses/${owned.uuid}/holds">It waits until an owner`);
    const error = { code: "cancelled", detail: "The business cancelled the push." };
    await services.actors.ask(pushRef(owned.uuid, pushId), { type: "push.cancelled" });
    const { html } = await pushPage(owned, pushId);
    expect(html).toContain("Publish it again if it is to be served");
    const state = await owned.owner.get(`/businesses/${owned.uuid}/pushes/${pushId}/state`);
    expect(state.headers.get("cache-control")).toBe("no-store");
    expect(JSON.parse(state.html)).toMatchObject({
      state: "failed",
      error: { code: error.code },
      remedy: expect.stringContaining("its hold was rejected"),
      causes: [{ code: "cancelled", count: 1 }],
      rejected: [{ leaf_index: 0 }],
      next: null,
    });
  });

  it("is of people of its business alone, and unknown as one that does not exist is", async () => {
    const [mine, theirs] = [await newPusher("Own Ltd"), await newPusher("Other Ltd")];
    const { owner, uuid } = mine.owned;
    const unknown = `bat_${"0".repeat(24)}`;
    const pages = await Promise.all(
      [
        `/businesses/${theirs.owned.uuid}/pushes/${theirs.bad}`,
        `/businesses/${uuid}/pushes/${theirs.bad}`,
        `/businesses/${uuid}/pushes/${unknown}`,
        `/businesses/${uuid}/pushes/x`,
        `/businesses/${uuid}/pushes/${mine.bad.toUpperCase()}`,
      ].map(async (path) => {
        const [shown, state] = [await owner.get(path), await owner.get(`${path}/state`)];
        const html = shown.html.replace(shown.form("/sign-out").fields["form_code"] ?? "", "");
        return [shown.status, html, state.status, state.html];
      }),
    );
    for (const each of pages) expect(each).toEqual(pages[0]);
    expect(pages[0]?.[0]).toBe(404);
    expect(pages[0]?.[2]).toBe(404);
    const state = `/businesses/${uuid}/pushes/${mine.bad}/state`;
    expect((await new Visitor(portal.url).get(state)).status).toBe(401);
    await setRoleAt(portal, mine.owned, "viewer");
    expect((await pushPage(mine.owned, mine.bad)).status).toBe(200);
    await setRoleAt(portal, mine.owned, null);
    expect((await pushPage(mine.owned, mine.bad)).status).toBe(404);
    expect((await owner.get(state)).status).toBe(404);
  });
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
  const state = await owned.owner.get(`/businesses/${owned.uuid}/pushes/state`);
  const shown = (JSON.parse(state.html) as RecentPushes).refused.map(({ id }) => id);
  expect(shown).toEqual(Array.from({ length: 20 }, (_, at) => `refused ${1_049 - at}`));
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
