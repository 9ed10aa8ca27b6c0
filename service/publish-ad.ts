// Campaigns, creatives and sponsored products: sealed documents of advertisers that come in through the business surface, and leave it again.
//   PA1. A document is accepted once; sent again it is answered with what it has become, and whatever was interrupted is done.
//   PA2. A creative is served only once its version is stored and its seal is on its way into the log.
//   PA3. An ad belongs to one campaign: the same `business_ad_id` in another one is another ad, with an id of its own.
//   PA4. An advertiser is answered nothing about prices, budgets or what is spent: those leave the service nowhere.

import type { AdFacts, CampaignReport } from "../actors/messages/ads.ts";
import { campaignRef } from "../actors/messages/refs.ts";
import type { SignerAt } from "../crypto/port.ts";
import { isCampaign, type ParsedCampaign, parseCampaign } from "../protocol/ad-campaign.ts";
import { foldKeyword } from "../protocol/ad-keyword.ts";
import { isAdProduct, parseAdProduct } from "../protocol/ad-product.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp, recordType } from "../protocol/identifiers.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import { problem } from "../protocol/problem.ts";
import type { ContentLists } from "../protocol/records/content-lists.ts";
import { judgeAd } from "../protocol/records/judge-record.ts";
import type { ParsedAd } from "../protocol/records/parse-record.ts";
import { signAdVersion } from "../protocol/sign-ad.ts";
import type { AdAnswer, CampaignAnswer } from "../protocol/wire/ad-requests.ts";
import { parseWithdrawal } from "../protocol/withdrawal.ts";
import type { ImageStore } from "../storage/image-store.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { answerJson, isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import { campaignRefused, notAssigned, notDone } from "./campaign-refused.ts";
import { decideOwnNames } from "./own-names.ts";
import { sealRefused } from "./seal-refused.ts";
import { adSealOf, judgeSealedAlone, type SealedAlone, type SealedAloneDeps } from "./sealed-alone.ts";
import { sponsorProduct } from "./sponsor-product.ts";

export interface PublishAdDeps extends SealedAloneDeps {
  readonly records: RecordStore;
  readonly images: Pick<ImageStore, "read" | "renew">;
  readonly lists: ContentLists;
  readonly recordIdOf: (businessUuid: string, kind: "ads", localId: string) => string;
  readonly projection: SignerAt;
  readonly sidecar: SignerAt;
  /** The currency in which ads are paid, and the share of a gross price that callers earn, in per cent. */
  readonly adTerms: { readonly currency: string; readonly sharePercent: number };
}

export interface SealedAdCall {
  readonly businessUuid: string;
  readonly recordBase64: string;
  readonly seal: Envelope;
}

/** Takes a sealed campaign, creative or sponsored product, by the schema that its bytes name. */
export async function publishAd(deps: PublishAdDeps, call: SealedAdCall): Promise<Outcome> {
  const bytes = parseBase64(call.recordBase64);
  if (bytes === null)
    return refused(
      problem("request_invalid", "record_base64 must be base64.", { pointer: "/record_base64" }),
    );
  const { businessUuid } = call;
  const campaign = isCampaign(bytes) ? parseCampaign(bytes) : null;
  if (campaign !== null && !campaign.ok) return campaignRefused("campaign_invalid", campaign.detail);
  const product = isAdProduct(bytes) ? parseAdProduct(bytes) : null;
  if (product !== null && !product.ok) return campaignRefused("product_invalid", product.detail);
  const document = campaign !== null ? "campaign" : product !== null ? "ad_product" : "ad";
  const sealed = await judgeSealedAlone(deps, { businessUuid, bytes, envelope: call.seal, document });
  if (isRefused(sealed)) return sealed;
  if (campaign !== null) return acceptCampaign(deps, businessUuid, sealed, campaign.value);
  if (product !== null) return sponsorProduct(deps, { businessUuid, sealed, product: product.value });
  const judged = judgeAd(bytes, {
    countries: null,
    lists: deps.lists,
    ownNames: decideOwnNames(deps.lists, businessUuid, sealed.facts),
    brands: deps.lists.certified.brandsOf(businessUuid),
  });
  if (!judged.ok)
    return refused(
      problem("campaign_refused", "The ad is not accepted.", {
        reason: judged.faults[0]?.code ?? "request_invalid",
        errors: judged.faults,
      }),
    );
  return (await imageFault(deps, judged.ad)) ?? acceptCreative(deps, businessUuid, sealed, judged.ad);
}

