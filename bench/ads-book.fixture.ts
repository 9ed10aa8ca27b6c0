// In the process of a running node (serve.ts): ads to fill its book with. Every advertiser has one campaign.

import { setTimeout as delay } from "node:timers/promises";
import { send } from "../api/surfaces.fixture.ts";
import { newAdvertiser } from "../stories/ads/ads.fixture.ts";
import { running } from "./serve.ts";
import { inLanes } from "./work.ts";

declare module "./child.ts" {
  interface Modules {
    readonly "ads-book.fixture.ts": { readonly publishAds: typeof publishAds };
  }
}

/** So many campaigns of so many ads each, which name these keywords. */
export interface AdsBook {
  readonly campaigns: number;
  readonly adsOfCampaign: number;
  readonly keywords: readonly string[];
}

const pollMs = 5;
const atOnce = 16;
/** In millionths; so many different prices occur. */
const pricesCount = 20;

/** Publishes them through the service. Resolves once all of them are in the node's book. */
export async function publishAds(book: AdsBook): Promise<void> {
  const { register } = running().services;
  const before = register.ads.size;
  await inLanes(atOnce, book.campaigns, (n) => publishCampaign(book, n));
  // The last ads are in the register a moment after their campaign has them.
  while (register.ads.size - before < book.campaigns * book.adsOfCampaign) {
    await delay(pollMs);
    await register.refresh();
  }
}

async function publishCampaign({ adsOfCampaign, keywords }: AdsBook, n: number): Promise<void> {
  const advertiser = await newAdvertiser({ running: running() }, async (...request) => {
    const answer = await send(...request);
    if (answer.status >= 300) throw new Error(`an ad: ${answer.text}`);
    return answer;
  });
  const price = `0.${String(10 + (n % pricesCount)).padStart(3, "0")}`;
  await advertiser.campaign({ price, budget: "100000" });
  for (let at = n * adsOfCampaign; at < (n + 1) * adsOfCampaign; at += 1) {
    // Three, so that each keyword has about as many ads.
    const named = [at, at + 17 + (n % 7), at + 31 + (n % 5)];
    await advertiser.ad(`ad-${at}`, { keywords: named.map((each) => keywords[each % keywords.length]) });
  }
}
