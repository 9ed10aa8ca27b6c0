// The ads and sponsored products of the sample businesses: a campaign each, with subjects that a newcomer would ask for.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import { bakery } from "./bakery.ts";
import { bookshop } from "./bookshop.ts";
import { diamondMerchant } from "./diamond-merchant.ts";
import type { Calendar, SampleBusiness } from "./sample.ts";

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

const lindqvist = "https://lindqvist-rowe.example";
const saltmarsh = "https://saltmarsh-bakery.example";
const harbourLane = "https://harbour-lane-books.example";

export const sampleCampaigns: readonly SampleCampaign[] = [
  {
    business: diamondMerchant,
    price: "0.25",
    budget: "100",
    ads: [
      {
        id: "rings",
        countries: ["US", "GB", "CA"],
        keywords: ["diamonds", "engagement rings"],
        headline: "Choose the stone first",
        body: "Loose diamonds with their carat, cut, colour and clarity, to be set by your own jeweller.",
        url: `${lindqvist}/stones`,
        colour: [208, 224, 236],
      },
      {
        id: "viewings",
        countries: ["US"],
        keywords: ["diamonds", "jewellery"],
        headline: "See it by daylight",
        body: "An appointment at the showroom in Portland costs nothing and obliges to nothing.",
        url: `${lindqvist}/appointments`,
        colour: null,
      },
    ],
  },
  {
    business: bakery,
    price: "0.05",
    budget: "20",
    ads: [
      {
        id: "classes",
        countries: ["GB"],
        keywords: ["baking", "sourdough", "weekend classes"],
        headline: "Bake a loaf of your own",
        body: "Four hours at the ovens, and a jar of starter to take home.",
        url: `${saltmarsh}/classes`,
        colour: [196, 148, 92],
      },
    ],
    products: [{ id: "loaf-rye", countries: ["GB"] }],
  },
  {
    business: bookshop,
    price: "0.08",
    budget: "20",
    ads: [
      {
        id: "maps",
        countries: ["CA"],
        keywords: ["books", "old maps"],
        headline: "Charts, maps and forty knots",
        body: "A shop by the harbour that sends parcels to every province.",
        url: `${harbourLane}/sea`,
        colour: [52, 92, 120],
      },
    ],
  },
];

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
