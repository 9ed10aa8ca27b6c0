// The requests and answers of POST /v1/ads/pool, /render and /click, and of campaigns and creatives.

import { aiPolicyRecord } from "../ai-policy.ts";
import { parseBase64 } from "../bytes.ts";
import { envelopeShape } from "../dsse.ts";
import { isDecimal } from "../identifiers.ts";
import { imageMediaTypes } from "../image-type.ts";
import {
  imageBytesMax,
  imageSideMax,
  keywordLengthMax,
  poolAdsMax,
  poolKeywordsMax,
  recordCharactersMax,
} from "../limits.ts";
import type { Field } from "../records/fields.ts";
import { fieldShape, recordTypes } from "../records/parse-record.ts";
import {
  anyText,
  described,
  either,
  hash,
  integer,
  list,
  listOf,
  literal,
  matching,
  named,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
  versionNumber,
} from "../shape.ts";
import { unsigned } from "../unsigned-members.ts";
import { recordId } from "./push.ts";
import { adRow } from "./retrieval.ts";

// An ad as a pool serves it (specification, «Ad pool item»). Everything that it takes to verify the ad is in the item; what is
// the service's own (the label, the price, the token) is not.

/** Maximum number of earlier issuances of the advertiser's certificate in an item. */
const earlierCertificatesMax = 100;

/** The exact bytes of a record, in base64. */
export const recordBase64 = matching(
  (value) => value.length <= recordCharactersMax && parseBase64(value) !== null,
  `base64 of the record's exact bytes, of at most ${recordCharactersMax} characters`,
  { contentEncoding: "base64", maxLength: recordCharactersMax },
);

const pixels = integer({ min: 1, max: imageSideMax });
const shownImage = object({
  sha256: hash,
  media_type: oneOf(["image/png", "image/jpeg", "image/webp"]),
  width: pixels,
  height: pixels,
  alt: text(200),
  url: unsigned("ad_item", "/creative/images/*/url", {
    shape: text(2_048),
    says: "Where a server can fetch the picture for 15 minutes. It is not to be given to readers.",
  }),
});

const creative = described(
  object({
    headline: of("headline"),
    body: of("body"),
    call_to_action: described(
      nullable(fieldShape(required("call_to_action"))),
      "Null where the ad has none.",
    ),
    display_domain: of("display_domain"),
    destination_url: of("destination_url"),
    images: list(shownImage, { min: 0, max: 4 }),
  }),
  "What is shown: every text and link is the sealed one.",
);

export const adItem = namedObject("AdItem", {
  ad_id: recordId,
  creative,
  label: described(
    object({ text: literal("Sponsored"), advertiser: text(256) }),
    "What is shown beside the ad; `advertiser` is the legal name.",
  ),
  net_price: unsigned("ad_item", "/net_price", {
    shape: object({
      amount: matching(isDecimal, "a decimal string such as 0.25"),
      currency: matching(/^[A-Z]{3}$/, "an ISO 4217 code"),
    }),
    says: "What showing the ad earns.",
  }),
  keyword_matches: unsigned("ad_item", "/keyword_matches", {
    shape: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    says: "How many of the keywords asked for are the ad's.",
  }),
  render_token: unsigned("ad_item", "/render_token", {
    shape: text(2_048),
    says: "Confirms within ten minutes that the ad was shown.",
  }),
  row: described(adRow, "The signed row, with the advertiser's seal."),
  record_base64: described(recordBase64, "The exact bytes that the advertiser sealed."),
  sidecar: described(envelopeShape, "What the service states about this version of the ad."),
  ai_policy: described(
    object({
      version: described(
        versionNumber,
        "0 while no AI policy has been sealed; record and seal are then null.",
      ),
      record: nullable(aiPolicyRecord),
      seal: nullable(envelopeShape),
    }),
    "The advertiser's AI policy in force.",
  ),
  certificate: described(envelopeShape, "The advertiser's certificate in force."),
  certificate_history: described(
    optional(list(envelopeShape, { min: 1, max: earlierCertificatesMax })),
    "Earlier issuances, newest first, back to the oldest that a seal in the item names; absent where all of them name the one in force.",
  ),
  keys: described(envelopeShape, "The advertiser's published keys: `signed` of their read."),
});
export type AdItem = Of<typeof adItem>;

function of(name: string) {
  return fieldShape(required(name));
}

