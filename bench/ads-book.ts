// Ads to fill a book with: every advertiser has one campaign and a hundred ads, sealed by the key that the service holds for it. They go
// through the service as if they had come in over HTTP, without the requests.

import { setTimeout as delay } from "node:timers/promises";
import { createSigner } from "../crypto/file-signer.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { adPublishingOf } from "../node/publishing-surface.ts";
import type { NodeServices } from "../node/services.ts";
import { toBase64, utf8 } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { sealPayload } from "../protocol/seal.ts";
import { signEnvelope } from "../service/sign-envelope.ts";
import { introduce } from "./parties.ts";
import { running } from "./serve.ts";
import { inLanes } from "./work.ts";

export const adsOfCampaign = 100;
const subjects = "trail winter leather canvas summer cotton travel office garden city".split(" ");
const things = ["shoes", "boots", "jackets", "bags", "gloves"];

/** What ads name and pools ask for: fifty, of which each ad names three. */
export const adKeywords: readonly string[] = subjects.flatMap((subject) =>
  things.map((thing) => `${subject} ${thing}`),
);

const dayMs = 86_400_000;
const campaignId = "bench";
const pollMs = 5;
/** Advertisers that publish at once. */
const atOnce = 16;
/** In millionths; so many different prices occur. */
const pricesCount = 20;

/** Publishes `campaigns` campaigns with a hundred ads each. Resolves once all of them are in the node's book. */
export async function publishAds(campaigns: number): Promise<void> {
  const { services } = running();
  const before = services.register.ads.size;
  await inLanes(atOnce, campaigns, (n) => publishCampaign(services, n));
  // The last ads are in the register a moment after their campaign has them.
  while (services.register.ads.size - before < campaigns * adsOfCampaign) {
    await delay(pollMs);
    await services.register.refresh();
  }
}

async function publishCampaign(services: NodeServices, n: number): Promise<void> {
  const uuid = `00000000-0000-4000-8000-${String(n + 1).padStart(12, "0")}`;
  const { publicJwk } = createSigner(generatePrivateJwk("Ed25519"));
  const certId = await introduce(services, { uuid, role: "integration", publicJwk });
  const { publishAd } = adPublishingOf(services);
  const send = async (record: object): Promise<void> => {
    const bytes = utf8(JSON.stringify(record));
    const seal = await sealedBy(services, { uuid, certId }, bytes);
    const outcome = await publishAd({ businessUuid: uuid, recordBase64: toBase64(bytes), seal });
    if (outcome.kind !== "answer") throw new Error(`an ad: ${JSON.stringify(outcome)}`);
  };
  const now = services.clock.now();
  await send({
    ...{ schema: "svc/ad_campaign/1", campaign_id: campaignId, currency: services.config.ads.currency },
    ...{ price: `0.${String(10 + (n % pricesCount)).padStart(3, "0")}`, budget: "100000", paused: false },
    starts_at: formatTimestamp(now - dayMs),
    ends_at: formatTimestamp(now + 30 * dayMs),
  });
  for (let ad = 0; ad < adsOfCampaign; ad += 1) await send(adRecord(n, ad));
}

async function sealedBy(
  services: NodeServices,
  { uuid, certId }: { readonly uuid: string; readonly certId: string },
  bytes: Uint8Array,
) {
  const signer = await services.hostedSigner(uuid);
  const payload = sealPayload({
    ...{ v: 2, key_id: signer.keyId, cert_id: certId, hash: hashOf(bytes, nativeCrypto.sha256) },
    ...{ sealed_at: formatTimestamp(services.clock.now()), record_type: "ads", ai_policy_version: 0 },
  });
  return signEnvelope(payloadTypes["seal.v2"], payload, [signer]);
}

/** Each ad has three of the keywords, so that each keyword has about as many ads. */
function adRecord(campaign: number, ad: number) {
  const at = campaign * adsOfCampaign + ad;
  const named = [at, at + 17 + (campaign % 7), at + 31 + (campaign % 5)];
  return {
    ...{ schema: "svc/ads/1", language: "en", business_ad_id: `ad-${at}`, campaign_id: campaignId },
    countries: ["US", "GB"],
    keywords: named.map((each) => adKeywords[each % adKeywords.length]),
    ...{ headline: `Shoes, model ${at}`, body: "Light and waterproof.", images: [] },
    ...{ display_domain: "shoes.example", destination_url: `https://shoes.example/${at}` },
  };
}
