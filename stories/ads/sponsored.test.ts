// Sponsored products on a running node over HTTP: what advertisers seal, which rows of searches are marked, and what becomes of them.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef, campaignRef, poolRef } from "../../actors/messages/refs.ts";
import { newCaller, type ReceivedAnswer, type TestCaller } from "../../api/surfaces.fixture.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { createTakedowns } from "../../service/register/takedowns.ts";
import { verifySearchAnswer } from "../../verifier/search-answer.ts";
import { jsonOf, product, sealAndPublish, sealHosted } from "../publishing/publishing.fixture.ts";
import { removeOver, sealRemoval } from "../publishing/removal.fixture.ts";
import { type AttackNode, openAttackNode } from "../retrieval/attack.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";
import { type Advertiser, budgetText, grossPrice, newAdvertiser, state } from "./ads.fixture.ts";
import { type FoundRow, type SearchChanges, searcherOf, wrongProducts } from "./sponsored.fixture.ts";

const patience = { timeout: 20_000 };
let node: AttackNode;
let company: TestCaller;
let other: TestCaller;
let first: Advertiser;
let second: Advertiser;
let movedMs = 0;
const answered: string[] = [];
let search: ReturnType<typeof searcherOf>;

beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + movedMs } });
  const { grant } = node.running.services.keys;
  company = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-0000000000c1");
  other = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-0000000000c2");
  search = searcherOf(node, answered);
  [first, second] = [await newAdvertiser(node), await newAdvertiser(node)];
  await publishProducts(first, ["a", "b", "c"]);
  await publishProducts(second, ["d", "e"]);
  for (const each of [first, second]) await each.campaign();
  await vi.waitFor(async () => expect(await found()).toHaveLength(5), patience);
});
afterAll(() => node.close());

async function publishProducts({ business }: Advertiser, ids: readonly string[]): Promise<void> {
  const { services } = node.running;
  const records = ids.map((id) => product(id, { product_name: `Quartzite ${id}`, ...priced(id) }));
  const outcome = jsonOf(
    await sealAndPublish(services, business, records, { sealedAtMs: services.clock.now() }),
  );
  expect(outcome).toMatchObject({ results: ids.map(() => ({ outcome: "accepted" })) });
}
const priced = (id: string) => ({
  prices: ["US", "CA"].map((country) => ({ country, currency: "USD", amount: `${id.charCodeAt(0)}.00` })),
});
const idOf = ({ uuid }: Advertiser, id: string) => node.running.services.recordIdOf(uuid, "products", id);
const sponsor = async (advertiser: Advertiser, id: string, changes: object = {}) => {
  const record = { schema: "svc/ad_product/1", campaign_id: "spring", record_id: idOf(advertiser, id) };
  const answer = await advertiser.publish({ ...record, countries: ["US", "GB"], ...changes });
  answered.push(answer.text);
  return answer;
};
const found = async (changes: SearchChanges = {}, caller = company) => (await search(caller, changes)).rows;
const namesOf = (rows: readonly FoundRow[]) => rows.map((row) => row.product_name.slice(-1)).join("");
const markedIn = async (changes: SearchChanges = {}, caller = company) =>
  namesOf((await found(changes, caller)).filter(({ sponsored }) => sponsored === true));
const untilMarked = (names: string, changes: SearchChanges = {}) =>
  vi.waitFor(async () => expect(await markedIn(changes)).toBe(names), patience);
const render = async (retrieval_id: unknown, record_id: string, caller = company) => {
  const answer = await state(node, caller, "render", { retrieval_id, record_id, format: "list" });
  answered.push(answer.text);
  return answer;
};
const codeOf = ({ status, json }: ReceivedAnswer) =>
  [status, json["code"], json["reason"] ?? json["pointer"]].filter((each) => each !== undefined);
const rendersOf = async ({ uuid }: Advertiser, campaign = "spring") =>
  (await node.running.services.actors.ask(campaignRef(uuid, campaign), { type: "campaign.read" }))?.renders;

