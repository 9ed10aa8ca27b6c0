// The ads that may be served, as one node knows them: all of them, in memory, as the register's feed delivers them.
//   AB1. Of an ad or a campaign, the entry with the highest change counts; one that is delivered again changes nothing.
//   AB2. A keyword and a country find exactly the live ads that have both. Memory is bounded by the number of ads and keywords, and
//        not by how many countries each is for; of an ad that is removed, only its last change is kept.

import type { AdFacts, CampaignFacts } from "../actors/messages/ads.ts";
import type { RegisterEntry } from "../storage/register-store.ts";

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

export interface AdBook {
  put(entry: RegisterEntry): void;
  /** The ads of running campaigns that match, in no particular order. */
  find(query: AdQuery): readonly FoundAd[];
  /** Number of live ads. */
  readonly size: number;
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

export function createAdBook(): AdBook {
  /** Listed is null for an ad that is not live. */
  const ads = new Map<string, { readonly listed: Listed | null; readonly change: number }>();
  const campaigns = new Map<string, Campaign>();
  const byKeyword = new Map<string, Set<Listed>>();
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
      for (const keyword of known.listed.ad.keywords) removeFrom(byKeyword, keyword, known.listed);
      size -= 1;
    }
    const campaign = campaignOf(`${facts.business_uuid}/${facts.campaign_id}`);
    const listed = facts.state === "live" ? { ad: facts, campaign } : null;
    ads.set(facts.ad_id, { listed, change });
    if (listed === null) return;
    for (const keyword of facts.keywords) addTo(byKeyword, keyword, listed);
    size += 1;
  };
  return {
    get size() {
      return size;
    },
    put: ({ table, key, change, body }) => {
      if (table === "ad") putAd(JSON.parse(body) as AdFacts, change);
      if (table !== "campaign") return;
      const campaign = campaignOf(key);
      if (campaign.change >= change) return;
      campaign.facts = JSON.parse(body) as CampaignFacts;
      campaign.change = change;
    },
    find: (query) => {
      const found = new Map<Listed, { ad: AdFacts; campaign: CampaignFacts; matches: number }>();
      for (const keyword of new Set(query.keywords))
        for (const listed of byKeyword.get(keyword) ?? []) {
          const known = found.get(listed);
          const campaign = listed.campaign.facts;
          if (known !== undefined) known.matches += 1;
          else if (campaign !== null && isRunning(campaign, query.nowMs) && isIn(listed.ad, query))
            found.set(listed, { ad: listed.ad, campaign, matches: 1 });
        }
      return [...found.values()];
    },
  };
}

function isRunning({ state, starts_at_ms, ends_at_ms }: CampaignFacts, nowMs: number): boolean {
  return state === "running" && starts_at_ms <= nowMs && nowMs < ends_at_ms;
}

/** An ad for parts of a country is for nobody whose part is not named. */
function isIn(
  { countries, subdivisions }: AdFacts,
  { country, subdivision }: Pick<AdQuery, "country" | "subdivision">,
): boolean {
  if (!countries.includes(country)) return false;
  if (subdivisions.length === 0) return true;
  const named = subdivisions.filter((each) => each.startsWith(`${country}-`));
  return named.length === 0 || (subdivision !== null && named.includes(subdivision));
}

function addTo(byKeyword: Map<string, Set<Listed>>, keyword: string, ad: Listed): void {
  const found = byKeyword.get(keyword);
  if (found === undefined) byKeyword.set(keyword, new Set([ad]));
  else found.add(ad);
}

function removeFrom(byKeyword: Map<string, Set<Listed>>, keyword: string, ad: Listed): void {
  const found = byKeyword.get(keyword);
  found?.delete(ad);
  if (found?.size === 0) byKeyword.delete(keyword);
}
