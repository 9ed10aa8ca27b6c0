// What a campaign charges: each render once, in time, and never more than its budget.

import { beforeEach, describe, expect, it } from "vitest";
import { adClickMs, adRenderMs } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { adSeal } from "../facts.fixture.ts";
import type { AdFacts, CampaignFacts } from "../messages/ads.ts";
import { adCampaignActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-00000000000b";
const start = Date.UTC(2026, 0, 31, 12);
let campaign: ActorHarness<"ad-campaign">;

const accept = (changes: object = {}) =>
  campaign.send({
    type: "campaign.accept",
    terms: {
      currency: "EUR",
      gross_price: 40,
      net_price: 30,
      budget: 100,
      starts_at_ms: 0,
      ends_at_ms: start + 60_000,
      paused: false,
      sealed_at_ms: start,
      seal_id: "terms",
      ...changes,
      sealed: adSeal,
    },
  });
beforeEach(() => {
  campaign = driveActor(adCampaignActor, `${business}.spring`);
  campaign.nowMs = start;
  accept();
  campaign.send({ type: "ad.assign", ad_id: "ad_a", seal_id: "s", sealed_at_ms: start, hash: "h" });
  const facts: AdFacts = {
    ad_id: "ad_a",
    business_uuid: business,
    campaign_id: "spring",
    generation: 1,
    hash: "h",
    countries: ["US"],
    subdivisions: [],
    keywords: ["tea"],
    allow_repeats: false,
    sealed: adSeal,
    published_at_ms: start,
    state: "live",
  };
  campaign.send({ type: "ad.publish", facts, seal_id: "s", leaf: "leaf" });
});

const render = (
  index: number,
  { pool = "ret_1@eu-west1", served = start, ad_id = "ad_a", is_served = true, company = "c1" } = {},
) =>
  campaign.send({
    type: "render.charge",
    pool,
    index,
    ad_id,
    company,
    is_served,
    format: "card",
    served_at_ms: served,
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
      type: "ad.remove",
      ad_id: "ad_a",
      state: "withdrawn",
      sealed_at_ms: start + 1,
      leaf: "leaf",
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

describe("what a day and one company may spend", () => {
  const days = 10;
  const hourMs = 3_600_000;
  const midnight = Date.UTC(2026, 1, 1);
  let pools = 0;
  /** Renders one item of a pool of its own, `count` times; returns what came, without repetitions. */
  const renderOf = (company: string, count: number): readonly string[] => {
    const seen = new Set<string>();
    for (let at = 0; at < count; at += 1) {
      pools += 1;
      const reply = render(0, { company, served: campaign.nowMs, pool: `ret_${pools}@eu-west1` });
      seen.add(reply.status === "refused" ? reply.reason : reply.status);
    }
    return [...seen];
  };
  const entry = () => {
    const { entries } = campaign.send({ type: "entries.read", keys: ["campaign"] });
    return JSON.parse(entries[0]?.body ?? "{}") as CampaignFacts;
  };
  beforeEach(() => {
    campaign.nowMs = midnight;
    // A day costs at most 400 renders, a company at most 200 of them, 40 an hour, and 1,000 in all.
    accept({
      gross_price: 1,
      net_price: 1,
      budget: 2_000,
      seal_id: "long",
      sealed_at_ms: start + 1,
      starts_at_ms: midnight,
      ends_at_ms: midnight + days * 24 * hourMs,
    });
  });

  it("is at most a tenth of a day's part in an hour for one company, and half of it on a day (RB2)", () => {
    expect(renderOf("c1", 40)).toEqual(["rendered"]);
    expect(renderOf("c1", 1)).toEqual(["company_limit"]);
    expect(renderOf("c2", 40)).toEqual(["rendered"]);
    for (let hour = 1; hour < 5; hour += 1) {
      campaign.nowMs = midnight + hour * hourMs;
      expect(renderOf("c1", 40)).toEqual(["rendered"]);
    }
    campaign.nowMs = midnight + 5 * hourMs;
    expect(renderOf("c1", 1)).toEqual(["company_limit"]);
    expect(renders()).toBe(240);
    expect(campaign.send({ type: "campaign.read" })).toMatchObject({ company_day_max: 200 });
  });

  it("is at most half of the budget for one company, however long it takes (RB2)", () => {
    // Its part of a day is spent within five hours.
    for (let hour = 0; hour < days * 24; hour += hour % 24 < 5 ? 1 : 19) {
      campaign.nowMs = midnight + hour * hourMs;
      renderOf("c1", 41);
    }
    expect(renders()).toBe(1_000);
    campaign.nowMs = midnight + 9 * 24 * hourMs;
    expect(renderOf("c2", 1)).toEqual(["rendered"]);
  });

  it("ends for a day, of which regions are told once, and goes on with the next (RB1)", () => {
    const told = campaign.effects.length;
    for (let company = 0; company < 10; company += 1) renderOf(`c${company}`, 40);
    expect(entry()).toMatchObject({ state: "running", resumes_at_ms: midnight + 24 * hourMs });
    expect(renderOf("c10", 1)).toEqual(["day_spent"]);
    const projected = campaign.effects
      .slice(told)
      .filter((each) => JSON.stringify(each).includes("projectAds"));
    expect(projected).toHaveLength(1);
    campaign.nowMs = midnight + 24 * hourMs;
    expect(entry().resumes_at_ms).toBeUndefined();
    expect(renderOf("c10", 1)).toEqual(["rendered"]);
  });

  it("is never less than a small campaign needs to run (RB1, RB2)", () => {
    accept({
      gross_price: 10,
      net_price: 8,
      budget: 2_000,
      seal_id: "small",
      sealed_at_ms: start + 2,
      starts_at_ms: midnight,
      ends_at_ms: midnight + 300 * 24 * hourMs,
    });
    expect(renderOf("c1", 20)).toEqual(["rendered"]);
    expect(renderOf("c1", 1)).toEqual(["company_limit"]);
    expect(campaign.send({ type: "campaign.read" })).toMatchObject({ company_day_max: 50 });
    for (const company of ["c2", "c3", "c4", "c5"]) expect(renderOf(company, 20)).toEqual(["rendered"]);
    expect(renderOf("c6", 1)).toEqual(["day_spent"]);
  });

  it("and each click are counted by day, for a day and the week before it", () => {
    const day = midnight / (24 * hourMs);
    const click = (company: string) => campaign.send({ type: "click.note", company });
    for (let later = 0; later < 10; later += 1) {
      campaign.nowMs = midnight + later * 24 * hourMs;
      renderOf("c1", 1);
      click("c1");
    }
    click("c1");
    click("c2");
    const [c1, ...others] = campaign.send({ type: "renders.list", after: "" });
    expect(others).toEqual([]);
    expect(c1).toMatchObject({ renders: 10, clicks: 11 });
    expect(c1?.days).toEqual(
      Array.from({ length: 8 }, (_, at) => ({ day: day + 2 + at, renders: 1, clicks: at === 7 ? 2 : 1 })),
    );
  });

  it("is told to the advertiser by company, and given back by operators without giving room to the company (RB3)", () => {
    renderOf("c1", 40);
    renderOf("c2", 3);
    accept({
      gross_price: 1,
      net_price: 1,
      budget: 43,
      seal_id: "less",
      sealed_at_ms: start + 3,
      starts_at_ms: midnight,
      ends_at_ms: midnight + 24 * hourMs,
    });
    expect(entry().state).toBe("spent");
    const reverse = (company: string, expected = 0) =>
      campaign.send({ type: "renders.reverse", company, expected });
    expect(reverse("c1", 1)).toEqual({ status: "changed" });
    expect(reverse("c1")).toEqual({ status: "done", renders: 40 });
    expect(reverse("c1")).toEqual({ status: "done", renders: 0 });
    expect(reverse("c2")).toEqual({ status: "changed" });
    expect(reverse("c9")).toEqual({ status: "unknown" });
    expect(entry().state).toBe("running");
    const last_at_ms = midnight;
    const day = midnight / (24 * hourMs);
    expect(campaign.send({ type: "renders.list", after: "" })).toEqual([
      {
        company: "c1",
        renders: 40,
        reversed: 40,
        clicks: 0,
        last_at_ms,
        days: [{ day, renders: 40, clicks: 0 }],
      },
      {
        company: "c2",
        renders: 3,
        reversed: 0,
        clicks: 0,
        last_at_ms,
        days: [{ day, renders: 3, clicks: 0 }],
      },
    ]);
    expect(campaign.send({ type: "renders.list", after: "c1" })).toHaveLength(1);
    const money = (after: string) => campaign.send({ type: "money.read", after });
    expect(money("")).toMatchObject({ spent: 3, spent_today: 43, day_max: 43, terms: { budget: 43 } });
    expect(money("")?.companies.map(({ company, spent }) => [company, spent])).toEqual([
      ["c1", 0],
      ["c2", 3],
    ]);
    expect(money("c1")?.companies).toHaveLength(1);
    expect(renders()).toBe(43);
    accept({
      gross_price: 1,
      net_price: 1,
      budget: 2_000,
      seal_id: "again",
      sealed_at_ms: start + 4,
      starts_at_ms: midnight,
      ends_at_ms: midnight + days * 24 * hourMs,
    });
    expect(renderOf("c1", 1)).toEqual(["company_limit"]);
  });
});