async function acceptCampaign(
  deps: PublishAdDeps,
  businessUuid: string,
  { seal, sealId, keepSeal }: SealedAlone,
  { record, price, budget }: ParsedCampaign,
): Promise<Outcome> {
  const { currency, sharePercent } = deps.adTerms;
  if (record.currency !== currency)
    return campaignRefused("currency_mismatch", `Ads are paid in ${currency} here.`);
  const reply = await deps.actors.ask(campaignRef(businessUuid, record.campaign_id), {
    type: "campaign.accept",
    terms: {
      ...{
        currency,
        gross_price: price,
        net_price: Number((BigInt(price) * BigInt(sharePercent)) / 100n),
        budget,
      },
      starts_at_ms: parseTimestamp(record.starts_at) ?? 0,
      ends_at_ms: parseTimestamp(record.ends_at) ?? 0,
      ...{ paused: record.paused, sealed_at_ms: parseTimestamp(seal.sealed_at) ?? 0, seal_id: sealId },
      sealed: adSealOf(seal, deps.clock.now(), false),
    },
  });
  if (reply.status === "superseded")
    return campaignRefused("superseded", "Terms of this campaign that were sealed later are in force.");
  if (reply.status === "currency_mismatch")
    return campaignRefused(reply.status, `The campaign was charged in ${reply.currency}.`);
  await keepSeal();
  return answerJson(200, shownCampaign(reply.report));
}

export function shownCampaign(report: CampaignReport): CampaignAnswer {
  const { campaign_id, state, renders, ads } = report;
  return {
    ...{ campaign_id, state, renders, ads },
    starts_at: formatTimestamp(report.starts_at_ms),
    ends_at: formatTimestamp(report.ends_at_ms),
  };
}

/** Every image of the ad is here, and is what the ad says of it. */
async function imageFault({ images }: PublishAdDeps, ad: ParsedAd): Promise<Refused | null> {
  for (const [at, { sha256, media_type, width, height }] of ad.images.entries()) {
    const stored = await images.read(sha256);
    const pointer = `/images/${at}`;
    // From here on it is needed, so it is not forgotten before the ad is live.
    if (stored === null || !(await images.renew(sha256)))
      return refused(
        problem("campaign_refused", "The image was not uploaded: send it to /v1/ads/images first.", {
          ...{ reason: "image_unknown", errors: [{ code: "image_unknown", pointer, detail: sha256 }] },
        }),
      );
    if (stored.mediaType === media_type && stored.width === width && stored.height === height) continue;
    const detail = `The image is ${stored.mediaType} of ${stored.width} by ${stored.height} pixels.`;
    return refused(
      problem("campaign_refused", detail, {
        ...{ reason: "image_mismatch", errors: [{ code: "image_mismatch", pointer, detail }] },
      }),
    );
  }
  return null;
}

