// The ads that may be served, as one node knows them: all of them, in memory, as the register's feed delivers them.
//   AB1. Of an ad or a campaign, the entry with the highest change counts; one that is delivered again changes nothing.
//   AB2. A keyword and a country find exactly the live ads that have both. Memory is bounded by the number of ads and keywords, and
//        not by how many countries each is for; of an ad that is removed, only its last change is kept.
//        Ads of one campaign for the same places are kept together, because a query takes all of them or none.
//   AB3. A product and a country find exactly the live sponsorships of running campaigns that have both. Of several of one product, the
//        one that was published first counts, so every node names the same. What is sponsored in a country is found without a look at what
//        is sponsored elsewhere or by campaigns that do not run: sponsorships are kept by their campaign, and campaigns by their countries.

import type { AdFacts, CampaignFacts } from "../../actors/messages/ads.ts";
import { noteWork } from "../../std/work.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";

export interface AdQuery {
  readonly country: string;
  /** Null for the whole country. */
  readonly subdivision: string | null;
  /** Folded. */
  readonly keywords: readonly string[];
  readonly nowMs: number;
}

export interface FoundAd {
  readonly ad: AdFacts;
  readonly campaign: CampaignFacts;
  /** How many of the keywords it has. */
  readonly matches: number;
}

/** Ads of one campaign that match alike. */
export interface FoundOffer extends Omit<FoundAd, "ad"> {
  readonly ads: Iterable<AdFacts>;
}

export interface SponsoredQuery {
  readonly country: string;
  readonly nowMs: number;
}

export interface Sponsorship {
  readonly ad: AdFacts;
  readonly campaign: CampaignFacts;
}

export interface AdBook {
  /** What sponsors this product there now; null if nothing does. */
  sponsorshipOf(recordId: string, query: SponsoredQuery): Sponsorship | null;
  /** Everything that is sponsored there now, by record id: takes as long as there is (AB3). */
  sponsored(query: SponsoredQuery): ReadonlyMap<string, Sponsorship>;
  /** The ads of running campaigns that match, in no particular order. */
  find(query: AdQuery): readonly FoundOffer[];
  /** The live ad or sponsored product with this id, and its campaign; null if this node knows none, or not its campaign. */
  of(adId: string): Sponsorship | null;
  /** All live ads and sponsored products, whatever has become of their campaigns. */
  live(): readonly AdFacts[];
  /** Number of live ads and sponsored products. */
  readonly size: number;
}

/** The book, for what follows the register. */
export interface FollowedAds extends AdBook {
  put(entry: RegisterEntry): void;
}

interface Campaign {
  /** Null until it is delivered. */
  facts: CampaignFacts | null;
  change: number;
}

interface Listed {
  readonly ad: AdFacts;
  readonly campaign: Campaign;
}

/** The ads of one campaign that have a keyword and are for the same places. */
interface Offer {
  readonly campaign: Campaign;
  readonly places: Pick<AdFacts, "countries" | "subdivisions">;
  readonly ads: Set<AdFacts>;
}

/** Of one keyword, by {@link offerKey}. */
type Offers = Map<string, Offer>;

/** The sponsorships that are for the same countries, by their campaign. */
interface SponsoredPlaces {
  readonly countries: ReadonlySet<string>;
  readonly byCampaign: Map<Campaign, Set<Listed>>;
}

/** An empty book. */
export function createAdBook(): FollowedAds {
  /** Listed is null for an ad that is not live. */
  const ads = new Map<string, { readonly listed: Listed | null; readonly change: number }>();
  const campaigns = new Map<string, Campaign>();
  const byKeyword = new Map<string, Offers>();
  const byProduct = new Map<string, Set<Listed>>();
  const byPlaces = new Map<string, SponsoredPlaces>();
  let size = 0;
  const campaignOf = (key: string): Campaign => {
    const known = campaigns.get(key);
    if (known !== undefined) return known;
    const fresh = { facts: null, change: -1 };
    campaigns.set(key, fresh);
    return fresh;
  };
  const putAd = (facts: AdFacts, change: number): void => {
    const known = ads.get(facts.ad_id);
    if (known !== undefined && known.change >= change) return;
    if (known?.listed) {
      const { product } = known.listed.ad;
      withdraw(byKeyword, known.listed.ad);
      if (product !== undefined) {
        removeFrom(byProduct, product, known.listed);
        unsponsor(byPlaces, known.listed);
      }
      size -= 1;
    }
    const campaign = campaignOf(`${facts.business_uuid}/${facts.campaign_id}`);
    const listed = facts.state === "live" ? { ad: facts, campaign } : null;
    ads.set(facts.ad_id, { listed, change });
    if (listed === null) return;
    offer(byKeyword, listed);
    if (facts.product !== undefined) {
      addTo(byProduct, facts.product, listed);
      sponsor(byPlaces, listed);
    }
    size += 1;
  };
  return {
    get size() {
      return size;
    },
    of: (adId) => {
      const listed = ads.get(adId)?.listed ?? null;
      return listed?.campaign.facts ? { ad: listed.ad, campaign: listed.campaign.facts } : null;
    },
    live: () => [...ads.values()].flatMap(({ listed }) => (listed === null ? [] : [listed.ad])),
    put: ({ table, key, change, body }) => {
      if (table === "ad") putAd(JSON.parse(body) as AdFacts, change);
      if (table !== "campaign") return;
      const campaign = campaignOf(key);
      if (campaign.change >= change) return;
      campaign.facts = JSON.parse(body) as CampaignFacts;
      campaign.change = change;
    },
    sponsorshipOf: (recordId, query) => firstOf(byProduct.get(recordId), query),
    sponsored: (query) => findSponsored(byPlaces.values(), query),
    find: (query) => {
      const keywords = [...new Set(query.keywords)];
      const found = keywords.flatMap((keyword) => findOf(byKeyword.get(keyword), query));
      return keywords.length === 1 ? found : countMatches(found);
    },
  };
}

