// What people of an advertiser see and do at the portal: its campaigns with what they cost, and its ads.
//   PD1. Prices, budgets and what is spent are shown to people of the advertiser, whatever their role, and to nobody else: who reads them
//        here was asked for their role (PO1 in owner.ts).
//   PD2. A campaign binds the business to pay, so owners and admins seal it; an ad is sealed as records are (PB3 in publishing.ts).
//   PD3. What is sealed is judged before it is shown, and again before it is delivered as at the business surface; its person's journal has
//        it then (PB2).

import type { AdFacts, CampaignFacts, CampaignMoney } from "../../actors/messages/ads.ts";
import { bindingRoles } from "../../actors/messages/members.ts";
import { campaignRef } from "../../actors/messages/refs.ts";
import type { RemovalAction } from "../../actors/messages/removal.ts";
import { adProductSchema, isCampaign, parseCampaign } from "../../protocol/ad-campaign.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { parseObject, parsePayload } from "../../protocol/dsse.ts";
import { formatTimestamp, isUuidV4, recordType } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { campaignIdForm, type RecordFault } from "../../protocol/records/fields.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { sealV2 } from "../../protocol/seal.ts";
import type { AdAnswer, AdImage } from "../../protocol/wire/ad-requests.ts";
import { parseWithdrawal } from "../../protocol/withdrawal.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import type { UploadImage } from "../ads/ad-images.ts";
import type { judgeUnsealed, SealedAdCall } from "../ads/publish-ad.ts";
import { type Outcome as Answered, bodyText, isRefused, type Refused } from "../answer.ts";
import { type OwnerRefusal, sealingRoles } from "./owner.ts";
import type { SignedIn } from "./people.ts";
import {
  type Delivered,
  documentOf,
  type MadeRecord,
  type SealerDeps,
  sealerOf,
  sealOver,
  type TakenSeal,
  takeSealed,
} from "./publishing.ts";
import type { ReadyToSeal } from "./sealing.ts";

/** What the business surface does for an advertiser. */
export interface AdActs {
  readonly publishAd: (call: SealedAdCall) => Promise<Answered>;
  readonly removeAd: (call: SealedAdCall & { readonly campaignId: string }) => Promise<Answered>;
  readonly judgeUnsealed: (document: Parameters<typeof judgeUnsealed>[1]) => Promise<Refused | null>;
  readonly uploadImage: UploadImage;
  /** In which ads are paid here. */
  readonly currency: string;
}

export interface AdvertisingDeps extends SealerDeps {
  readonly registerStore: RegisterStore;
  readonly records: RecordStore;
  readonly ads: AdActs;
}

type Outcome<T> = Promise<Result<T, OwnerRefusal>>;

/** One of a business's campaigns, in a list. */
export interface ListedCampaign {
  readonly facts: CampaignFacts;
  readonly renders: number;
  readonly budget: number;
  readonly spent: number;
}

/** A campaign with a page of its ads, and a page of the companies that rendered them. */
export interface OwnCampaign extends Omit<CampaignMoney, "companies"> {
  readonly companies: readonly (CampaignMoney["companies"][number] & {
    readonly legal_name: string | null;
  })[];
  readonly ads: readonly AdFacts[];
  /** Where the next page of companies begins, and that of ads; null on the last. */
  readonly next: { readonly companies: string | null; readonly ads: string | null };
}

/** What became of something that was sealed. */
export interface Advertised {
  readonly kind: "campaign" | "ad" | RemovalAction;
  readonly campaign_id: string;
  /** Null for a campaign. */
  readonly ad_id: string | null;
}

interface OfCampaign {
  readonly uuid: string;
  readonly campaign_id: string;
}

interface Written {
  readonly uuid: string;
  readonly record: JsonObject;
}

