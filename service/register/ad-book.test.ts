import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adSeal } from "../../actors/facts.fixture.ts";
import type { AdFacts, CampaignFacts } from "../../actors/messages/ads.ts";
import { observeWork } from "../../std/work.ts";
import { createAdBook } from "./ad-book.ts";

const business_uuid = "00000000-0000-4000-8000-00000000000b";
const ad = (changes: Partial<AdFacts> = {}): AdFacts => ({
  ad_id: "ad_a",
  business_uuid,
  campaign_id: "spring",
  generation: 1,
  hash: "h",
  countries: ["US", "GB"],
  subdivisions: [],
  keywords: ["tea", "mugs"],
  allow_repeats: false,
  sealed: adSeal,
  published_at_ms: 1,
  state: "live",
  ...changes,
});
const campaign: CampaignFacts = {
  business_uuid,
  campaign_id: "spring",
  currency: "EUR",
  net_price: 7,
  starts_at_ms: 0,
  ends_at_ms: 100,
  state: "running",
  sealed: adSeal,
};

function openBook() {
  const book = createAdBook();
  const put = (facts: AdFacts, change: number) =>
    book.put({
      table: "ad",
      partition: business_uuid,
      key: facts.ad_id,
      change,
      body: JSON.stringify(facts),
    });
  const key = `${business_uuid}/spring`;
  book.put({ table: "campaign", partition: business_uuid, key, change: 1, body: JSON.stringify(campaign) });
  const idsOf = (country: string, ...keywords: string[]) =>
    book
      .find({ country, subdivision: null, keywords, nowMs: 50 })
      .flatMap(({ ads, matches }) => Array.from(ads, ({ ad_id }) => [ad_id, matches]));
  return { book, put, idsOf };
}

describe("the ads of a node", () => {
  it("are found by a keyword and a country of theirs", () => {
    const { put, idsOf } = openBook();
    put(ad(), 1);
    put(ad({ ad_id: "ad_b", countries: ["FR"] }), 2);
    expect(idsOf("US", "tea", "mugs")).toEqual([["ad_a", 2]]);
    expect(idsOf("GB", "tea")).toEqual([["ad_a", 1]]);
    expect(idsOf("FR", "tea")).toEqual([["ad_b", 1]]);
    expect(idsOf("DE", "tea")).toEqual([]);
  });

  it("are forgotten once they are removed, but not that they are", () => {
    const { book, put, idsOf } = openBook();
    put(ad(), 1);
    put(ad({ state: "withdrawn" }), 3);
    put(ad(), 2);
    expect([idsOf("US", "tea"), book.size]).toEqual([[], 0]);
    put(ad({ keywords: ["cups"] }), 4);
    expect([idsOf("US", "tea"), idsOf("US", "cups")]).toEqual([[], [["ad_a", 1]]]);
  });

  it("take room for their keywords, however many countries they are for", () => {
    const countries = Array.from(
      { length: 200 },
      (_, at) => `${String.fromCharCode(65 + (at % 26))}${String.fromCharCode(65 + Math.floor(at / 26))}`,
    );
    const { put, idsOf } = openBook();
    const keywords = (id: number) => Array.from({ length: 50 }, (_, at) => `tea ${id} ${at}`);
    const before = heapUsed();
    for (let id = 0; id < 200; id += 1)
      put(ad({ ad_id: `ad_${id}`, countries, keywords: keywords(id) }), id + 1);
    expect((heapUsed() - before) / 200).toBeLessThan(100_000);
    expect(idsOf("AA", "tea 7 3")).toEqual([["ad_7", 1]]);
  });
});

describe("the sponsored products of a node", () => {
  const product = (changes: Partial<AdFacts> = {}) =>
    ad({ ad_id: "ad_p", keywords: [], product: "svc_p", ...changes });
  const sponsored = (book: ReturnType<typeof createAdBook>, country = "US", nowMs = 50) =>
    [...book.sponsored({ country, nowMs })].map(([id, { ad: facts }]) => {
      expect(book.sponsorshipOf(id, { country, nowMs })?.ad).toEqual(facts);
      return [id, facts.ad_id];
    });

  it("are those of running campaigns in their countries, and are in no pool", () => {
    const { book, put } = openBook();
    put(product(), 1);
    put(ad(), 2);
    expect(sponsored(book)).toEqual([["svc_p", "ad_p"]]);
    expect([sponsored(book, "FR"), sponsored(book, "US", 100)]).toEqual([[], []]);
    expect(book.sponsorshipOf("svc_p", { country: "FR", nowMs: 50 })).toBe(null);
    expect(book.sponsorshipOf("svc_q", { country: "US", nowMs: 50 })).toBe(null);
    expect(book.size).toBe(2);
    put(product({ state: "withdrawn" }), 3);
    expect([sponsored(book), book.size]).toEqual([[], 1]);
    const key = `${business_uuid}/spring`;
    put(product(), 4);
    const paused = JSON.stringify({ ...campaign, state: "paused" });
    book.put({ table: "campaign", partition: business_uuid, key, change: 2, body: paused });
    expect(sponsored(book)).toEqual([]);
  });

  it("are sponsored by the sponsorship that was published first, in whatever order they come (AB3)", () => {
    const all = [product({ ad_id: "ad_q", published_at_ms: 2 }), product({ ad_id: "ad_r" }), product()];
    for (const order of [all, all.toReversed()]) {
      const { book, put } = openBook();
      order.forEach((each, at) => void put(each, at));
      expect(sponsored(book)).toEqual([["svc_p", "ad_p"]]);
    }
  });

  it("are found together exactly as they are found one by one, after any history", () => {
    const places = fc.constantFrom(["US"], ["GB"], ["US", "GB"], ["GB", "US"]);
    const step = fc.record({
      ad_id: fc.constantFrom("ad_1", "ad_2", "ad_3", "ad_4"),
      product: fc.constantFrom("svc_p", "svc_q"),
      countries: places,
      campaign_id: fc.constantFrom("spring", "unknown"),
      published_at_ms: fc.constantFrom(1, 2),
      state: fc.constantFrom("live" as const, "withdrawn" as const),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { book, put } = openBook();
        for (const [at, each] of steps.entries()) put(product(each), at);
        for (const country of ["US", "GB", "FR"]) {
          const single = ["svc_p", "svc_q"].filter((id) => book.sponsorshipOf(id, { country, nowMs: 50 }));
          expect(
            sponsored(book, country)
              .map(([id]) => id)
              .sort(),
          ).toEqual(single);
        }
      }),
    );
  });

  it("cost a search nothing where they are for another country (AB3)", () => {
    const { book, put } = openBook();
    for (let at = 0; at < 20_000; at += 1)
      put(product({ ad_id: `ad_${at}`, product: `svc_${at}`, countries: at < 10 ? ["US"] : ["FR"] }), at);
    const lookedAt = (country: string, count: number): number => {
      let looks = 0;
      observeWork((kind, times) => {
        if (kind === "value") looks += times;
      });
      expect(book.sponsored({ country, nowMs: 50 }).size).toBe(count);
      observeWork(null);
      return looks;
    };
    expect(lookedAt("FR", 19_990)).toBeGreaterThan(19_990);
    expect(lookedAt("US", 10)).toBeLessThan(20);
  });
});

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
