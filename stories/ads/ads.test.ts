// Ads on a running node over HTTP: what advertisers publish, what AI companies are served, and what becomes of it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef, campaignRef, poolRef } from "../../actors/messages/refs.ts";
import { newCaller, type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { hashOf, parseBase64, sha256, toHex, utf8 } from "../../protocol/bytes.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { verifyAdItem } from "../../verifier/ad-item.ts";
import { type AttackNode, logOf, openAttackNode } from "../retrieval/attack.fixture.ts";
import {
  type Advertiser,
  budgetText,
  grossPrice,
  newAdvertiser,
  openPool,
  type PoolItem,
  state,
  wrongCampaigns,
  wrongPools,
} from "./ads.fixture.ts";

const patience = { timeout: 20_000 };
let node: AttackNode;
let company: TestCaller;
let other: TestCaller;
let first: Advertiser;
let second: Advertiser;
let movedMs = 0;
/** The text of everything that was answered. */
const answered: string[] = [];

async function noted(answer: Promise<ReceivedAnswer>): Promise<ReceivedAnswer> {
  const { text } = await answer;
  answered.push(text);
  return answer;
}

beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + movedMs } }, { logLevel: "trace" });
  const { grant } = node.running.services.keys;
  company = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-0000000000c1");
  other = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-0000000000c2");
  [first, second] = [await newAdvertiser(node), await newAdvertiser(node)];
});
afterAll(() => node.close());

const pool = async (changes: object = {}, caller = company) => {
  const answer = await openPool(node, caller, changes);
  answered.push(answer.text);
  return answer;
};
const idsIn = (ads: readonly PoolItem[]) => ads.map(({ ad_id }) => ad_id);
const render = (item: PoolItem | undefined, caller = company) =>
  noted(state(node, caller, "render", { render_token: item?.render_token, format: "card" }));
const click = (token: unknown, caller = company) =>
  noted(state(node, caller, "click", { click_token: token }));
const codeOf = ({ status, json }: ReceivedAnswer) =>
  [status, json["code"], json["reason"]].filter((each) => each !== undefined);

async function published(advertiser: Advertiser, id: string, changes: object = {}): Promise<string> {
  const answer = await noted(advertiser.ad(id, changes));
  expect(answer).toMatchObject({ status: 200, json: { state: "live", campaign_id: "spring" } });
  return String(answer.json["ad_id"]);
}

describe("an advertiser", () => {
  it("publishes ads only of a campaign that is known", async () => {
    expect(codeOf(await first.ad("early"))).toEqual([422, "campaign_refused", "campaign_unknown"]);
    for (const each of [first, second])
      expect(await noted(each.campaign())).toMatchObject({
        status: 200,
        json: { campaign_id: "spring", state: "running", renders: 0 },
      });
  });

  it.each(wrongCampaigns)("is refused a campaign with %s", async (_what, changes, reason) => {
    expect(codeOf(await first.campaign(changes))).toEqual([422, "campaign_refused", reason]);
  });

  it.each<readonly [string, object, string]>([
    [
      "a host that is not that of its destination",
      { display_domain: "other.example" },
      "display_domain_mismatch",
    ],
    ["no keyword", { keywords: [] }, "out_of_range"],
    [
      "an image that was not sent",
      {
        images: [
          { sha256: `sha256:${"0".repeat(64)}`, media_type: "image/png", width: 1, height: 1, alt: "x" },
        ],
      },
      "image_unknown",
    ],
  ])("is refused an ad with %s", async (_what, changes, reason) => {
    const answer = await first.ad("wrong", changes);
    expect(answer).toMatchObject({ status: 422, json: { code: "campaign_refused" } });
    if (reason !== "out_of_range") expect(answer.json["reason"]).toBe(reason);
  });

  it("is refused an image that is not what the ad says of it", async () => {
    const image = { ...(await first.image()), width: 7 };
    expect(codeOf(await first.ad("wrong", { images: [image] }))).toEqual([
      422,
      "campaign_refused",
      "image_mismatch",
    ]);
  });

  it("is refused what somebody else sealed, or what was sealed for something else", async () => {
    const bytes = utf8(JSON.stringify({ schema: "svc/ad_campaign/1" }));
    const wrong = await first.post("/v1/ads/records", { record_base64: btoa("{}"), seal: {} });
    expect(wrong).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    const own = await second.publish({ ...JSON.parse(new TextDecoder().decode(bytes)) });
    expect(own).toMatchObject({ status: 422 });
  });
});