export interface OwnAdvertising {
  readonly currency: string;
  /** In the order of their ids, a page after one. For somebody who has a role in the business. */
  campaigns(
    uuid: string,
    after: string,
  ): Promise<{ readonly campaigns: readonly ListedCampaign[]; readonly next: string | null }>;
  /** With the companies, or the ads, after the one that `after` names. For somebody who has a role in the business. */
  campaign(asked: OfCampaign & { readonly after: string }): Outcome<OwnCampaign>;
  /** What was published last of an ad, until it is purged, or of a sponsored product. For somebody who has a role in the business. */
  ad(asked: OfCampaign & { readonly ad_id: string }): Outcome<JsonObject>;
  madeCampaign(who: SignedIn, written: Written): Outcome<MadeRecord>;
  /** Of an ad, or of a sponsored product. */
  madeAd(who: SignedIn, written: Written): Outcome<MadeRecord>;
  removal(
    who: SignedIn,
    asked: OfCampaign & { readonly ad_id: string; readonly action: RemovalAction },
  ): Outcome<ReadyToSeal>;
  /** For somebody who seals for the business. */
  image(sent: { readonly uuid: string; readonly bytes: Uint8Array }): Outcome<AdImage>;
  /** Delivers what the passkey sealed. Repeatable. */
  deliver(who: SignedIn, sealed: Delivered & { readonly campaign_id: string }): Outcome<Advertised>;
}

/** Campaigns and ads of one node's portal. Its methods throw {@link StoreError}. */
export function createOwnAdvertising(deps: AdvertisingDeps): OwnAdvertising {
  return {
    currency: deps.ads.currency,
    campaigns: (uuid, after) => listCampaigns(deps, uuid, after),
    campaign: (asked) => readCampaign(deps, asked),
    ad: (asked) => readAd(deps, asked),
    madeCampaign: (who, { uuid, record }) => made(deps, who, { uuid, record, roles: bindingRoles }),
    madeAd: (who, { uuid, record }) => made(deps, who, { uuid, record, roles: sealingRoles }),
    removal: (who, asked) => readyRemoval(deps, who, asked),
    image: async ({ uuid, bytes }) =>
      answered<AdImage>(
        await deps.ads.uploadImage({ caller: { party: { uuid } }, bytes, declaredMediaType: null }),
      ),
    deliver: (who, sealed) => deliver(deps, who, sealed),
  };
}

const campaignsPerPage = 25;
/** Of the companies and of the ads of a campaign, as its actor lists them. */
const perPage = 100;

async function listCampaigns(
  { registerStore, actors }: AdvertisingDeps,
  uuid: string,
  after: string,
): ReturnType<OwnAdvertising["campaigns"]> {
  const entries = await registerStore.list("campaign", uuid);
  const all = entries.map(({ body }) => JSON.parse(body) as CampaignFacts);
  const later = all.filter(({ campaign_id }) => campaign_id > after);
  const shown = later.slice(0, campaignsPerPage);
  const campaigns = shown.map(async (facts) => {
    const ref = campaignRef(uuid, facts.campaign_id);
    const known = await actors.ask(ref, { type: "money.read", after: "" });
    const { report, terms, spent } = known ?? {};
    return { facts, renders: report?.renders ?? 0, budget: terms?.budget ?? 0, spent: spent ?? 0 };
  });
  const next = later.length > shown.length ? (shown.at(-1)?.campaign_id ?? null) : null;
  return { campaigns: await Promise.all(campaigns), next };
}

const noCampaign = refuse("not_there", "The business has no such campaign.");

async function readCampaign(
  { actors, register }: AdvertisingDeps,
  { uuid, campaign_id, after }: Parameters<OwnAdvertising["campaign"]>[0],
): Outcome<OwnCampaign> {
  const isAd = recordType(after) === "ads";
  if (!campaignIdForm.accepts(campaign_id) || !(after === "" || isAd || isUuidV4(after))) return noCampaign;
  const ref = campaignRef(uuid, campaign_id);
  const [known, ads] = await Promise.all([
    actors.ask(ref, { type: "money.read", after: isAd ? "" : after }),
    actors.ask(ref, { type: "ads.list", after: isAd ? after : "" }),
  ]);
  if (known === null) return noCampaign;
  const companies = known.companies.map(async (each) => {
    const party = await register.party(each.company);
    return { ...each, legal_name: party?.legal_name ?? null };
  });
  const next = {
    companies: known.companies.length === perPage ? (known.companies.at(-1)?.company ?? null) : null,
    ads: ads.length === perPage ? (ads.at(-1)?.ad_id ?? null) : null,
  };
  return ok({ ...known, companies: await Promise.all(companies), ads, next });
}