describe("an advertiser", () => {
  it.each(wrongProducts)("is refused a product with %s", async (_what, changes, reason) => {
    expect(codeOf(await sponsor(first, "a", changes))).toEqual([422, "campaign_refused", reason]);
  });

  it("is refused a product of another business, and one that was never published", async () => {
    for (const record_id of [idOf(second, "d"), idOf(first, "z")])
      expect(codeOf(await sponsor(first, "a", { record_id }))).toEqual([
        422,
        "campaign_refused",
        "product_unknown",
      ]);
    expect(codeOf(await sponsor(second, "a", { record_id: idOf(first, "a") }))[2]).toBe("product_unknown");
  });

  it("is answered again what it was, though its product was withdrawn; another document is refused", async () => {
    const { services, urls } = node.running;
    const { business } = first;
    await sealAndPublish(services, business, [product("gone", { product_name: "Basalt" })], { seq: 2 });
    const record_id = idOf(first, "gone");
    const record = utf8(
      JSON.stringify({
        schema: "svc/ad_product/1",
        campaign_id: "spring",
        record_id,
        countries: ["CA"],
      }),
    );
    const seal = await sealHosted(
      services,
      { uuid: first.uuid, certId: business.certId },
      { record, record_type: "ads", ai_policy_version: 0 },
    );
    const deliver = () => first.post("/v1/ads/records", { record_base64: toBase64(record), seal });
    const answer = await deliver();
    expect(answer).toMatchObject({ status: 200, json: { record_id, version: 1 } });
    expect((await deliver()).text).toBe(answer.text);
    const removal = await sealRemoval(business, { record_id }, business.signingKey);
    const removed = await removeOver(urls.business_url, business, { action: "withdraw" }, removal);
    expect(removed.status).toBe(200);
    expect((await deliver()).text).toBe(answer.text);
    expect(codeOf(await sponsor(first, "gone"))).toEqual([422, "campaign_refused", "product_unknown"]);
  });

  it("puts a product of its own into a campaign", async () => {
    const answer = await sponsor(first, "b");
    expect(answer).toMatchObject({
      status: 200,
      json: { record_id: idOf(first, "b"), campaign_id: "spring", version: 1, state: "live" },
    });
    expect(answer.json["ad_id"]).toMatch(/^ad_/);
    await untilMarked("b");
  });
});

describe("a search", () => {
  it("marks the rows that are sponsored in its country, in the caller's order, and no signature covers the mark", async () => {
    const { rows, text } = await search(company);
    expect(namesOf(rows)).toBe("abcde");
    expect(rows.map((row) => row.sponsored)).toEqual([undefined, true, undefined, undefined, undefined]);
    expect(namesOf(await found({ sort_by: "price_amount:desc" }))).toBe("edcba");
    expect(await markedIn({ country: "CA" })).toBe("");
    const callerKeyId = company.key.keyId;
    const report = verifySearchAnswer(node.running.services.trust(), utf8(text), { callerKeyId });
    expect(report.checks.filter((check) => !["ok", "unsigned"].includes(check.state))).toEqual([]);
  });

  it("finds by the filter exactly the rows that it marks, or exactly the others", async () => {
    await sponsor(second, "d", { countries: ["CA"] });
    await sponsor(second, "e");
    await untilMarked("be");
    for (const changes of [{}, { q: null }, { sort_by: "_text_match:desc" }, { country: "CA" }]) {
      const marked = "country" in changes ? "d" : "be";
      const asked = "q" in changes ? { q: undefined, brand: "Harrier" } : changes;
      const yes = await found({ ...asked, sponsored: true });
      expect([...namesOf(yes)].sort().join("")).toBe(marked);
      expect(yes.every(({ sponsored }) => sponsored === true)).toBe(true);
      const no = await found({ ...asked, sponsored: false });
      expect([...namesOf(no)].sort().join("")).toBe(
        [..."abcde"].filter((each) => !marked.includes(each)).join(""),
      );
      expect(no.every(({ sponsored }) => sponsored === undefined)).toBe(true);
    }
    expect(namesOf(await found({ sponsored: true, limit: 1, sort_by: "price_amount:desc" }))).toBe("e");
  });

  it("has no row of a business that blocked the caller's group, sponsored or not", async () => {
    const { actors, register } = node.running.services;
    await found({}, other);
    const group = (await register.party("10000000-0000-4000-8000-0000000000c2"))?.group ?? "";
    const act = { by: "b", reason: "r" };
    await actors.ask(businessRef(second.uuid), { type: "group.block", group, act });
    await vi.waitFor(async () => expect(await markedIn({}, other)).toBe("b"), patience);
    expect(namesOf(await found({ sponsored: true }, other))).toBe("b");
    expect(await markedIn()).toBe("be");
    await actors.ask(businessRef(second.uuid), { type: "group.unblock", group, act });
  });

  it("follows the campaign: paused, resumed, ended, and the product taken out of it", async () => {
    movedMs += 1_000;
    await second.campaign({ paused: true });
    await untilMarked("b");
    expect(namesOf(await found({ sponsored: true }))).toBe("b");
    movedMs += 1_000;
    await second.campaign();
    await untilMarked("be");
    const { json } = await sponsor(second, "d");
    await untilMarked("bde");
    expect((await second.remove(String(json["ad_id"]), "delete")).json).toMatchObject({ state: "deleted" });
    await untilMarked("be");
    expect(codeOf(await sponsor(second, "d"))).toEqual([422, "campaign_refused", "deleted"]);
  });
});