function findOf(offers: Offers | undefined, query: AdQuery): readonly FoundOffer[] {
  const found: FoundOffer[] = [];
  for (const { campaign, places, ads } of offers?.values() ?? []) {
    const { facts } = campaign;
    if (facts !== null && isRunning(facts, query.nowMs) && isIn(places, query))
      found.push({ campaign: facts, matches: 1, ads });
  }
  return found;
}

/** Each ad once, with the number of times that it was found. */
function countMatches(found: readonly FoundOffer[]): readonly FoundOffer[] {
  const counted = new Map<AdFacts, { readonly campaign: CampaignFacts; matches: number }>();
  for (const { campaign, ads } of found)
    for (const ad of ads) {
      const known = counted.get(ad);
      if (known === undefined) counted.set(ad, { campaign, matches: 1 });
      else known.matches += 1;
    }
  return Array.from(counted, ([ad, each]) => ({ ...each, ads: [ad] }));
}

/** See AB3. */
function findSponsored(
  places: Iterable<SponsoredPlaces>,
  { country, nowMs }: SponsoredQuery,
): ReadonlyMap<string, Sponsorship> {
  const found = new Map<string, Sponsorship>();
  for (const { countries, byCampaign } of places) {
    noteWork("value", 1);
    if (!countries.has(country)) continue;
    for (const [{ facts: campaign }, listed] of byCampaign) {
      noteWork("value", listed.size);
      if (campaign === null || !isRunning(campaign, nowMs)) continue;
      for (const { ad } of listed) {
        const known = found.get(ad.product ?? "");
        if (known === undefined || isBefore(ad, known.ad)) found.set(ad.product ?? "", { ad, campaign });
      }
    }
  }
  return found;
}

/** See AB3. */
function firstOf(
  listed: ReadonlySet<Listed> | undefined,
  { country, nowMs }: SponsoredQuery,
): Sponsorship | null {
  let first: Sponsorship | null = null;
  for (const {
    ad,
    campaign: { facts: campaign },
  } of listed ?? []) {
    if (campaign === null || !isRunning(campaign, nowMs) || !ad.countries.includes(country)) continue;
    if (first === null || isBefore(ad, first.ad)) first = { ad, campaign };
  }
  return first;
}

function isBefore(a: AdFacts, b: AdFacts): boolean {
  return a.published_at_ms === b.published_at_ms ? a.ad_id < b.ad_id : a.published_at_ms < b.published_at_ms;
}

function isRunning(
  { state, starts_at_ms, ends_at_ms, resumes_at_ms = 0 }: CampaignFacts,
  nowMs: number,
): boolean {
  return state === "running" && Math.max(starts_at_ms, resumes_at_ms) <= nowMs && nowMs < ends_at_ms;
}

/** An ad for parts of a country is for nobody whose part is not named. */
function isIn(
  { countries, subdivisions }: Offer["places"],
  { country, subdivision }: Pick<AdQuery, "country" | "subdivision">,
): boolean {
  if (!countries.includes(country)) return false;
  if (subdivisions.length === 0) return true;
  const named = subdivisions.filter((each) => each.startsWith(`${country}-`));
  return named.length === 0 || (subdivision !== null && named.includes(subdivision));
}

function offerKey({ business_uuid, campaign_id, countries, subdivisions }: AdFacts): string {
  return `${business_uuid}/${campaign_id} ${countries.join()} ${subdivisions.join()}`;
}

function offer(byKeyword: Map<string, Offers>, { ad, campaign }: Listed): void {
  const key = offerKey(ad);
  const { countries, subdivisions } = ad;
  for (const keyword of ad.keywords) {
    const offers = byKeyword.get(keyword) ?? new Map<string, Offer>();
    byKeyword.set(keyword, offers);
    const known = offers.get(key);
    if (known !== undefined) known.ads.add(ad);
    else offers.set(key, { campaign, places: { countries, subdivisions }, ads: new Set([ad]) });
  }
}

function withdraw(byKeyword: Map<string, Offers>, ad: AdFacts): void {
  const key = offerKey(ad);
  for (const keyword of ad.keywords) {
    const offers = byKeyword.get(keyword);
    const known = offers?.get(key);
    known?.ads.delete(ad);
    if (known?.ads.size === 0) offers?.delete(key);
    if (offers?.size === 0) byKeyword.delete(keyword);
  }
}

function sponsor(byPlaces: Map<string, SponsoredPlaces>, listed: Listed): void {
  const { countries } = listed.ad;
  const key = countries.join();
  const places = byPlaces.get(key) ?? { countries: new Set(countries), byCampaign: new Map() };
  byPlaces.set(key, places);
  addTo(places.byCampaign, listed.campaign, listed);
}

function unsponsor(byPlaces: Map<string, SponsoredPlaces>, listed: Listed): void {
  const key = listed.ad.countries.join();
  const places = byPlaces.get(key);
  if (places === undefined) return;
  removeFrom(places.byCampaign, listed.campaign, listed);
  if (places.byCampaign.size === 0) byPlaces.delete(key);
}

function addTo<K>(kept: Map<K, Set<Listed>>, key: K, ad: Listed): void {
  const found = kept.get(key);
  if (found === undefined) kept.set(key, new Set([ad]));
  else found.add(ad);
}

function removeFrom<K>(kept: Map<K, Set<Listed>>, key: K, ad: Listed): void {
  const found = kept.get(key);
  found?.delete(ad);
  if (found?.size === 0) kept.delete(key);
}