async function acceptCreative(
  deps: PublishAdDeps,
  businessUuid: string,
  sealed: SealedAlone,
  ad: ParsedAd,
): Promise<Outcome> {
  const { seal, sealId: seal_id } = sealed;
  const sealed_at_ms = parseTimestamp(seal.sealed_at) ?? 0;
  const campaign = campaignRef(businessUuid, ad.campaign_id);
  const ad_id = deps.recordIdOf(businessUuid, "ads", `${ad.campaign_id}/${ad.business_ad_id}`);
  const { hash } = seal;
  const assigned = await deps.actors.ask(campaign, {
    type: "ad.assign",
    ...{ ad_id, seal_id, sealed_at_ms, hash },
  });
  if (assigned.status !== "assigned") return notAssigned(assigned.status);
  await sealed.keepSeal();
  const { generation, published_at_ms } = assigned;
  await storeVersion(deps, { businessUuid, sealed, ad, ad_id, generation, published_at_ms });
  const facts: AdFacts = {
    ...{ ad_id, business_uuid: businessUuid, campaign_id: ad.campaign_id, generation, hash },
    countries: ad.countries,
    subdivisions: ad.subdivisions ?? [],
    keywords: [...new Set(ad.keywords.map(foldKeyword))],
    allow_repeats: ad.allow_repeats ?? false,
    ...{ sealed: adSealOf(seal, published_at_ms, true), published_at_ms, state: "live" },
  };
  const leaf = sealLeafOf(sealed.envelope, deps.crypto.sha256);
  const published = await deps.actors.ask(campaign, { type: "ad.publish", facts, seal_id, leaf });
  if (published.status !== "done") return notDone(published);
  const answer: AdAnswer = {
    ...{ ad_id, campaign_id: ad.campaign_id, version: generation, state: "live" },
    published_at: formatTimestamp(published_at_ms),
  };
  return answerJson(200, answer);
}

/** The same version is signed and stored as the same bytes, however often. */
async function storeVersion(
  deps: PublishAdDeps,
  {
    businessUuid,
    sealed,
    ad,
    ...version
  }: {
    readonly businessUuid: string;
    readonly sealed: SealedAlone;
    readonly ad: ParsedAd;
    readonly ad_id: string;
    readonly generation: number;
    readonly published_at_ms: number;
  },
): Promise<void> {
  const { seal, envelope, key, bytes, sealId } = sealed;
  const { ad_id, generation, published_at_ms } = version;
  const at = formatTimestamp(published_at_ms);
  const signers = { projection: deps.projection(at), sidecar: deps.sidecar(at) };
  const { row, sidecar } = await signAdVersion(signers, {
    ...{ ad, adId: ad_id, businessUuid, envelope, seal, generation, change: generation },
    ...{ sealer: key.role === "hosted" ? "hosted" : "passkey", source: "api" },
    ...{ receivedAtMs: published_at_ms, publishedAtMs: published_at_ms },
  });
  const stored = {
    ...{ record_id: ad_id, business_uuid: businessUuid, type: "ads", generation, hash: seal.hash, bytes },
    ...{ seal_id: sealId, leaf_index: null, proof: new Uint8Array(), sidecar, row },
    ...{ cert_id: seal.cert_id, published_at_ms },
  };
  // Without a head: an ad is in no catalogue and no index, and nobody can fetch it.
  await deps.records.putVersions([stored], []);
}

/** Takes an ad out of serving, by a sealed document `{record_id, action, at}`. */
export async function removeAd(
  deps: PublishAdDeps,
  call: SealedAdCall & { readonly campaignId: string },
): Promise<Outcome> {
  const bytes = parseBase64(call.recordBase64);
  const removal = bytes === null ? null : parseWithdrawal(bytes);
  if (bytes === null || removal === null || !removal.ok)
    return sealRefused("payload_malformed", "The document is the compact JSON {record_id, action, at}.");
  const { record_id: ad_id, action } = removal.value;
  if (recordType(ad_id) !== "ads")
    return refused(problem("not_found", "No ad of this business has this id."));
  const { businessUuid, seal: envelope, campaignId: campaign_id } = call;
  const sealed = await judgeSealedAlone(deps, { businessUuid, bytes, envelope, document: "withdrawal" });
  if (isRefused(sealed)) return sealed;
  const state = action === "delete" ? "deleted" : "withdrawn";
  const leaf = sealLeafOf(sealed.envelope, deps.crypto.sha256);
  const reply = await deps.actors.ask(campaignRef(businessUuid, campaign_id), {
    type: "ad.remove",
    ...{ ad_id, state, sealed_at_ms: parseTimestamp(sealed.seal.sealed_at) ?? 0, leaf },
  });
  if (reply.status !== "done") return notDone(reply);
  await sealed.keepSeal();
  return answerJson(200, { ad_id, campaign_id, state: reply.state });
}
