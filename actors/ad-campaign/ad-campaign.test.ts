// The order of documents about one ad: of two, the one that was sealed later counts.

import { beforeEach, describe, expect, it } from "vitest";
import { campaignAdsMax } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { adSeal } from "../facts.fixture.ts";
import type { AdFacts } from "../messages/ads.ts";
import { adCampaignActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-00000000000b";
const start = Date.UTC(2026, 0, 31, 12);

let campaign: ActorHarness<"ad-campaign">;
beforeEach(() => {
  campaign = driveActor(adCampaignActor, `${business}.spring`);
  campaign.nowMs = start;
  campaign.send({ type: "campaign.accept", terms });
});

const terms = {
  currency: "EUR",
  gross_price: 10,
  net_price: 7,
  budget: 100,
  starts_at_ms: 0,
  ends_at_ms: 2 * start,
  paused: false,
  sealed_at_ms: start,
  seal_id: "terms",
  sealed: adSeal,
};
const facts = (generation: number): AdFacts => ({
  ad_id: "ad_a",
  business_uuid: business,
  campaign_id: "spring",
  generation,
  hash: `h${generation}`,
  countries: ["US"],
  subdivisions: [],
  keywords: ["tea"],
  allow_repeats: false,
  sealed: adSeal,
  published_at_ms: start,
  state: "live",
});
const assign = (version: number) =>
  campaign.send({
    type: "ad.assign",
    ad_id: "ad_a",
    seal_id: `s${version}`,
    sealed_at_ms: start + version,
    hash: `h${version}`,
  });
const publish = (version: number, generation = version) =>
  campaign.send({ type: "ad.publish", facts: facts(generation), seal_id: `s${version}`, leaf: "leaf" });
const remove = (state: "withdrawn" | "deleted", at: number) =>
  campaign.send({ type: "ad.remove", ad_id: "ad_a", state, sealed_at_ms: start + at, leaf: "leaf" });
const stateNow = () => campaign.send({ type: "ads.list", after: "" })[0];
const purges = () => campaign.effects.filter((each) => each.kind === "activity" && each.name === "purgeAd");

describe("a creative", () => {
  it("that was replaced does not return when it is sent again", () => {
    assign(1);
    publish(1);
    expect(assign(2)).toMatchObject({ status: "assigned", generation: 2 });
    publish(2);
    expect(assign(1)).toEqual({ status: "superseded" });
    expect(assign(2)).toMatchObject({ status: "assigned", generation: 2 });
    expect(stateNow()).toMatchObject({ generation: 2, state: "live" });
  });

  it("that was withdrawn returns with a later one alone", () => {
    assign(1);
    publish(1);
    remove("withdrawn", 3);
    expect(assign(1)).toEqual({ status: "superseded" });
    expect(assign(2)).toEqual({ status: "superseded" });
    expect(assign(4)).toMatchObject({ status: "assigned", generation: 2 });
    expect(publish(4, 2)).toEqual({ status: "done" });
    expect(remove("withdrawn", 3)).toEqual({ status: "superseded" });
    expect(stateNow()).toMatchObject({ generation: 2, state: "live" });
  });

  it("that is being published while the ad is withdrawn is not served", () => {
    assign(1);
    publish(1);
    assign(2);
    expect(remove("withdrawn", 3)).toEqual({ status: "done", state: "withdrawn" });
    expect(publish(2)).toEqual({ status: "superseded" });
    expect(stateNow()).toMatchObject({ generation: 1, state: "withdrawn" });
  });

  it("that is being published again while the ad is withdrawn again is not served", () => {
    assign(1);
    publish(1);
    remove("withdrawn", 2);
    assign(3);
    expect(remove("withdrawn", 4)).toEqual({ status: "done", state: "withdrawn" });
    expect(publish(3, 2)).toEqual({ status: "superseded" });
    expect(stateNow()).toMatchObject({ generation: 1, state: "withdrawn" });
  });

  it.each(["withdrawn", "deleted"] as const)(
    "that is being published first while it is %s is not served",
    (state) => {
      assign(1);
      expect(remove(state, 2)).toEqual({ status: "done", state });
      expect(publish(1)).toEqual({ status: "superseded" });
      expect(stateNow()).toBeUndefined();
      expect(purges()).toHaveLength(state === "deleted" ? 2 : 0);
      expect(assign(3)).toMatchObject(state === "deleted" ? { status: "deleted" } : { generation: 2 });
    },
  );

  it("that is being published while the ad is deleted is purged once more", () => {
    assign(1);
    publish(1);
    assign(2);
    expect(remove("deleted", 3)).toEqual({ status: "done", state: "deleted" });
    const before = purges().length;
    expect(publish(2)).toEqual({ status: "superseded" });
    expect(stateNow()).toMatchObject({ state: "deleted" });
    expect(purges().slice(before)).toMatchObject([
      { params: { ad_id: "ad_a", versions: [{ generation: 1 }, { generation: 2 }] } },
    ]);
  });

  it("that is deleted is not published by what was published before", () => {
    assign(1);
    publish(1);
    remove("deleted", 2);
    expect(assign(1)).toEqual({ status: "deleted" });
    expect(assign(3)).toEqual({ status: "deleted" });
  });

  it("that is deleted is not said to be withdrawn, and one that is withdrawn is told to the log once", () => {
    assign(1);
    remove("withdrawn", 2);
    const before = campaign.effects.length;
    expect(remove("withdrawn", 2)).toEqual({ status: "done", state: "withdrawn" });
    expect(campaign.effects).toHaveLength(before);
    remove("deleted", 3);
    expect(remove("withdrawn", 2)).toEqual({ status: "done", state: "deleted" });
  });
});

describe("a campaign", () => {
  const assignAd = (ad_id: string, seal_id: string, at: number) =>
    campaign.send({ type: "ad.assign", ad_id, seal_id, sealed_at_ms: start + at, hash: "h" });

  it("takes a thousand ads, and no more", () => {
    for (let n = 1; n < campaignAdsMax; n += 1) assignAd(`ad_${n}`, `s${n}`, 1);
    expect(assignAd("ad_1000", "s1000", 1)).toMatchObject({ status: "assigned" });
    expect(assignAd("ad_1001", "s1001", 1)).toEqual({ status: "too_many" });
    expect(assignAd("ad_7", "later", 2)).toMatchObject({ status: "assigned", generation: 2 });
    expect(campaign.send({ type: "campaign.read" })).toMatchObject({ ads: 1_000 });
  });

  it("takes two hundred versions of an ad, and no more", () => {
    for (let version = 1; version < 200; version += 1) assign(version);
    expect(assign(200)).toMatchObject({ status: "assigned", generation: 200 });
    expect(assign(201)).toEqual({ status: "too_many" });
    expect(assign(200)).toMatchObject({ status: "assigned", generation: 200 });
  });
});

describe("terms", () => {
  it("are replaced only by those that were sealed later", () => {
    const send = (seal_id: string, at: number, paused: boolean) =>
      campaign.send({
        type: "campaign.accept",
        terms: { ...terms, seal_id, paused, sealed_at_ms: start + at },
      });
    expect(send("same moment", 0, true)).toEqual({ status: "superseded" });
    expect(send("later", 1, true)).toMatchObject({ status: "accepted", report: { state: "paused" } });
    expect(send("terms", 0, false)).toEqual({ status: "superseded" });
  });
});