const noAd = refuse("not_there", "The campaign has no such ad.");

type OfAd = OfCampaign & { readonly ad_id: string };

async function findAd({ actors }: AdvertisingDeps, { uuid, campaign_id, ad_id }: OfAd): Outcome<AdFacts> {
  if (!campaignIdForm.accepts(campaign_id) || recordType(ad_id) !== "ads") return noAd;
  // Those after what it begins with: it is among the first of them.
  const listed = { type: "ads.list", after: ad_id.slice(0, -1) } as const;
  const ads = await actors.ask(campaignRef(uuid, campaign_id), listed);
  const ad = ads.find((each) => each.ad_id === ad_id);
  return ad === undefined ? noAd : ok(ad);
}

async function readAd(deps: AdvertisingDeps, asked: OfAd): Outcome<JsonObject> {
  const found = await findAd(deps, asked);
  if (!found.ok) return found;
  const { ad_id, campaign_id, product: record_id, countries, allow_repeats, generation, hash } = found.value;
  if (record_id !== undefined)
    return ok({ schema: adProductSchema, campaign_id, record_id, countries, allow_repeats });
  const { records } = deps;
  const [version] = await records.readOrigins([{ record_id: ad_id, generation, hash }]);
  const parsed = version === undefined ? null : parseObject(version.bytes);
  return parsed?.ok === true ? ok(parsed.value) : noAd;
}

async function made(
  deps: AdvertisingDeps,
  who: SignedIn,
  { uuid, record, roles }: Written & { readonly roles: typeof bindingRoles },
): Outcome<MadeRecord> {
  const sealer = await sealerOf(deps, who, { uuid, roles });
  if (!sealer.ok) return sealer;
  const read = documentOf(record);
  if (!read.ok) return read;
  const refused = await deps.ads.judgeUnsealed({ businessUuid: uuid, bytes: read.value });
  if (refused !== null) return ok({ kind: "faulty", faults: faultsIn(refused) });
  const ready = sealOver(deps, who, { uuid, document: read.value, record_type: "ads", ...sealer.value });
  return ready.ok ? ok({ kind: "ready", ready: ready.value }) : ready;
}

/** What a refusal names: its errors, the field of its reason, or the pointer with which its detail begins. */
function faultsIn({ problem }: Refused): readonly RecordFault[] {
  const { errors = [], detail, reason = "" } = problem;
  if (errors.length > 0)
    return errors.map((each) => ({ code: "value_invalid", pointer: each.pointer, detail: each.detail }));
  const [, pointer = fieldsOfReasons[reason], said] = /^(\/[a-z_/0-9]*): (.*)$/s.exec(detail) ?? [];
  return [{ code: "value_invalid", pointer: pointer === "/" ? "" : (pointer ?? ""), detail: said ?? detail }];
}

const fieldsOfReasons: Readonly<Record<string, string>> = {
  campaign_unknown: "/campaign_id",
  product_unknown: "/record_id",
};

async function readyRemoval(
  deps: AdvertisingDeps,
  who: SignedIn,
  { action, ...of }: Parameters<OwnAdvertising["removal"]>[1],
): Outcome<ReadyToSeal> {
  const { uuid } = of;
  const sealer = await sealerOf(deps, who, { uuid, roles: sealingRoles });
  if (!sealer.ok) return sealer;
  const ad = await findAd(deps, of);
  if (!ad.ok) return ad;
  const document = canonicalBytes({
    record_id: ad.value.ad_id,
    action,
    at: formatTimestamp(deps.clock.now()),
  });
  return sealOver(deps, who, { uuid, document, record_type: "ads", ...sealer.value });
}

