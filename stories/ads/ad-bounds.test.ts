// A company that confirms what it never showed: what it can spend of a campaign, what the advertiser and the operators see of it, and
// how it is given back.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { newCaller, type TestCaller } from "../../api/surfaces.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { type AttackNode, openAttackNode, readOver } from "../retrieval/attack.fixture.ts";
import { type Advertiser, newAdvertiser, openPool, state } from "./ads.fixture.ts";

let node: AttackNode;
let advertiser: Advertiser;
const thief = "10000000-0000-4000-8000-0000000000d1";
const honest = "10000000-0000-4000-8000-0000000000d2";
const callers: TestCaller[] = [];

beforeAll(async () => {
  node = await openAttackNode();
  const { grant } = node.running.services.keys;
  for (const uuid of [thief, honest]) callers.push(await newCaller(grant, "retrieval", uuid));
  advertiser = await newAdvertiser(node);
  await advertiser.campaign({ budget: "1000" });
  for (let n = 0; n < 5; n += 1) expect((await advertiser.ad(`shoe-${n}`)).status).toBe(200);
});
afterAll(() => node.close());

/** Of the last render. */
let click_token: unknown = null;

/** Renders every item of pools of new conversations; returns how many were confirmed, and why others were not. */
async function renderAll(caller: TestCaller | undefined, pools: number) {
  const outcomes: Record<string, number> = {};
  for (let pool = 0; pool < pools; pool += 1) {
    const asked = await openPool(node, caller as TestCaller, {
      session_ref: `conversation-${Math.random()}`,
    });
    for (const { render_token } of asked.ads) {
      const { json } = await state(node, caller as TestCaller, "render", { render_token, format: "card" });
      const outcome = String(json["reason"] ?? json["code"] ?? "rendered");
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      click_token = json["click_token"];
    }
  }
  return outcomes;
}

it("spends a small part of it, and takes nothing from others; its advertiser sees who it was, and has it back", async () => {
  // At most 20 renders an hour: the campaign may cost some 70 a day, of which a tenth is less.
  expect(await renderAll(callers[0], 12)).toEqual({ rendered: 20, company_limit: 40 });
  expect(await renderAll(callers[1], 1)).toEqual({ rendered: 5 });
  const clicked = await state(node, callers[1] as TestCaller, "click", { click_token });
  expect(clicked.status).toBe(200);
  const path = "/v1/ads/campaigns/spring";
  const last_rendered_at: unknown = expect.any(String);
  // The campaign is told of a click by the pool, a moment later.
  const told = async () =>
    expect((await readOver(node, advertiser.business, path)).json).toEqual({
      campaign_id: "spring",
      state: "running",
      change: 0,
      renders: 25,
      stopped: null,
      next_after: null,
      companies: [
        { company_uuid: thief, renders: 20, reversed: 0, clicks: 0, last_rendered_at },
        { company_uuid: honest, renders: 5, reversed: 0, clicks: 1, last_rendered_at },
      ],
    });
  await vi.waitFor(told, { timeout: 20_000 });
  expect((await readOver(node, advertiser.business, "/v1/ads/campaigns/winter")).status).toBe(404);
  expect((await readOver(node, advertiser.business, `${path}?after=x`)).json["pointer"]).toBe("/query/after");

  const { ops_url } = node.running.urls;
  const address = `${ops_url}/ops/campaigns/${advertiser.uuid}/spring`;
  const day = new Date().toISOString().slice(0, 10);
  const unusual = await (await contractFetch(`${ops_url}/ops/campaigns`)).json();
  expect(unusual).toEqual({
    unusual: [
      {
        business_uuid: advertiser.uuid,
        campaign_id: "spring",
        company_uuid: thief,
        day,
        of: "renders",
        count: 20,
        usual: 5,
      },
    ],
    next_after: null,
  });
  const further = await contractFetch(`${ops_url}/ops/campaigns?after=${advertiser.uuid}.spring`);
  expect(await further.json()).toEqual({ unusual: [], next_after: null });
  const page = await (await fetch(`${ops_url}/ui/renders`)).text();
  expect(page).toContain(`<code>${thief}</code>`);

  const reverse = async (company_uuid: string, expected = 0) => {
    const body = JSON.stringify({ company_uuid, expected, reason: "Nothing was shown." });
    const token = (await readFile(join(node.running.config.home, "ops-token"), "utf8")).trim();
    const headers = { authorization: signedIn(token), "content-type": "application/json" };
    return contractFetch(`${address}/reverse`, { method: "POST", body, headers });
  };
  expect((await reverse(thief, 1)).status).toBe(409);
  expect(await (await reverse(thief)).json()).toEqual({ reversed: 20 });
  expect(await (await reverse(thief)).json()).toEqual({ reversed: 0 });
  // Delivered once more, it does not reach what was rendered since.
  expect(await (await reverse(honest)).json()).toMatchObject({ code: "state_changed" });
  expect((await reverse("10000000-0000-4000-8000-0000000000d9")).status).toBe(404);
  const shown = (await (await contractFetch(address)).json()) as { campaign: object };
  expect(shown.campaign).toMatchObject({
    companies: [{ company_uuid: thief, reversed: 20 }, { reversed: 0 }],
  });
  const rest = (await (await contractFetch(`${address}?after=${thief}`)).json()) as { campaign: object };
  expect(rest.campaign).toMatchObject({ companies: [{ company_uuid: honest }] });
  // What was reversed gives the company no more room.
  expect(await renderAll(callers[0], 1)).toEqual({ company_limit: 5 });
});
