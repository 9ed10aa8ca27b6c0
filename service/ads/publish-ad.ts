// Campaigns, creatives and sponsored products: sealed documents of advertisers that come in through the business surface, and leave it again.
//   PA1. A document is accepted once; sent again it is answered with what it has become, and whatever was interrupted is done.
//   PA2. A creative is served only once its version is stored and its seal is on its way into the log.
//   PA3. An ad belongs to one campaign: the same `business_ad_id` in another one is another ad, with an id of its own.
//   PA4. No answer to an advertiser's systems says anything about prices, budgets or what is spent: only its people are shown them, at
//        the portal.

import type { AdFacts, AdReply, AdSeal, AssignAdReply, CampaignReport } from "../../actors/messages/ads.ts";
import type { KeyFacts, PublishingFacts } from "../../actors/messages/business.ts";
import { businessRef, campaignRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import {
  type AdProductRecord,
  adProductLocalId,
  foldKeyword,
  isAdProduct,
  isCampaign,
  type ParsedCampaign,
  parseAdProduct,
  parseCampaign,
} from "../../protocol/ad-campaign.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp, pushIdOf, recordType } from "../../protocol/identifiers.ts";
import { sealLeafOf } from "../../protocol/log/leaves.ts";
import { judgeAd } from "../../protocol/records/judge-record.ts";
import type { ParsedAd } from "../../protocol/records/parse-record.ts";
import { openSeal, type SealV2 } from "../../protocol/seal.ts";
import { signAdVersion } from "../../protocol/sign-ad.ts";
import type { AdAnswer, CampaignAnswer } from "../../protocol/wire/ad-requests.ts";
import { parseWithdrawal } from "../../protocol/withdrawal.ts";
import type { ImageStore } from "../../storage/image-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { verifySeal } from "../../verifier/seal.ts";
import {
  answerJson,
  invalidAt,
  isRefused,
  type Outcome,
  type Refused,
  refusedAs,
  refusedWith,
  sealRefused,
} from "../answer.ts";
import type { Judging } from "../register/find-mandate.ts";
import {
  decideOwnNames,
  judgeKnown,
  judgeLive,
  judgeVerified,
  keysOf,
  namesWhatIsInForce,
  readIssuances,
  readSigner,
  receivedInTime,
  timelineOf,
} from "../register/home-evidence.ts";
import type { ServiceKeys } from "../register/service-keys.ts";

/** What the services of an advertiser work with. */
export interface PublishAdServices extends Platform, Actors, Judging {
  readonly records: RecordStore;
  readonly imageStore: ImageStore;
  readonly keys: ServiceKeys;
  readonly recordIdOf: (businessUuid: string, kind: "ads", localId: string) => string;
  /** The currency in which ads are paid, and the share of a gross price that callers earn, in per cent. */
  readonly adTerms: { readonly currency: string; readonly sharePercent: number };
}

export interface SealedAdCall {
  readonly businessUuid: string;
  readonly recordBase64: string;
  readonly seal: Envelope;
}

/** Takes a sealed campaign, creative or sponsored product, by the schema that its bytes name. */
export async function publishAd(deps: PublishAdServices, call: SealedAdCall): Promise<Outcome> {
  const bytes = parseBase64(call.recordBase64);
  if (bytes === null) return invalidAt("/record_base64", "record_base64 must be base64.");
  const { businessUuid } = call;
  const read = readDocument(bytes);
  if (isRefused(read)) return read;
  const sealed = await judgeSealedAlone(deps, {
    businessUuid,
    bytes,
    envelope: call.seal,
    document: read.document,
  });
  if (isRefused(sealed)) return sealed;
  if (read.document === "campaign") return acceptCampaign(deps, businessUuid, sealed, read.campaign);
  if (read.document === "ad_product")
    return sponsorProduct(deps, { businessUuid, sealed, product: read.product });
  const ad = await judgeCreative(deps, { businessUuid, bytes, facts: sealed.facts });
  return isRefused(ad) ? ad : acceptCreative(deps, businessUuid, sealed, ad);
}

/** Why a campaign, a creative or a sponsored product would be refused if it were sealed now; null for one that would be taken. */
export async function judgeUnsealed(
  deps: PublishAdServices,
  { businessUuid, bytes }: { readonly businessUuid: string; readonly bytes: Uint8Array },
): Promise<Refused | null> {
  const read = readDocument(bytes);
  if (isRefused(read)) return read;
  if (read.document === "campaign") return currencyFault(deps, read.campaign);
  const ad = await (read.document === "ad_product"
    ? judgeProduct(deps, businessUuid, read.product)
    : judgeNewCreative(deps, businessUuid, bytes));
  if (isRefused(ad)) return ad;
  const campaign = campaignRef(businessUuid, ad.campaign_id);
  const known = await deps.actors.ask(campaign, { type: "campaign.read" });
  return known === null ? notAssigned("campaign_unknown") : null;
}

async function judgeNewCreative(deps: PublishAdServices, businessUuid: string, bytes: Uint8Array) {
  const facts = await deps.actors.ask(businessRef(businessUuid), { type: "publishing.facts", key_id: "" });
  return judgeCreative(deps, { businessUuid, bytes, facts });
}

type AdDocument =
  | { readonly document: "campaign"; readonly campaign: ParsedCampaign }
  | { readonly document: "ad_product"; readonly product: AdProductRecord }
  | { readonly document: "ad" };

/** What the bytes are; of a creative nothing is judged yet. */
function readDocument(bytes: Uint8Array): AdDocument | Refused {
  if (isCampaign(bytes)) {
    const read = parseCampaign(bytes);
    return read.ok
      ? { document: "campaign", campaign: read.value }
      : campaignRefused("campaign_invalid", read.detail);
  }
  if (!isAdProduct(bytes)) return { document: "ad" };
  const read = parseAdProduct(bytes);
  return read.ok
    ? { document: "ad_product", product: read.value }
    : campaignRefused("product_invalid", read.detail);
}

/** The creative, judged as a record is, and with its images. */
async function judgeCreative(
  deps: PublishAdServices,
  { businessUuid, bytes, facts }: Pick<Question, "businessUuid" | "bytes" | "facts">,
): Promise<ParsedAd | Refused> {
  const judged = judgeAd(bytes, {
    countries: null,
    lists: deps.lists,
    ownNames: decideOwnNames(deps.lists, businessUuid, facts),
    brands: deps.lists.certified.brandsOf(businessUuid),
  });
  if (!judged.ok)
    return refusedWith("campaign_refused", "The ad is not accepted.", {
      reason: judged.faults[0]?.code ?? "request_invalid",
      errors: judged.faults,
    });
  return (await imageFault(deps, judged.ad)) ?? judged.ad;
}

function currencyFault({ adTerms }: PublishAdServices, { record }: ParsedCampaign): Refused | null {
  return record.currency === adTerms.currency
    ? null
    : campaignRefused("currency_mismatch", `Ads are paid in ${adTerms.currency} here.`);
}

async function acceptCampaign(
  deps: PublishAdServices,
  businessUuid: string,
  { seal, sealId, keepSeal }: SealedAlone,
  { record, price, budget }: ParsedCampaign,
): Promise<Outcome> {
  const { currency, sharePercent } = deps.adTerms;
  const fault = currencyFault(deps, { record, price, budget });
  if (fault !== null) return fault;
  const reply = await deps.actors.ask(campaignRef(businessUuid, record.campaign_id), {
    type: "campaign.accept",
    terms: {
      currency,
      gross_price: price,
      net_price: Number((BigInt(price) * BigInt(sharePercent)) / 100n),
      budget,
      starts_at_ms: parseTimestamp(record.starts_at) ?? 0,
      ends_at_ms: parseTimestamp(record.ends_at) ?? 0,
      paused: record.paused,
      sealed_at_ms: parseTimestamp(seal.sealed_at) ?? 0,
      seal_id: sealId,
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

/** The campaign as its business reads it; instants are timestamps. */
export function shownCampaign(report: CampaignReport): CampaignAnswer {
  const { campaign_id, state, renders, ads } = report;
  return {
    campaign_id,
    state,
    renders,
    ads,
    starts_at: formatTimestamp(report.starts_at_ms),
    ends_at: formatTimestamp(report.ends_at_ms),
  };
}

/** Every image of the ad is here, and is what the ad says of it. */
async function imageFault({ imageStore }: PublishAdServices, ad: ParsedAd): Promise<Refused | null> {
  for (const [at, { sha256, media_type, width, height }] of ad.images.entries()) {
    const stored = await imageStore.read(sha256);
    const pointer = `/images/${at}`;
    // From here on it is needed, so it is not forgotten before the ad is live.
    if (stored === null || !(await imageStore.renew(sha256)))
      return refusedWith("campaign_refused", "The image was not uploaded: send it to /v1/ads/images first.", {
        reason: "image_unknown",
        errors: [{ code: "image_unknown", pointer, detail: sha256 }],
      });
    if (stored.mediaType === media_type && stored.width === width && stored.height === height) continue;
    const detail = `The image is ${stored.mediaType} of ${stored.width} by ${stored.height} pixels.`;
    return refusedWith("campaign_refused", detail, {
      reason: "image_mismatch",
      errors: [{ code: "image_mismatch", pointer, detail }],
    });
  }
  return null;
}

async function acceptCreative(
  deps: PublishAdServices,
  businessUuid: string,
  sealed: SealedAlone,
  ad: ParsedAd,
): Promise<Outcome> {
  const { seal, sealId: seal_id } = sealed;
  const sealed_at_ms = parseTimestamp(seal.sealed_at) ?? 0;
  const campaign = campaignRef(businessUuid, ad.campaign_id);
  const ad_id = deps.recordIdOf(businessUuid, "ads", `${ad.campaign_id}/${ad.business_ad_id}`);
  const { hash } = seal;
  const assigned = await deps.actors.ask(campaign, { type: "ad.assign", ad_id, seal_id, sealed_at_ms, hash });
  if (assigned.status !== "assigned") return notAssigned(assigned.status);
  await sealed.keepSeal();
  const { generation, published_at_ms } = assigned;
  await storeVersion(deps, { businessUuid, sealed, ad, ad_id, generation, published_at_ms });
  const facts: AdFacts = {
    ad_id,
    business_uuid: businessUuid,
    campaign_id: ad.campaign_id,
    generation,
    hash,
    countries: ad.countries,
    subdivisions: ad.subdivisions ?? [],
    keywords: [...new Set(ad.keywords.map(foldKeyword))],
    allow_repeats: ad.allow_repeats ?? false,
    sealed: adSealOf(seal, published_at_ms, true),
    published_at_ms,
    state: "live",
  };
  const leaf = sealLeafOf(sealed.envelope, deps.crypto.sha256);
  const published = await deps.actors.ask(campaign, { type: "ad.publish", facts, seal_id, leaf });
  if (published.status !== "done") return notDone(published);
  const answer: AdAnswer = {
    ad_id,
    campaign_id: ad.campaign_id,
    version: generation,
    state: "live",
    published_at: formatTimestamp(published_at_ms),
  };
  return answerJson(200, answer);
}

/** The same version is signed and stored as the same bytes, however often. */
async function storeVersion(
  deps: PublishAdServices,
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
  const signers = { projection: deps.keys.projection(at), sidecar: deps.keys.sidecar(at) };
  const { row, sidecar } = await signAdVersion(signers, {
    ad,
    adId: ad_id,
    businessUuid,
    envelope,
    seal,
    generation,
    change: generation,
    sealer: key.role === "hosted" ? "hosted" : "passkey",
    source: "api",
    receivedAtMs: published_at_ms,
    publishedAtMs: published_at_ms,
  });
  const stored = {
    record_id: ad_id,
    business_uuid: businessUuid,
    type: "ads",
    generation,
    hash: seal.hash,
    bytes,
    seal_id: sealId,
    leaf_index: null,
    proof: new Uint8Array(),
    sidecar,
    row,
    cert_id: seal.cert_id,
    published_at_ms,
  };
  // Without a head: an ad is in no catalogue and no index, and nobody can fetch it.
  await deps.records.putVersions([stored], []);
}

/** Takes an ad out of serving, by a sealed document `{record_id, action, at}`. */
export async function removeAd(
  deps: PublishAdServices,
  call: SealedAdCall & { readonly campaignId: string },
): Promise<Outcome> {
  const bytes = parseBase64(call.recordBase64);
  const removal = bytes === null ? null : parseWithdrawal(bytes);
  if (bytes === null || removal === null || !removal.ok)
    return sealRefused("payload_malformed", "The document is the compact JSON {record_id, action, at}.");
  const { record_id: ad_id, action } = removal.value;
  if (recordType(ad_id) !== "ads") return refusedWith("not_found", "No ad of this business has this id.");
  const { businessUuid, seal: envelope, campaignId: campaign_id } = call;
  const sealed = await judgeSealedAlone(deps, { businessUuid, bytes, envelope, document: "withdrawal" });
  if (isRefused(sealed)) return sealed;
  const state = action === "delete" ? "deleted" : "withdrawn";
  const leaf = sealLeafOf(sealed.envelope, deps.crypto.sha256);
  const reply = await deps.actors.ask(campaignRef(businessUuid, campaign_id), {
    type: "ad.remove",
    ad_id,
    state,
    sealed_at_ms: parseTimestamp(sealed.seal.sealed_at) ?? 0,
    leaf,
  });
  if (reply.status !== "done") return notDone(reply);
  await sealed.keepSeal();
  return answerJson(200, { ad_id, campaign_id, state: reply.state });
}

// A sealed sponsored product, which goes through its campaign's actor like an ad, and leaves by the same sealed removal.
//   SP1. A product is sponsored by its own business alone, and only once it is published; one that is out of serving later has no rows.
//   SP2. A product has one sponsorship in a campaign: a document that is sealed later takes the place of the earlier one.
//   SP3. Only the seal is stored: the document is never served, and the campaign's actor has what it says.

async function sponsorProduct(
  deps: PublishAdServices,
  {
    businessUuid,
    sealed,
    product,
  }: {
    readonly businessUuid: string;
    readonly sealed: SealedAlone;
    readonly product: AdProductRecord;
  },
): Promise<Outcome> {
  const { seal, sealId: seal_id, isKnown } = sealed;
  const { campaign_id, record_id, countries, allow_repeats = false } = product;
  const judged = isKnown ? product : await judgeProduct(deps, businessUuid, product);
  if (isRefused(judged)) return judged;
  const campaign = campaignRef(businessUuid, campaign_id);
  const ad_id = deps.recordIdOf(businessUuid, "ads", adProductLocalId(product));
  const { hash } = seal;
  const sealed_at_ms = parseTimestamp(seal.sealed_at) ?? 0;
  const assigned = await deps.actors.ask(campaign, { type: "ad.assign", ad_id, seal_id, sealed_at_ms, hash });
  if (assigned.status !== "assigned") return notAssigned(assigned.status);
  await sealed.keepSeal();
  const { generation, published_at_ms } = assigned;
  const facts: AdFacts = {
    ad_id,
    business_uuid: businessUuid,
    campaign_id,
    generation,
    hash,
    product: record_id,
    countries,
    subdivisions: [],
    keywords: [],
    allow_repeats,
    published_at_ms,
    state: "live",
    sealed: adSealOf(seal, published_at_ms, false),
  };
  const leaf = sealLeafOf(sealed.envelope, deps.crypto.sha256);
  const published = await deps.actors.ask(campaign, { type: "ad.publish", facts, seal_id, leaf });
  if (published.status !== "done") return notDone(published);
  const answer: AdAnswer = {
    ad_id,
    campaign_id,
    record_id,
    version: generation,
    state: "live",
    published_at: formatTimestamp(published_at_ms),
  };
  return answerJson(200, answer);
}

/** SP1. */
async function judgeProduct(
  { records }: PublishAdServices,
  businessUuid: string,
  product: AdProductRecord,
): Promise<AdProductRecord | Refused> {
  const head = await records.readHead(product.record_id);
  if (head?.live === true && head.business_uuid === businessUuid) return product;
  return campaignRefused("product_unknown", "The business has no published product with this record_id.");
}

// Refusals of documents about ads, with the reasons that the campaign's actor gives.

function campaignRefused(reason: string, detail: string): Refused {
  return refusedWith("campaign_refused", detail, { reason });
}

function notAssigned(status: Exclude<AssignAdReply["status"], "assigned">): Refused {
  const details = {
    campaign_unknown: "There is no such campaign: send its terms first.",
    deleted: "It was deleted in this campaign, and does not return to it.",
    superseded: supersededDetail,
    too_many: "The campaign has as many ads and products, or this one as many versions, as it may have.",
  } as const;
  return campaignRefused(status, details[status]);
}

function notDone({ status }: Pick<AdReply, "status">): Refused {
  return status === "unknown"
    ? refusedWith("not_found", "No ad of this business has this id.")
    : campaignRefused("superseded", supersededDetail);
}

const supersededDetail = "A document about this ad that was sealed later was accepted.";

// A document about ads, sealed alone by a key of its business: a campaign, a creative, a sponsored product, a withdrawal or a deletion. It
// is judged by the verifier's own functions, and by what only its receiver can know (register/home-evidence.ts, J1 and J2).

/** What a campaign or an ad keeps of its seal. `receivedAtMs` is of a sidecar, if it has one. */
function adSealOf({ key_id, cert_id, sealed_at }: SealV2, receivedAtMs: number, is_stated: boolean): AdSeal {
  return { key_id, cert_id, sealed_at, received_at: formatTimestamp(receivedAtMs), is_stated };
}

interface SealedAlone {
  readonly bytes: Uint8Array;
  readonly envelope: Envelope;
  readonly seal: SealV2;
  /** Names the seal: the same document that was sealed once has one. */
  readonly sealId: string;
  readonly key: KeyFacts;
  readonly facts: PublishingFacts;
  /** Whether the document was accepted before. */
  readonly isKnown: boolean;
  /** To be called once the document is accepted. */
  readonly keepSeal: () => Promise<void>;
}

/**
 * Judges a document whose seal names the record type `ads`. One that was accepted before is only compared with its seal, so that
 * a lost answer is repaired by sending it again, however late; one that was refused is judged like any other.
 */
async function judgeSealedAlone(
  deps: PublishAdServices,
  {
    businessUuid,
    bytes,
    envelope,
    document,
  }: Pick<Question, "businessUuid" | "bytes" | "envelope" | "document">,
): Promise<SealedAlone | Refused> {
  const opened = openSeal(envelope);
  if (!opened.ok) return sealRefused(opened.code, opened.detail);
  const seal = opened.value;
  if (seal.v !== 2) return sealRefused("version_unknown", "A document about ads is sealed in format 2.");
  const sealId = pushIdOf(
    businessUuid,
    parseBase64(envelope.payload) ?? new Uint8Array(),
    deps.crypto.sha256,
  );
  const key = await readSigner(deps.actors, businessUuid, envelope);
  const facts = await deps.actors.ask(businessRef(businessUuid), {
    type: "publishing.facts",
    key_id: seal.key_id,
  });
  const isKnown = (await deps.records.readSeal(sealId)) !== null;
  const question = { businessUuid, bytes, envelope, document, seal, key, facts };
  const refusal = isKnown ? judgeAgain(deps, question) : await judgeNew(deps, question);
  if (refusal !== null) return refusal;
  if (key === null) return sealRefused("key_unknown", "The seal's key is not one of the business.");
  if (seal.record_type !== "ads")
    return sealRefused("record_type_mismatch", "The seal is for a different record type; use ads.");
  const keepSeal = async (): Promise<void> => {
    if (isKnown) return;
    await deps.records.putSeal({ seal_id: sealId, envelope: JSON.stringify(envelope), tree_size: null });
  };
  return { bytes, envelope, seal, sealId, key, facts, isKnown, keepSeal };
}

interface Question {
  readonly businessUuid: string;
  readonly bytes: Uint8Array;
  readonly envelope: Envelope;
  readonly document: "ad" | "campaign" | "ad_product" | "withdrawal";
  readonly seal: SealV2;
  readonly key: KeyFacts | null;
  readonly facts: PublishingFacts;
}

function judgeAgain(
  deps: PublishAdServices,
  { businessUuid: uuid, bytes, envelope, seal, key }: Question,
): Refused | null {
  const known = judgeKnown(deps, { uuid, record: bytes, envelope }, { seal, key });
  return known.ok ? null : sealRefused(known.code, known.detail);
}

async function judgeNew(
  deps: PublishAdServices,
  { businessUuid: uuid, bytes, envelope, document, seal, key, facts }: Question,
): Promise<Refused | null> {
  const verified = judgeVerified(facts);
  if (!verified.ok) return refusedAs(verified);
  if (facts.certificate === null) return null;
  const nowMs = deps.clock.now();
  const verdict = verifySeal(deps.trust(), {
    bytes,
    document,
    seal: envelope,
    certificates: await readIssuances(deps.actors, uuid, facts.certificate, seal.cert_id),
    keys: { ...keysOf(uuid, [key]), cert_id: facts.certificate.cert_id },
    received: { at: formatTimestamp(nowMs) },
    policies: timelineOf(facts.policy),
  });
  if (!verdict.ok) return sealRefused(verdict.code, verdict.detail);
  const live = key === null ? [] : [judgeLive(key, nowMs)];
  const judged = [receivedInTime(seal, nowMs), ...live, namesWhatIsInForce(seal, facts)];
  const fault = judged.find((each) => !each.ok);
  return fault === undefined || fault.ok ? null : sealRefused(fault.code, fault.detail);
}
