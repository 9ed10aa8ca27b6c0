// Every limit of pools and statements, on the line and one above, and statements that name what their company was not served.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newCaller, type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { type AttackNode, openAttackNode } from "../retrieval/attack.fixture.ts";
import { type Advertiser, adRecord, newAdvertiser, openPool, state } from "./ads.fixture.ts";

let node: AttackNode;
let company: TestCaller;
let advertiser: Advertiser;

beforeAll(async () => {
  node = await openAttackNode();
  company = await newCaller(
    node.running.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-0000000000c1",
  );
  advertiser = await newAdvertiser(node);
  await advertiser.campaign();
  for (let n = 0; n < 21; n += 1)
    expect(await advertiser.ad(`shoe-${n}`, { keywords: [longest, "trail running"] })).toMatchObject({
      status: 200,
    });
});
afterAll(() => node.close());

/** 64 characters, of four words. */
const longest = `${"a".repeat(20)} ${"b".repeat(20)} ${"c".repeat(20)} d`;
const codeOf = ({ status, json }: ReceivedAnswer) => [status, json["code"]];
const post = (path: string, body: string) => send(node.running.urls.base_url, company, { path, body });

describe("a pool", () => {
  it.each([
    ["ten keywords", { keywords: ["trail running", ...Array.from({ length: 9 }, (_, n) => `shoe ${n}`)] }],
    ["a keyword of 64 characters", { keywords: [longest] }],
    ["three sort keys", { sort_by: "net_price:desc,keyword_matches:desc,published_at:asc" }],
    ["20 ads", { limit: 20 }],
    ["20 ads of a campaign", { max_per_campaign: 20 }],
    ["a label of 128 characters", { session_ref: "x".repeat(128) }],
  ])("may be asked for with %s", async (_what, changes) => {
    const pool = await openPool(node, company, changes);
    expect(codeOf(pool)).toEqual([200, undefined]);
    expect(pool.ads).toHaveLength(20);
  });

  it.each([
    ["a keyword without characters", { keywords: [""] }],
    ["a limit of nothing", { limit: 0 }],
    ["a campaign's limit of nothing", { max_per_campaign: 0 }],
    ["a campaign's limit of 21", { max_per_campaign: 21 }],
    ["a part of a country in small letters", { subdivision: "us-ca" }],
    ["a label without characters", { session_ref: "" }],
    ["a label of other characters", { session_ref: "ü" }],
    ["a limit as a text", { limit: "20" }],
  ])("may not be asked for with %s", async (_what, changes) => {
    expect(codeOf(await openPool(node, company, changes))).toEqual([400, "request_invalid"]);
  });

  it("has 20 ads at most, whoever has more", async () => {
    expect((await openPool(node, company)).ads).toHaveLength(20);
  });
});

describe("an ad", () => {
  it("that is refused is told every fault at once, and where it is", async () => {
    const changes = { keywords: [], headline: "", display_domain: "other.example" };
    const { status, json } = await advertiser.ad("wrong", changes);
    const faults = json["errors"] as readonly { readonly code: string; readonly pointer: string }[];
    expect(faults.map(({ pointer }) => pointer).sort()).toEqual([
      "/display_domain",
      "/headline",
      "/keywords",
    ]);
    expect([status, json["code"], json["reason"]]).toEqual([422, "campaign_refused", faults[0]?.code]);
  });
});

describe("a body on the routes of ads", () => {
  const within = 65_536;

  it.each(["/v1/ads/pool", "/v1/ads/render", "/v1/ads/click"])(
    "may have 64 KiB, and no more: %s",
    async (path) => {
      expect(codeOf(await post(path, " ".repeat(within)))).toEqual([400, "request_invalid"]);
      expect(codeOf(await post(path, " ".repeat(within + 1)))).toEqual([413, "record_too_large"]);
    },
  );
});

describe("a render", () => {
  it("names an ad by its token or a row by its search, and not both, or parts of both", async () => {
    const [item] = (await openPool(node, company)).ads;
    const { render_token } = item ?? {};
    const row = { retrieval_id: `ret_${"0".repeat(32)}`, record_id: `svc_${"a".repeat(26)}` };
    for (const body of [
      {},
      { format: "card" },
      { render_token },
      { render_token, format: "billboard" },
      { render_token, format: "card", ...row },
      { format: "card", retrieval_id: row.retrieval_id },
      { render_token: [render_token], format: "card" },
    ])
      expect(codeOf(await state(node, company, "render", body))).toEqual([400, "request_invalid"]);
    expect(codeOf(await state(node, company, "render", { ...row, format: "card" }))).toEqual([
      404,
      "not_found",
    ]);
  });

  it("of an ad or a pool as a row of a search is of none", async () => {
    const pool = await openPool(node, company);
    const [item] = pool.ads;
    const statement = { retrieval_id: pool.json["retrieval_id"], record_id: item?.ad_id, format: "card" };
    expect(codeOf(await state(node, company, "render", statement))).toEqual([400, "request_invalid"]);
    const asRow = { ...statement, record_id: `svc_${"a".repeat(26)}` };
    expect(codeOf(await state(node, company, "render", asRow))).toEqual([400, "request_invalid"]);
  });

  it("was confirmed by nobody for what was refused", async () => {
    const { campaign_id } = adRecord("any");
    const { actors } = node.running.services;
    const ref = { kind: "ad-campaign", id: `${advertiser.uuid}.${campaign_id}` } as const;
    expect(await actors.ask(ref, { type: "campaign.read" })).toMatchObject({ renders: 0 });
  });
});