function required(name: string): Field {
  const field = recordTypes.ads.members[name];
  if (field === undefined) throw new Error(`An ad has no ${name}.`);
  const { optional: _, ...always } = field;
  return always;
}

// Pools, renders, clicks, campaigns and creatives.

const country = matching(/^[A-Z]{2}$/, "an ISO 3166-1 country code such as US");
const subdivision = matching(/^[A-Z]{2}-[A-Z0-9]{1,3}$/, "an ISO 3166-2 code such as US-CA");
const sessionRef = matching(/^[\x21-\x7e]{1,128}$/, "1 to 128 printable ASCII characters without spaces");

export const adSortKeys = ["net_price", "published_at", "keyword_matches", "random"] as const;
export type AdSortKey = (typeof adSortKeys)[number];

export const poolRequest = namedObject("AdPoolRequest", {
  country,
  subdivision: described(
    optional(subdivision),
    "One of the country. Without it, ads for parts of the country are left out.",
  ),
  keywords: described(
    list(text(keywordLengthMax), { min: 1, max: poolKeywordsMax }),
    "Subject terms, each compared whole with those of the ads, whatever the case of the letters. Never the user's question, and nothing about a person.",
  ),
  sort_by: described(
    text(128),
    "Up to three of `net_price`, `published_at`, `keyword_matches` and `random`, each with `:asc` or `:desc`, comma-separated; never supplied by the service.",
  ),
  limit: described(
    optional(integer({ min: 1, max: poolAdsMax })),
    `The most ads to answer; ${poolAdsMax} by default.`,
  ),
  max_per_campaign: described(
    optional(integer({ min: 1, max: poolAdsMax })),
    "The most ads of one campaign; no limit by default.",
  ),
  session_ref: described(
    optional(sessionRef),
    "The caller's label of the conversation, new for each: an ad that was rendered in it is left out for 60 minutes, unless its advertiser allows repeats.",
  ),
});
export type PoolRequest = Of<typeof poolRequest>;

export const poolAnswer = namedObject("AdPool", {
  retrieval_id: anyText,
  country,
  subdivision: unsigned("ad_pool", "/subdivision", { shape: nullable(subdivision) }),
  ads: described(
    listOf(adItem),
    "In the order of `sort_by`; ads that it does not tell apart are in that of their ids.",
  ),
  render_until: described(timestamp, "Until when they may be rendered."),
  receipt: envelopeShape,
});
export type PoolAnswer = Of<typeof poolAnswer>;

const renderToken = matching(/^svc_adr1\.[A-Za-z0-9_.-]{1,600}$/, "the render_token of an item");
const clickToken = matching(/^svc_adc1\.[A-Za-z0-9_.-]{1,600}$/, "the click_token of a render");

export const renderFormats = ["text", "card", "carousel", "list", "voice", "other"] as const;

const format = described(oneOf(renderFormats), "How it is shown.");

export const rowRenderRequest = object({
  retrieval_id: described(
    matching(/^ret_[0-9a-f]{32}$/, "the retrieval_id of a search"),
    "The search that answered the row; one of your own, of products.",
  ),
  record_id: described(recordId, "The row, which had `sponsored: true`."),
  format,
});
export type RowRenderRequest = Of<typeof rowRenderRequest>;

export const tokenRenderRequest = object({ render_token: renderToken, format });
export type TokenRenderRequest = Of<typeof tokenRenderRequest>;

/** An ad of a pool by its token, or a sponsored row by its search. */
export const renderRequest = named("AdRenderRequest", either(rowRenderRequest, tokenRenderRequest));
export type RenderRequest = Of<typeof renderRequest>;

const label = object({ text: anyText, advertiser: anyText });

export const renderAnswer = namedObject("AdRender", {
  ad_id: anyText,
  record_id: optional(described(recordId, "The record of a sponsored row; absent for an ad of a pool.")),
  rendered_at: timestamp,
  label: described(label, "To be shown with the ad."),
  click_token: clickToken,
  click_until: timestamp,
});
export type RenderAnswer = Of<typeof renderAnswer>;

/** A render token has the form as well: it is refused by a code of its own. */
const statedToken = matching(/^svc_ad[rc]1\.[A-Za-z0-9_.-]{1,600}$/, "the click_token of a render");

export const clickRequest = namedObject("AdClickRequest", { click_token: statedToken });
export type ClickRequest = Of<typeof clickRequest>;