describe("a pool", () => {
  let oldest: string;
  let newest: string;
  let pictured: string;

  beforeAll(async () => {
    oldest = await published(first, "oldest", { keywords: ["Trail running", "mud"] });
    movedMs += 5_000;
    newest = await published(second, "newest");
    movedMs += 5_000;
    pictured = await published(first, "pictured", {
      keywords: ["boots"],
      images: [await first.image()],
      call_to_action: "See it",
    });
    await vi.waitFor(async () => expect((await pool({ keywords: ["boots"] })).ads).toHaveLength(1), patience);
  });

  it("has the ads of the country that have a keyword, whole, whatever the case of its letters", async () => {
    expect(idsIn((await pool()).ads)).toEqual([oldest, newest]);
    expect(idsIn((await pool({ keywords: ["TRAIL RUNNING"] })).ads)).toEqual([oldest, newest]);
    expect((await pool({ keywords: ["trail"] })).ads).toEqual([]);
    expect((await pool({ country: "FR" })).ads).toEqual([]);
  });

  it("is in the order that the caller names, and in no other", async () => {
    expect(idsIn((await pool({ sort_by: "published_at:desc" })).ads)).toEqual([newest, oldest]);
    const both = { keywords: ["trail running", "mud"] };
    expect(idsIn((await pool({ ...both, sort_by: "keyword_matches:desc" })).ads)).toEqual([oldest, newest]);
    expect(idsIn((await pool({ ...both, sort_by: "keyword_matches:asc" })).ads)).toEqual([newest, oldest]);
  });

  it("in random order is in the one that follows from its retrieval id", async () => {
    for (let time = 0; time < 6; time += 1) {
      const { ads, json } = await pool({ sort_by: "random:asc" });
      const place = (id: string) => toHex(sha256(utf8(`${String(json["retrieval_id"])}\n${id}`)));
      expect(idsIn(ads)).toEqual([oldest, newest].sort((a, b) => (place(a) < place(b) ? -1 : 1)));
    }
  });

  it("has at most as many as were asked for, of all and of one campaign", async () => {
    expect((await pool({ limit: 1 })).ads).toHaveLength(1);
    const further = await published(first, "further", { keywords: ["Trail running"] });
    await vi.waitFor(async () => expect((await pool()).ads).toHaveLength(3), patience);
    expect(idsIn((await pool({ max_per_campaign: 1 })).ads)).toEqual([oldest, newest]);
    await first.remove(further, "withdraw");
    await vi.waitFor(async () => expect((await pool()).ads).toHaveLength(2), patience);
  });

  it("has items that verify alone and offline, with every image", async () => {
    const { ads, text } = await pool({ keywords: ["boots"] });
    const [item] = ads;
    const list = exactMember(text, "ads") ?? "";
    const bytes = utf8(list.slice(1, -1));
    const trust = node.running.services.trust();
    const url = item?.creative.images[0]?.url ?? "";
    const image = await fetch(url);
    expect(image.headers.get("content-type")).toBe("image/png");
    const images = new Map([[url, new Uint8Array(await image.arrayBuffer())]]);
    const report = verifyAdItem(trust, bytes, { images });
    expect(report, JSON.stringify(report)).toMatchObject({ valid: true });
    expect(report.checks.map(({ state: each }) => each)).not.toContain("not_checked");
    const changed = list.slice(1, -1).replace("Light and waterproof.", "Light and gold-plated.");
    expect(verifyAdItem(trust, utf8(changed)).valid).toBe(false);
    expect(item?.net_price).toEqual({ amount: "0.642791", currency: "EUR" });
  });

  it("has a receipt that names each ad as it was served", async () => {
    const { json } = await pool();
    const { payload } = json["receipt"] as { payload: string };
    const receipt = JSON.parse(new TextDecoder().decode(parseBase64(payload) ?? new Uint8Array()));
    expect(receipt).toMatchObject({
      kind: "ad_pool",
      country: "US",
      retrieval_id: json["retrieval_id"],
      rows: [{ record_id: oldest }, { record_id: newest }],
    });
  });

  it("cannot be fetched from", async () => {
    const answer = await send(node.running.urls.base_url, company, { path: `/v1/records/${pictured}` });
    expect(answer.status).toBe(404);
  });

  it("leaves out advertisers who blocked the caller's group, and nothing says so", async () => {
    const { actors, register } = node.running.services;
    const groupOf = async () => (await register.party("10000000-0000-4000-8000-0000000000c2"))?.group ?? "";
    await pool({}, other);
    const group = await groupOf();
    const act = { by: "b", reason: "r" };
    await actors.ask(businessRef(second.uuid), { type: "group.block", group, act });
    await vi.waitFor(async () => expect(idsIn((await pool({}, other)).ads)).toEqual([oldest]), patience);
    expect(idsIn((await pool()).ads)).toEqual([oldest, newest]);
    await actors.ask(businessRef(second.uuid), { type: "group.unblock", group, act });
  });

  it.each(wrongPools)("is refused %s", async (_what, changes, code) => {
    expect((await pool(changes)).json["code"]).toBe(code);
  });

  it("is served in a part of a country only where that is named", async () => {
    const local = await published(second, "local", { keywords: ["sandals"], subdivisions: ["US-CA"] });
    const of = async (more: object) => idsIn((await pool({ keywords: ["sandals"], ...more })).ads);
    await vi.waitFor(async () => expect(await of({ subdivision: "US-CA" })).toEqual([local]), patience);
    expect(await of({})).toEqual([]);
    expect(await of({ subdivision: "US-NY" })).toEqual([]);
    expect(await of({ country: "GB" })).toEqual([local]);
  });
});

