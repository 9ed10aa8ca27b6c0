import { describe, expect, it } from "vitest";
import { isCampaign, parseCampaign } from "./ad-campaign.ts";
import { utf8 } from "./bytes.ts";

const campaign = {
  schema: "svc/ad_campaign/1",
  campaign_id: "spring",
  currency: "EUR",
  price: "0.25",
  budget: "500",
  starts_at: "2026-12-01T00:00:00.000Z",
  ends_at: "2027-01-01T00:00:00.000Z",
  paused: false,
};
const parsed = (changes: object) => parseCampaign(utf8(JSON.stringify({ ...campaign, ...changes })));

describe("a campaign", () => {
  it.each<readonly [string, object, number, number]>([
    ["usual amounts", {}, 250_000, 500_000_000],
    ["the least price and no budget", { price: "0.000001", budget: "0" }, 1, 0],
    [
      "the greatest amounts",
      { price: "999999999.999999", budget: "999999999.999999" },
      999_999_999_999_999,
      999_999_999_999_999,
    ],
    ["the longest id", { campaign_id: `9${"-".repeat(63)}` }, 250_000, 500_000_000],
    ["a millisecond to run", { ends_at: "2026-12-01T00:00:00.001Z" }, 250_000, 500_000_000],
  ])("is read with %s, in exact millionths", (_what, changes, price, budget) => {
    expect(parsed(changes)).toEqual({
      ok: true,
      value: { record: { ...campaign, ...changes }, price, budget },
    });
  });

  it.each<readonly [string, object, string]>([
    ["seven decimals", { price: "0.0000001" }, "/price"],
    ["ten digits", { budget: "1000000000" }, "/budget"],
    ["a leading zero", { budget: "01" }, "/budget"],
    ["an exponent", { price: "1e3" }, "/price"],
    ["a negative budget", { budget: "-1" }, "/budget"],
    ["a price of nothing", { price: "0.000000" }, "/price"],
    ["an end at its start", { ends_at: campaign.starts_at }, "/ends_at"],
    ["an id of 65 characters", { campaign_id: "a".repeat(65) }, "/campaign_id"],
    ["an id that begins with a hyphen", { campaign_id: "-a" }, "/campaign_id"],
    ["a currency that does not exist", { currency: "EUX" }, "/currency"],
    ["a day as its start", { starts_at: "2026-12-01" }, "/starts_at"],
    ["no word about a pause", { paused: undefined }, "/paused"],
    ["a member more", { colour: "red" }, "/colour"],
  ])("is refused with %s, and told where", (_what, changes, pointer) => {
    expect(parsed(changes)).toMatchObject({
      ok: false,
      code: "request_invalid",
      detail: expect.stringMatching(`^${pointer}: `),
    });
  });

  it("is known by its schema alone, in strict JSON", () => {
    expect(isCampaign(utf8('{"schema":"svc/ad_campaign/1"}'))).toBe(true);
    for (const text of ['{"schema":"svc/ads/1"}', "[]", "{", '{"schema":"svc/ad_campaign/1","a":1,"a":2}'])
      expect(isCampaign(utf8(text))).toBe(false);
    expect(parseCampaign(new Uint8Array([0xff]))).toMatchObject({ detail: "The campaign is not UTF-8." });
  });
});
