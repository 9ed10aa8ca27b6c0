// What a campaign charges: each render once, in time, and never more than its budget.

import { beforeEach, describe, expect, it } from "vitest";
import { adClickMs, adRenderMs } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { adSeal } from "../facts.fixture.ts";
import type { AdFacts } from "../messages/ads.ts";
import { adCampaignActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-00000000000b";
const start = Date.UTC(2026, 0, 31, 12);
let campaign: ActorHarness<"ad-campaign">;

const accept = (changes: object = {}) =>
  campaign.send({
    type: "campaign.accept",
    terms: {
      ...{ currency: "EUR", gross_price: 40, net_price: 30, budget: 100, starts_at_ms: 0 },
      ...{ ends_at_ms: start + 60_000, paused: false, sealed_at_ms: start, seal_id: "terms", ...changes },
      sealed: adSeal,
    },
  });
beforeEach(() => {
  campaign = driveActor(adCampaignActor, `${business}.spring`);
  campaign.nowMs = start;
  accept();
  campaign.send({ type: "ad.assign", ad_id: "ad_a", seal_id: "s", sealed_at_ms: start, hash: "h" });
  const facts: AdFacts = {
    ...{ ad_id: "ad_a", business_uuid: business, campaign_id: "spring", generation: 1, hash: "h" },
    ...{ countries: ["US"], subdivisions: [], keywords: ["tea"], allow_repeats: false },
    ...{ sealed: adSeal, published_at_ms: start, state: "live" },
  };
  campaign.send({ type: "ad.publish", facts, seal_id: "s", leaf: "leaf" });
});

const render = (
  index: number,
  { pool = "ret_1@eu-west1", served = start, ad_id = "ad_a", is_served = true } = {},
) =>
  campaign.send({
    ...{ type: "render.charge", pool, index, ad_id, is_served, format: "card", served_at_ms: served },
  });
const renders = () => campaign.send({ type: "campaign.read" })?.renders;
const told = () =>
  campaign.effects.flatMap((effect) =>
    effect.kind === "tell" && effect.message.type === "item.settle" ? [effect.message] : [],
  );

describe("a render", () => {
  it("is charged once, is answered the same for two days, and the pool is told once", () => {
    const first = render(3);
    expect(first).toEqual({ status: "rendered", rendered_at_ms: start });
    campaign.nowMs += adClickMs + adRenderMs;
    accept({ paused: true, seal_id: "later", sealed_at_ms: start + 1 });
    expect(render(3)).toEqual(first);
    expect(renders()).toBe(1);
    expect(told()).toEqual([{ type: "item.settle", index: 3, format: "card", refusal: null, at_ms: start }]);
  });

  it("is refused ten minutes after its pool, and charges nothing", () => {
    campaign.nowMs = start + adRenderMs + 1;
    expect(render(0)).toEqual({ status: "expired" });
    expect(renders()).toBe(0);
    expect(told()).toEqual([]);
    campaign.nowMs = start + adRenderMs;
    expect(render(0)).toMatchObject({ status: "rendered" });
  });

  it("is never charged beyond the budget, and one that was refused stays refused", () => {
    expect([render(0), render(1)].map(({ status }) => status)).toEqual(["rendered", "rendered"]);
    expect(render(2)).toEqual({ status: "refused", reason: "budget_spent" });
    accept({ budget: 120, seal_id: "more", sealed_at_ms: start + 1 });
    expect(render(2)).toEqual({ status: "refused", reason: "budget_spent" });
    expect(render(2, { pool: "ret_2@eu-west1" })).toMatchObject({ status: "rendered" });
    expect(render(3)).toEqual({ status: "refused", reason: "budget_spent" });
    expect(renders()).toBe(3);
  });

  it("of a pool that was served before the campaign ended is charged after it; of a later one it is not", () => {
    campaign.nowMs = start + 120_000;
    expect(render(0, { served: start + 59_999 })).toMatchObject({ status: "rendered" });
    expect(render(1, { served: start + 60_000 })).toEqual({
      status: "refused",
      reason: "campaign_not_running",
    });
  });

  it("of an ad that was withdrawn, or that the campaign never had, is refused", () => {
    expect(render(0, { ad_id: "ad_b" })).toEqual({ status: "refused", reason: "ad_not_live" });
    campaign.send({
      ...{ type: "ad.remove", ad_id: "ad_a", state: "withdrawn", sealed_at_ms: start + 1, leaf: "leaf" },
    });
    expect(render(1)).toEqual({ status: "refused", reason: "ad_not_live" });
    expect(renders()).toBe(0);
  });

  it("of an advertiser that may not be served any more is refused, and what was rendered before stays rendered", () => {
    const before = render(0);
    expect(before).toMatchObject({ status: "rendered" });
    expect(render(1, { is_served: false })).toEqual({ status: "refused", reason: "ad_not_live" });
    expect(render(0, { is_served: false })).toEqual(before);
    expect(renders()).toBe(1);
  });
});