describe("a render", () => {
  it("is confirmed once, however often and however many at once, and answers the label and a click token", async () => {
    const [item] = (await pool()).ads;
    const answers = await Promise.all(Array.from({ length: 100 }, () => render(item)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]).toMatchObject({
      status: 200,
      json: {
        ad_id: item?.ad_id,
        label: { text: "Sponsored" },
        click_token: expect.stringMatching(/^svc_adc1/),
      },
    });
    const report = await node.running.services.actors.ask(campaignRef(first.uuid, "spring"), {
      type: "campaign.read",
    });
    expect(report?.renders).toBe(1);
  });

  it("keeps how it was shown", async () => {
    const { ads, json } = await pool();
    await render(ads[1]);
    const ref = poolRef(String(json["retrieval_id"]), node.running.config.region);
    await vi.waitFor(async () => {
      const kept = await node.running.services.actors.ask(ref, { type: "pool.read" });
      expect(kept?.items.map(({ state: each, format }) => [each, format])).toEqual([
        ["served", null],
        ["rendered", "card"],
      ]);
    }, patience);
  });

  it("is refused to another company, and with a token that was changed", async () => {
    const [item] = (await pool()).ads;
    expect(codeOf(await render(item, other))).toEqual([403, "ad_token_invalid"]);
    const token = String(item?.render_token);
    const changed = { ...item, render_token: `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}` };
    expect(codeOf(await render(changed as PoolItem))).toEqual([403, "ad_token_invalid"]);
    expect(codeOf(await click(token))).toEqual([409, "ad_not_rendered"]);
    expect(codeOf(await click(token, other))).toEqual([403, "ad_token_invalid"]);
    expect(codeOf(await click("svc_adc1.AAAA.BBBB"))).toEqual([403, "ad_token_invalid"]);
  });

  it("is refused eleven minutes after the pool, but answered again if it was in time", async () => {
    const [one, two] = (await pool()).ads;
    const before = await render(one);
    movedMs += 11 * 60_000;
    expect(codeOf(await render(two))).toEqual([410, "ad_expired"]);
    expect((await render(one)).text).toBe(before.text);
  });

  it("is followed by clicks for 24 hours, of which the first counts", async () => {
    const [item] = (await pool()).ads;
    const { json } = await render(item);
    const clicked = await click(json["click_token"]);
    expect(clicked).toMatchObject({ status: 200, json: { ad_id: item?.ad_id } });
    movedMs += 60_000;
    expect((await click(json["click_token"])).text).toBe(clicked.text);
    expect(codeOf(await click(json["click_token"], other))).toEqual([403, "ad_token_invalid"]);
    const [late] = (await pool()).ads;
    const rendered = await render(late);
    movedMs += 25 * 3_600_000;
    expect(codeOf(await click(rendered.json["click_token"]))).toEqual([410, "ad_expired"]);
  });

  it("leaves the ad out of the conversation's pools for an hour, and of no other's", async () => {
    const session = { session_ref: "chat-1" };
    const before = await pool(session);
    await render(before.ads[0]);
    await vi.waitFor(
      async () => expect(idsIn((await pool(session)).ads)).toEqual(idsIn(before.ads).slice(1)),
      patience,
    );
    expect((await pool({ session_ref: "chat-2" })).ads).toHaveLength(before.ads.length);
    expect((await pool(session, other)).ads).toHaveLength(before.ads.length);
    expect((await pool()).ads).toHaveLength(before.ads.length);
    movedMs += 61 * 60_000;
    expect((await pool(session)).ads).toHaveLength(before.ads.length);
  });

  it("does not, where the advertiser allows repeats", async () => {
    const again = await published(second, "again", { keywords: ["laces"], allow_repeats: true });
    const asked = { keywords: ["laces"], session_ref: "chat-3" };
    await vi.waitFor(async () => expect(idsIn((await pool(asked)).ads)).toEqual([again]), patience);
    await render((await pool(asked)).ads[0]);
    expect(idsIn((await pool(asked)).ads)).toEqual([again]);
  });
});