describe("a render of a sponsored row", () => {
  it("is confirmed once, however many at once, and answers the label and a click token", async () => {
    const { retrievalId } = await search(company);
    const row = idOf(first, "b");
    const answers = await Promise.all(Array.from({ length: 40 }, () => render(retrievalId, row)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]).toMatchObject({
      status: 200,
      json: { record_id: row, label: { text: "Sponsored" }, click_token: expect.stringMatching(/^svc_adc1/) },
    });
    expect(await rendersOf(first)).toBe(1);
    const click_token = answers[0]?.json["click_token"];
    const clicked = await state(node, company, "click", { click_token });
    expect(clicked).toMatchObject({ status: 200, json: { ad_id: answers[0]?.json["ad_id"] } });
    expect((await state(node, company, "click", { click_token })).text).toBe(clicked.text);
    const ref = poolRef(retrievalId, node.running.config.region);
    await vi.waitFor(async () => {
      const kept = await node.running.services.actors.ask(ref, { type: "pool.read" });
      expect(kept?.items.map((item) => [item.state, item.format])).toEqual([
        ["clicked", "list"],
        ["served", null],
      ]);
    }, patience);
  });

  it("is not charged while its product is taken down", async () => {
    const before = await rendersOf(first);
    const row = idOf(first, "b");
    const { retrievalId } = await search(company);
    const takedowns = createTakedowns(node.running.services);
    const act = { by: "Ada", reason: "Complaint 4713" };
    await takedowns.impose({ subject: row, statement_of_reasons: "Article 6 of the terms", act });
    await registerInForce(node.running.services);
    expect(codeOf(await render(retrievalId, row))).toEqual([409, "ad_unavailable", "ad_not_live"]);
    await takedowns.lift({ subject: row, act });
    await registerInForce(node.running.services);
    await untilMarked("be");
    expect((await render((await search(company)).retrievalId, row)).status).toBe(200);
    expect(await rendersOf(first)).toBe((before ?? 0) + 1);
  });

  it("is confirmed for each search and each of its rows by itself", async () => {
    const before = await rendersOf(first);
    for (let time = 0; time < 2; time += 1)
      expect((await render((await search(company)).retrievalId, idOf(first, "b"))).status).toBe(200);
    expect(await rendersOf(first)).toBe((before ?? 0) + 2);
    const filtered = await search(company, { sponsored: true });
    expect((await render(filtered.retrievalId, idOf(second, "e"))).status).toBe(200);
  });

  it("is refused for what was not a sponsored row of a product search of the caller's own", async () => {
    const { retrievalId } = await search(company);
    const unknown = [404, "not_found", "/retrieval_id"];
    expect(codeOf(await render(retrievalId, idOf(first, "b"), other))).toEqual(unknown);
    expect(codeOf(await render(`ret_${"0".repeat(32)}`, idOf(first, "b")))).toEqual(unknown);
    expect(codeOf(await render(retrievalId, idOf(first, "z")))).toEqual([404, "not_found", "/record_id"]);
    expect(codeOf(await render(retrievalId, idOf(first, "a")))).toEqual([
      409,
      "ad_unavailable",
      "not_sponsored",
    ]);
    const none = await search(company, { sponsored: false });
    expect(codeOf(await render(none.retrievalId, idOf(first, "a")))[2]).toBe("not_sponsored");
    expect(codeOf(await render(none.retrievalId, idOf(first, "b")))[2]).toBe("/record_id");
    expect(codeOf(await render(none.retrievalId, idOf(first, "a"), other))).toEqual(unknown);
    const events = await search(company, { path: "/v1/events/search", q: undefined });
    expect(codeOf(await render(events.retrievalId, idOf(first, "b")))).toEqual([
      400,
      "request_invalid",
      "/retrieval_id",
    ]);
    expect(codeOf(await render("ret_1", idOf(first, "b")))).toEqual([
      400,
      "request_invalid",
      "/retrieval_id",
    ]);
    const both = {
      retrieval_id: retrievalId,
      record_id: idOf(first, "b"),
      render_token: "x",
      format: "list",
    };
    expect(codeOf(await state(node, company, "render", both)).slice(0, 2)).toEqual([400, "request_invalid"]);
  });

  it("is refused eleven minutes after the search, but answered again if it was in time", async () => {
    const { retrievalId } = await search(company);
    const before = await render(retrievalId, idOf(first, "b"));
    const none = await search(company, { sponsored: false });
    movedMs += 11 * 60_000;
    expect(codeOf(await render(retrievalId, idOf(second, "e")))).toEqual([410, "ad_expired"]);
    // Nothing is kept of it that says what was sponsored, as of a search whose pool is forgotten.
    expect(codeOf(await render(none.retrievalId, idOf(first, "a")))).toEqual([410, "ad_expired"]);
    expect((await render(retrievalId, idOf(first, "b"))).text).toBe(before.text);
  });

  it("leaves the row unmarked in the conversation for an hour, unless repeats are allowed, and in no other's", async () => {
    const chat = { session_ref: "chat-1" };
    await sponsor(first, "c", { allow_repeats: true });
    await untilMarked("bce", chat);
    const { retrievalId } = await search(company, chat);
    for (const id of ["b", "c"]) expect((await render(retrievalId, idOf(first, id))).status).toBe(200);
    await untilMarked("ce", chat);
    expect(namesOf(await found({ ...chat, sponsored: true }))).toBe("ce");
    expect(namesOf(await found({ ...chat, sponsored: false }))).toBe("abd");
    expect(await markedIn({ session_ref: "chat-2" })).toBe("bce");
    expect(await markedIn(chat, other)).toBe("bce");
    expect(await markedIn()).toBe("bce");
    movedMs += 61 * 60_000;
    expect(await markedIn(chat)).toBe("bce");
  });

  it("never costs more than the budget, after which the row is not sponsored", async () => {
    const third = await newAdvertiser(node);
    await third.campaign({ price: "0.4", budget: "1" });
    await publishProducts(third, ["x", "y"]);
    for (const id of ["x", "y"]) expect((await sponsor(third, id)).status).toBe(200);
    await untilMarked("bcexy");
    const searches = [await search(company), await search(company)];
    const outcomes = await Promise.all(
      searches.flatMap((each) => ["x", "y"].map((id) => render(each.retrievalId, idOf(third, id)))),
    );
    expect(outcomes.map((each) => codeOf(each)[2] ?? "rendered").sort()).toEqual([
      "budget_spent",
      "budget_spent",
      "rendered",
      "rendered",
    ]);
    await untilMarked("bce");
    expect(namesOf(await found({ sponsored: true }))).toBe("bce");
  });

  it("is charged to the campaign that sponsored the product first", async () => {
    await first.campaign({ campaign_id: "summer" });
    movedMs += 1_000;
    const known = node.running.services.register.ads.size;
    expect((await sponsor(first, "b", { campaign_id: "summer" })).status).toBe(200);
    await vi.waitFor(() => expect(node.running.services.register.ads.size).toBe(known + 1), patience);
    const before = await rendersOf(first);
    expect((await render((await search(company)).retrievalId, idOf(first, "b"))).status).toBe(200);
    expect([await rendersOf(first), await rendersOf(first, "summer")]).toEqual([(before ?? 0) + 1, 0]);
  });
});

