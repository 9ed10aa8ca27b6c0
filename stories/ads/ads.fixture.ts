// Advertisers and their ads on a running node. For tests.

import { type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { imageOf } from "../../node/images/images.fixture.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sealHosted, type TestBusiness } from "../publishing/publishing.fixture.ts";
import { newBusiness, type StartedNode } from "../retrieval/attack.fixture.ts";

export interface Advertiser {
  readonly business: TestBusiness;
  readonly uuid: string;
  /** Sends a request with the business's integration key. */
  post(path: string, body: object): Promise<ReceivedAnswer>;
  /** Seals a document, and delivers it. */
  publish(record: object): Promise<ReceivedAnswer>;
  campaign(changes?: object): Promise<ReceivedAnswer>;
  ad(id: string, changes?: object): Promise<ReceivedAnswer>;
  remove(adId: string, action: "withdraw" | "delete", campaignId?: string): Promise<ReceivedAnswer>;
  /** Sends an image, and describes it as an ad does. */
  image(): Promise<object>;
}

const dayMs = 86_400_000;
/** Prices that occur nowhere else, so that they can be looked for. */
export const grossPrice = "0.918273";
export const budgetText = "77.123457";

export async function newAdvertiser(
  node: StartedNode,
  /** How requests are sent; for a test that keeps them. */
  sendBy: typeof send = send,
): Promise<Advertiser> {
  const now = () => node.running.services.clock.now();
  const business = await newBusiness(node);
  const { uuid } = business.party;
  const caller = { key: business.signingKey, grant: "" };
  const sealed = async (bytes: Uint8Array) => {
    const { services } = node.running;
    const named = { uuid, certId: business.certId };
    return sealHosted(services, named, { record: bytes, record_type: "ads", ai_policy_version: 0 });
  };
  const post: Advertiser["post"] = (path, body) =>
    sendBy(node.running.urls.business_url, caller, {
      path,
      body: JSON.stringify(body),
      tag: "svc-push",
      created: Math.floor(now() / 1000),
    });
  const publish: Advertiser["publish"] = async (record) => {
    const bytes = utf8(JSON.stringify(record));
    return post("/v1/ads/records", { record_base64: toBase64(bytes), seal: await sealed(bytes) });
  };
  return {
    business,
    uuid,
    post,
    publish,
    campaign: (changes) => publish({ ...campaignRecord(now()), ...changes }),
    ad: (id, changes) => publish({ ...adRecord(id), ...changes }),
    remove: async (adId, action, campaignId = "spring") => {
      const bytes = utf8(JSON.stringify({ record_id: adId, action, at: formatTimestamp(now()) }));
      const document_base64 = toBase64(bytes);
      return post("/v1/ads/remove", { campaign_id: campaignId, document_base64, seal: await sealed(bytes) });
    },
    image: async () => {
      const bytes = await imageOf("image/png");
      const answer = await send(node.running.urls.business_url, caller, {
        path: "/v1/ads/images",
        body: bytes,
        tag: "svc-push",
        created: Math.floor(now() / 1000),
        headers: { "content-type": "image/png" },
      });
      const { sha256, media_type, width, height } = answer.json;
      return { sha256, media_type, width, height, alt: "A picture." };
    },
  };
}

export function campaignRecord(now: number) {
  return {
    schema: "svc/ad_campaign/1",
    campaign_id: "spring",
    currency: "EUR",
    price: grossPrice,
    budget: budgetText,
    paused: false,
    starts_at: formatTimestamp(now - dayMs),
    ends_at: formatTimestamp(now + 30 * dayMs),
  };
}

export function adRecord(id: string) {
  return {
    schema: "svc/ads/1",
    language: "en",
    business_ad_id: id,
    campaign_id: "spring",
    countries: ["US", "GB"],
    keywords: ["Trail running", "running shoes"],
    headline: `Shoes for ${id}`,
    body: "Light and waterproof.",
    images: [],
    display_domain: "shoes.example",
    destination_url: `https://shoes.example/${id}`,
  };
}

export interface PoolItem {
  readonly ad_id: string;
  readonly render_token: string;
  readonly net_price: { readonly amount: string };
  readonly creative: { readonly headline: string; readonly images: readonly { readonly url: string }[] };
  readonly [member: string]: unknown;
}

export async function openPool(
  node: StartedNode,
  caller: TestCaller,
  changes: object = {},
): Promise<ReceivedAnswer & { readonly ads: readonly PoolItem[] }> {
  const request = { country: "US", keywords: ["trail running"], sort_by: "published_at:asc", ...changes };
  const body = JSON.stringify(request);
  const created = Math.floor(node.running.services.clock.now() / 1000);
  const answer = await send(node.running.urls.base_url, caller, { path: "/v1/ads/pool", body, created });
  return { ...answer, ads: (answer.json["ads"] ?? []) as readonly PoolItem[] };
}

export function state(
  node: StartedNode,
  caller: TestCaller,
  event: "render" | "click",
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<ReceivedAnswer> {
  return send(node.running.urls.base_url, caller, {
    path: `/v1/ads/${event}`,
    body: JSON.stringify(body),
    headers,
    created: Math.floor(node.running.services.clock.now() / 1000),
  });
}

/** Requests for a pool that are refused, with the code. */
export const wrongPools: readonly (readonly [string, object, string])[] = [
  ["without a sort", { sort_by: undefined }, "sort_required"],
  ["with a sort key that there is not", { sort_by: "price:asc" }, "sort_not_allowed"],
  ["with a sort key twice", { sort_by: "random:asc,random:desc" }, "sort_not_allowed"],
  [
    "with four sort keys",
    { sort_by: "random:asc,net_price:asc,published_at:asc,keyword_matches:asc" },
    "sort_not_allowed",
  ],
  ["without a direction", { sort_by: "random" }, "sort_not_allowed"],
  ["without keywords", { keywords: [] }, "request_invalid"],
  [
    "with eleven keywords",
    { keywords: Array.from({ length: 11 }, (_, n) => `shoe ${n}`) },
    "request_invalid",
  ],
  ["with a keyword of 65 characters", { keywords: ["a".repeat(65)] }, "request_invalid"],
  ["with a keyword twice", { keywords: ["Mud", "mud"] }, "request_invalid"],
  ["with the number of a person", { keywords: ["shoes", "+44 20 7946 0958"] }, "keyword_not_allowed"],
  ["with a keyword that is an address", { keywords: ["a@b.example"] }, "keyword_not_allowed"],
  ["with a question", { keywords: ["which shoes should i buy for mud"] }, "keyword_not_allowed"],
  ["with 21 ads", { limit: 21 }, "request_invalid"],
  ["for a country that there is not", { country: "UK" }, "request_invalid"],
  ["without a country", { country: undefined }, "request_invalid"],
  ["for a part of another country", { subdivision: "GB-ENG" }, "request_invalid"],
  ["with a label of a person's length", { session_ref: "x".repeat(129) }, "request_invalid"],
  ["with an unknown member", { question: "x" }, "request_invalid"],
];

/** Changes of a campaign that are refused, with the reason. */
export const wrongCampaigns: readonly (readonly [string, object, string])[] = [
  ["an unknown member", { colour: "red" }, "campaign_invalid"],
  ["another currency", { currency: "USD" }, "currency_mismatch"],
  ["a price of nothing", { price: "0" }, "campaign_invalid"],
  ["a price as a number", { price: 0.5 }, "campaign_invalid"],
  ["an end before its start", { ends_at: "2020-01-01T00:00:00.000Z" }, "campaign_invalid"],
  ["an id with a point", { campaign_id: "a.b" }, "campaign_invalid"],
];