describe("a campaign", () => {
  it("is charged for confirmed renders alone, never beyond its budget, and served no more then", async () => {
    const third = await newAdvertiser(node);
    expect((await third.campaign({ price: "0.4", budget: "1" })).status).toBe(200);
    await published(third, "a", { keywords: ["insoles"] });
    await published(third, "b", { keywords: ["insoles"] });
    await published(third, "c", { keywords: ["insoles"] });
    const asked = { keywords: ["insoles"] };
    await vi.waitFor(async () => expect((await pool(asked)).ads).toHaveLength(3), patience);
    const { ads } = await pool(asked);
    const outcomes = await Promise.all(ads.map((item) => render(item)));
    expect(outcomes.map((each) => codeOf(each)[1] ?? "rendered").sort()).toEqual([
      "ad_unavailable",
      "rendered",
      "rendered",
    ]);
    await vi.waitFor(async () => expect((await pool(asked)).ads).toEqual([]), patience);
    expect((await third.campaign({ price: "0.4", budget: "1.2" })).json).toMatchObject({
      state: "running",
      renders: 2,
    });
    await vi.waitFor(async () => expect((await pool(asked)).ads).toHaveLength(3), patience);
  });

  it("that is paused is served no more, and its open pools are not charged", async () => {
    const fourth = await newAdvertiser(node);
    await fourth.campaign();
    await published(fourth, "a", { keywords: ["gaiters"] });
    const asked = { keywords: ["gaiters"] };
    await vi.waitFor(async () => expect((await pool(asked)).ads).toHaveLength(1), patience);
    const [item] = (await pool(asked)).ads;
    movedMs += 1_000;
    expect((await fourth.campaign({ paused: true })).json).toMatchObject({ state: "paused" });
    expect(codeOf(await render(item))).toEqual([409, "ad_unavailable", "campaign_not_running"]);
    await vi.waitFor(async () => expect((await pool(asked)).ads).toEqual([]), patience);
  });
});

describe("an ad that is taken back", () => {
  it("leaves pools and cannot be rendered; deleted, its bytes are gone and it never returns", async () => {
    const ad = await published(first, "gone", { keywords: ["clogs"] });
    const asked = { keywords: ["clogs"] };
    await vi.waitFor(async () => expect(idsIn((await pool(asked)).ads)).toEqual([ad]), patience);
    const shown = await pool(asked);
    const [item] = shown.ads;
    expect((await first.remove(ad, "delete")).json).toMatchObject({ state: "deleted" });
    expect(codeOf(await render(item))).toEqual([409, "ad_unavailable", "ad_not_live"]);
    await vi.waitFor(async () => expect((await pool(asked)).ads).toEqual([]), patience);
    expect(codeOf(await first.ad("gone", { keywords: ["clogs"], body: "Again." }))).toEqual([
      422,
      "campaign_refused",
      "deleted",
    ]);
    expect(codeOf(await first.remove(`ad_${"a".repeat(26)}`, "withdraw"))).toEqual([404, "not_found"]);
    const { records } = node.running.services;
    const bytes = parseBase64(String(item?.["record_base64"])) ?? new Uint8Array();
    const id = { record_id: ad, generation: 1, hash: hashOf(bytes) };
    await vi.waitFor(
      async () =>
        expect((await records.readOrigins([id]))[0]?.bytes ?? new Uint8Array()).toEqual(new Uint8Array()),
      patience,
    );
    const { receipts, config } = node.running.services;
    const kept = await receipts.readReceipt(config.region, String(shown.json["retrieval_id"]));
    expect(shown.text).toContain(kept?.envelope);
  });
});

describe("a gross price", () => {
  it("is in no answer, no view of an actor and no log", async () => {
    const { urls, config } = node.running;
    const token = (await readFile(join(config.home, "ops-token"), "utf8")).trim();
    for (const uuid of [first.uuid, second.uuid]) {
      const path = `/ops/actors/ad-campaign/${uuid}.spring`;
      const shown = await fetch(`${urls.ops_url}${path}`, { headers: { authorization: `Bearer ${token}` } });
      const text = await shown.text();
      expect(text).toContain("campaign");
      answered.push(text);
    }
    answered.push(await logOf(node));
    expect(answered.at(-1)?.length).toBeGreaterThan(10_000);
    expect(answered.length).toBeGreaterThan(100);
    const all = answered.join("\n");
    for (const secret of [grossPrice, budgetText, "918273", "77123457"]) expect(all).not.toContain(secret);
    expect(all).toContain("642791");
  });
});
