import { describe, expect, it } from "vitest";
import { adSeal } from "../../actors/facts.fixture.ts";
import type { AdFacts, CampaignFacts } from "../../actors/messages/ads.ts";
import { sha256, toHex, utf8 } from "../../protocol/bytes.ts";
import type { FoundAd, FoundOffer } from "../register/ad-book.ts";
import { type AdSort, orderAds, parseAdSort } from "./ad-pool.ts";

const retrievalId = "ret_0190000000000123456789abcdef0123";

/** Two hundred ads at ten prices. */
const found: readonly FoundAd[] = Array.from({ length: 200 }, (_, at) => {
  const ad: AdFacts = {
    ad_id: `ad_${String((at * 37) % 200).padStart(3, "0")}`,
    business_uuid: "b",
    campaign_id: "c",
    generation: 1,
    hash: "",
    countries: ["US"],
    subdivisions: [],
    keywords: ["shoes"],
    allow_repeats: false,
    sealed: adSeal,
    published_at_ms: (at % 3) * 1_000,
    state: "live",
  };
  const campaign: CampaignFacts = {
    business_uuid: "b",
    campaign_id: "c",
    currency: "EUR",
    net_price: (at * 7) % 10,
    starts_at_ms: 0,
    ends_at_ms: 1,
    state: "running",
    sealed: adSeal,
  };
  return { ad, campaign, matches: (at % 2) + 1 };
});

/** As the book finds them: ads of one campaign that match alike are together. */
const offers: readonly FoundOffer[] = [
  ...Map.groupBy(found, ({ campaign, matches }) => `${campaign.net_price} ${matches}`).values(),
].map((group) => ({
  campaign: group[0]?.campaign as CampaignFacts,
  matches: group[0]?.matches ?? 0,
  ads: group.map(({ ad }) => ad),
}));

const by = (text: string): readonly AdSort[] =>
  text.split(" ").map((each) => {
    const [key, direction] = each.split(":");
    return { key, direction } as AdSort;
  });
const idsOf = (ads: Iterable<FoundAd>) => [...ads].map(({ ad }) => ad.ad_id);
const randomOf = (id: string) => toHex(sha256(utf8(`${retrievalId}\n${id}`)));
const twoDigits = (value: number) => String(value).padStart(2, "0");

describe("the order of ads", () => {
  it.each<readonly [string, (each: FoundAd) => string]>([
    ["random:asc", ({ ad }) => randomOf(ad.ad_id)],
    ["net_price:asc random:asc", ({ ad, campaign }) => twoDigits(campaign.net_price) + randomOf(ad.ad_id)],
    ["net_price:desc", ({ ad, campaign }) => twoDigits(99 - campaign.net_price) + ad.ad_id],
    [
      "published_at:asc keyword_matches:desc random:asc",
      ({ ad, matches }) => `${ad.published_at_ms / 1_000}${9 - matches}${randomOf(ad.ad_id)}`,
    ],
    // A key after `random` tells nothing apart.
    ["random:asc net_price:desc", ({ ad }) => randomOf(ad.ad_id)],
  ])("is that of %s, then that of ids", (sorts, keyOf) => {
    const expected = found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    expect(idsOf(orderAds(offers, { sorts: by(sorts), retrievalId, sha256 }))).toEqual(idsOf(expected));
  });

  it("hashes only the ads of which some are taken (AO3)", () => {
    let hashed = 0;
    const counting = (bytes: Uint8Array): Uint8Array => {
      hashed += 1;
      return sha256(bytes);
    };
    const sorts = by("net_price:desc random:asc");
    const ordered = orderAds(offers, { sorts, retrievalId, sha256: counting });
    for (let taken = 0; taken < 20; taken += 1) expect(ordered.next().done).toBe(false);
    expect(hashed).toBe(20);
  });
});

describe("the sort of a pool", () => {
  it("has up to three keys, each with its direction", () => {
    expect(parseAdSort("net_price:desc,keyword_matches:asc,random:asc")).toEqual(
      by("net_price:desc keyword_matches:asc random:asc"),
    );
  });

  it.each<readonly [string | undefined, string, string, string | undefined]>([
    [undefined, "sort_required", "A pool names its order.", undefined],
    ["", "sort_required", "A pool names its order.", undefined],
    ["net_prize:desc", "sort_not_allowed", 'Ads have no sort key "net_prize".', "net_price:asc"],
    ["net_price", "sort_not_allowed", "net_price needs a direction", undefined],
    ["net_price:down", "sort_not_allowed", "net_price needs a direction", undefined],
    ["net_price:asc:asc", "sort_not_allowed", "net_price needs a direction", undefined],
    ["random:asc, net_price:asc", "sort_not_allowed", 'Ads have no sort key " net_price".', "net_price:asc"],
    ["random:asc,random:desc", "sort_not_allowed", "random is named twice", undefined],
    [
      "random:asc,net_price:asc,published_at:asc,keyword_matches:asc",
      "sort_not_allowed",
      "at most 3 sort keys",
      undefined,
    ],
  ])("%j is refused with what would be right", (text, code, said, suggestion) => {
    const refused = parseAdSort(text);
    expect(refused).toMatchObject({
      kind: "problem",
      problem: {
        code,
        pointer: "/sort_by",
        detail: expect.stringContaining(said),
        allowed: ["net_price", "published_at", "keyword_matches", "random"],
      },
    });
    expect("problem" in refused ? refused.problem.suggestion : "none").toBe(suggestion);
  });
});