describe("a business whose certificate ended", () => {
  it("has rows, but none that is sponsored", async () => {
    const { parties, clock } = node.running.services;
    const { party, key } = second.business;
    const { uuid, kind, legal_name, country } = party;
    await parties.issueCertificate({
      uuid,
      kind,
      legal_name,
      country,
      verified_since: key.valid_from,
      status: "closed",
      status_effective_from: formatTimestamp(clock.now()),
      status_reason: null,
    });
    await untilMarked("bc");
    expect(namesOf(await found({ sponsored: true }))).toBe("bc");
    expect(namesOf(await found({ sponsored: false }))).toContain("e");
  });
});

describe("a product that was sealed with a key in other hands", () => {
  it("is neither charged nor clicked, though who sponsors it sealed that with another key", async () => {
    const { services } = node.running;
    const row = idOf(first, "b");
    const { retrievalId } = await search(company);
    const { click_token } = (await render(retrievalId, row)).json;
    const before = await rendersOf(first);
    const again = await search(company);
    const { key_id, valid_from } = first.business.key;
    const revoked_at = formatTimestamp(services.clock.now());
    await services.parties.revokeKey({ uuid: first.uuid, key_id, revoked_at, compromised_from: valid_from });
    await registerInForce(services);
    expect(codeOf(await render(again.retrievalId, row))).toEqual([409, "ad_unavailable", "ad_not_live"]);
    expect(await rendersOf(first)).toBe(before);
    const clicked = await state(node, company, "click", { click_token });
    expect(codeOf(clicked)).toEqual([409, "ad_unavailable", "ad_not_live"]);
    expect(namesOf(await found())).not.toContain("b");
  });
});

describe("a gross price", () => {
  it("is in no answer about sponsored products", () => {
    expect(answered.length).toBeGreaterThan(100);
    const all = answered.join("\n");
    for (const secret of [grossPrice, budgetText, "918273", "77123457"]) expect(all).not.toContain(secret);
  });
});