export const clickAnswer = namedObject("AdClick", { ad_id: anyText, clicked_at: timestamp });
export type ClickAnswer = Of<typeof clickAnswer>;

export const sealedAdRequest = namedObject("SealedAdRequest", {
  record_base64: described(text(recordCharactersMax), "The exact bytes that were sealed, base64."),
  seal: envelopeShape,
});

export const adRemovalRequest = namedObject("AdRemovalRequest", {
  campaign_id: described(text(64), "The ad's campaign."),
  document_base64: described(text(8_192), "The exact bytes of `{record_id, action, at}`, base64."),
  seal: envelopeShape,
});

export const removedAdAnswer = namedObject("RemovedAd", {
  ad_id: anyText,
  campaign_id: anyText,
  state: oneOf(["withdrawn", "deleted"]),
});
export type RemovedAdAnswer = Of<typeof removedAdAnswer>;

const campaignState = described(
  oneOf(["running", "paused", "spent", "stopped"]),
  "`spent`: the budget does not cover one more render. `stopped`: operators stopped it.",
);

export const campaignAnswer = namedObject("AdCampaign", {
  campaign_id: anyText,
  state: campaignState,
  starts_at: timestamp,
  ends_at: timestamp,
  renders: described(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), "Confirmed renders."),
  ads: integer({ min: 0, max: 1_000 }),
});
export type CampaignAnswer = Of<typeof campaignAnswer>;

const countOfRenders = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const campaignRenders = namedObject("AdCampaignRenders", {
  campaign_id: anyText,
  state: campaignState,
  stopped: described(
    nullable(object({ at: timestamp, statement: anyText })),
    "Since when operators have stopped it, and why. New terms do not let it go on.",
  ),
  change: described(
    countOfRenders,
    "How often operators stopped it, let it go on or reversed renders of it.",
  ),
  renders: described(countOfRenders, "Confirmed renders, those that were reversed included."),
  companies: described(
    listOf(
      object({
        company_uuid: uuid,
        renders: countOfRenders,
        reversed: described(countOfRenders, "Those that operators reversed: they cost nothing."),
        clicks: described(countOfRenders, "Of its renders, how many it said were followed."),
        last_rendered_at: timestamp,
      }),
    ),
    "The AI companies that rendered its ads or said that they showed its sponsored rows, a page of 100 in the order of their UUIDs.",
  ),
  next_after: described(nullable(uuid), "`after` of the next page; null on the last."),
});
export type CampaignRenders = Of<typeof campaignRenders>;

export const unusualRenders = namedObject("UnusualAdRenders", {
  unusual: described(
    listOf(
      object({
        business_uuid: uuid,
        campaign_id: anyText,
        company_uuid: uuid,
        day: described(anyText, "`YYYY-MM-DD` (UTC): today or yesterday."),
        of: oneOf(["renders", "clicks"]),
        count: described(countOfRenders, "How many the company confirmed on the day."),
        usual: described(
          countOfRenders,
          "The mean of its own days of the week before; without such a day, of the campaign's other companies on that day; 0 where neither has any. Rounded.",
        ),
      }),
    ),
    "Companies that rendered at least 20 times on a day, or clicked 10 times, and more than three times as often as usual; where nothing is usual, more than half of the renders that the day allows a company.",
  ),
  next_after: described(
    nullable(anyText),
    "`after` of the next page, which has further campaigns; null on the last.",
  ),
});
export type UnusualRenders = Of<typeof unusualRenders>;

export const adAnswer = namedObject("PublishedAd", {
  ad_id: anyText,
  campaign_id: anyText,
  record_id: optional(described(recordId, "The product that is sponsored; absent for an ad.")),
  version: integer({ min: 1, max: 1_000 }),
  state: oneOf(["live", "withdrawn", "deleted"]),
  published_at: timestamp,
});
export type AdAnswer = Of<typeof adAnswer>;

// What a business is answered when it has sent an image of an ad.

export const adImage = namedObject("AdImage", {
  sha256: described(hash, "Over the bytes as they were sent: what the creative of an ad names."),
  media_type: oneOf(imageMediaTypes),
  width: described(pixels, "In pixels, as stored: an orientation in the metadata is not applied."),
  height: described(pixels, "In pixels, as stored."),
  bytes: integer({ min: 1, max: imageBytesMax }),
});
export type AdImage = Of<typeof adImage>;
