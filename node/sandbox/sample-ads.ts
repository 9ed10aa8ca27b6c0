// The ads and sponsored products of the sample businesses: a campaign each, with subjects that a newcomer would ask for.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import { sampleBusiness } from "./businesses.ts";
import type { Calendar, SampleBusiness } from "./sample.ts";
import samples from "./samples.json" with { type: "json" };

export interface SampleCampaign {
  readonly business: SampleBusiness;
  readonly price: string;
  readonly budget: string;
  readonly ads: readonly SampleAd[];
  /** Products that it sponsors, by the business's own ids. */
  readonly products?: readonly { readonly id: string; readonly countries: readonly string[] }[];
}

export interface SampleAd {
  readonly id: string;
  readonly countries: readonly string[];
  readonly keywords: readonly string[];
  readonly headline: string;
  readonly body: string;
  readonly url: string;
  /** A plain picture of this colour (red, green, blue); null for an ad of words. */
  readonly colour: readonly [number, number, number] | null;
}

export const sampleCampaignId = "sandbox";

export const sampleCampaigns: readonly SampleCampaign[] = (
  samples.campaigns as unknown as readonly (Omit<SampleCampaign, "business"> & {
    readonly business: string;
  })[]
).map((campaign) => ({ ...campaign, business: sampleBusiness(campaign.business) }));

/** `currency` is that in which the deployment pays for ads. */
export function campaignDocument(
  { price, budget }: SampleCampaign,
  { calendar, currency }: { readonly calendar: Calendar; readonly currency: string },
): JsonObject {
  return {
    ...{ schema: "svc/ad_campaign/1", campaign_id: sampleCampaignId, currency, price, budget },
    ...{ starts_at: calendar(0, "00:00"), ends_at: calendar(3_650), paused: false },
  };
}

export function productDocument(record_id: string, countries: readonly string[]): JsonObject {
  return { schema: "svc/ad_product/1", campaign_id: sampleCampaignId, record_id, countries };
}

export interface StoredPicture {
  readonly sha256: string;
  readonly width: number;
  readonly height: number;
}

export function adDocument(
  { id, countries, keywords, headline, body, url }: SampleAd,
  picture: StoredPicture | null,
): JsonObject {
  const images =
    picture === null ? [] : [{ ...picture, media_type: "image/png", alt: "A plain picture of the sandbox." }];
  return {
    ...{ schema: "svc/ads/1", language: "en", business_ad_id: id, campaign_id: sampleCampaignId },
    ...{ countries, keywords, headline, body, call_to_action: "Have a look" },
    ...{ display_domain: new URL(url).host, destination_url: url, images },
  };
}