async function deliver(
  deps: AdvertisingDeps,
  who: SignedIn,
  given: Parameters<OwnAdvertising["deliver"]>[1],
): Outcome<Advertised> {
  const { uuid, campaign_id } = given;
  const taken = await takeSealed(deps, who, given);
  if (!taken.ok) return taken;
  const { seal, payload, document, keep } = taken.value;
  const claimed = parsePayload(payload, sealV2);
  if (!claimed.ok || claimed.value.record_type !== "ads")
    return refuse("not_accepted", "This document is not about ads.");
  const call = { businessUuid: uuid, recordBase64: toBase64(document), seal };
  const removal = parseWithdrawal(document);
  if (removal.ok) {
    const { action, record_id: ad_id } = removal.value;
    const ad = await findAd(deps, { uuid, campaign_id, ad_id });
    if (!ad.ok) return ad;
    const kept = await keep(`ad.${action}`, ad_id);
    if (!kept.ok) return kept;
    const done = answered(await deps.ads.removeAd({ ...call, campaignId: campaign_id }));
    return done.ok ? ok({ kind: action, campaign_id, ad_id }) : done;
  }
  return isCampaign(document)
    ? publishCampaign(deps, who, { ...taken.value, call })
    : publishOfCampaign(deps, { ...taken.value, call });
}

type Taken = TakenSeal & { readonly call: SealedAdCall };

async function publishCampaign(
  deps: AdvertisingDeps,
  who: SignedIn,
  { document, keep, call }: Taken,
): Outcome<Advertised> {
  const allowed = await deps.owner.may(who, call.businessUuid, bindingRoles);
  if (!allowed.ok) return allowed;
  const parsed = parseCampaign(document);
  if (!parsed.ok) return refuse("not_accepted", parsed.detail);
  const { campaign_id } = parsed.value.record;
  const fault = await refusalOf(deps, call.businessUuid, document);
  if (fault !== null) return fault;
  const kept = await keep("campaign.seal", campaign_id);
  if (!kept.ok) return kept;
  const done = answered(await deps.ads.publishAd(call));
  return done.ok ? ok({ kind: "campaign", campaign_id, ad_id: null }) : done;
}

/** An ad, or a sponsored product. */
async function publishOfCampaign(
  deps: AdvertisingDeps,
  { document, keep, call }: Taken,
): Outcome<Advertised> {
  const parsed = parseObject(document);
  if (!parsed.ok) return refuse("not_accepted", "The ad cannot be read.");
  const { campaign_id, record_id, business_ad_id = record_id } = parsed.value;
  const fault = await refusalOf(deps, call.businessUuid, document);
  if (fault !== null) return fault;
  const kept = await keep("ad.seal", `${String(campaign_id)}: ${String(business_ad_id)}`);
  if (!kept.ok) return kept;
  const done = answered<AdAnswer>(await deps.ads.publishAd(call));
  return done.ok ? ok({ kind: "ad", campaign_id: String(campaign_id), ad_id: done.value.ad_id }) : done;
}

/** The lists of the content rules may have changed since it was shown. */
async function refusalOf({ ads }: AdvertisingDeps, businessUuid: string, bytes: Uint8Array) {
  const refused = await ads.judgeUnsealed({ businessUuid, bytes });
  if (refused === null) return null;
  const [first] = faultsIn(refused);
  return refuse(
    "not_accepted",
    first === undefined ? refused.problem.detail : `${first.pointer} ${first.detail}`,
  );
}

function answered<T>(outcome: Answered): Result<T, "not_accepted" | "not_there"> {
  if (!isRefused(outcome)) return ok(JSON.parse(bodyText(outcome.body)) as T);
  return refuse(outcome.problem.status === 404 ? "not_there" : "not_accepted", outcome.problem.detail);
}
