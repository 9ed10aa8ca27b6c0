// The commands of the actors of ads: campaigns, served pools, and what a conversation was shown. Amounts are whole millionths of
// the currency's unit.

import type { DoneReply } from "./protocol.ts";

/** A campaign as its advertiser sealed it. The gross price never leaves the service but to its advertiser's own people. */
export interface CampaignTerms {
  readonly currency: string;
  /** What the advertiser pays for one confirmed render. */
  readonly gross_price: number;
  /** What the caller earns of it. */
  readonly net_price: number;
  /** What the campaign may cost in all. */
  readonly budget: number;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
  readonly paused: boolean;
  /** When the advertiser sealed it: of two, the later counts. */
  readonly sealed_at_ms: number;
  /** Id of the stored seal. */
  readonly seal_id: string;
  readonly sealed: AdSeal;
}

/** The seal of a campaign, an ad or a sponsored product, as far as it decides later whether that still stands. */
export interface AdSeal {
  readonly key_id: string;
  readonly cert_id: string;
  readonly sealed_at: string;
  readonly received_at: string;
  /** Whether a sidecar says when it was received. */
  readonly is_stated: boolean;
}

/**
 * What regions know of an ad, or of a sponsored product. The bytes, row and sidecar of an ad are a version in the record store; of a
 * sponsored product, only the seal is stored.
 */
export interface AdFacts {
  readonly ad_id: string;
  readonly business_uuid: string;
  readonly campaign_id: string;
  readonly generation: number;
  readonly hash: string;
  readonly countries: readonly string[];
  /** Empty for the whole countries. */
  readonly subdivisions: readonly string[];
  /** Folded, as requests are. */
  readonly keywords: readonly string[];
  readonly allow_repeats: boolean;
  /** The record id of the product that is sponsored; absent on an ad. A sponsored product has no keywords, so no pool finds it. */
  readonly product?: string;
  readonly sealed: AdSeal;
  readonly published_at_ms: number;
  readonly state: "live" | "withdrawn" | "deleted";
}

/** What regions know of a campaign. */
export interface CampaignFacts {
  readonly business_uuid: string;
  readonly campaign_id: string;
  readonly currency: string;
  readonly net_price: number;
  readonly sealed: AdSeal;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
  /** `spent`: the budget does not cover one more render. `stopped`: operators stopped it. */
  readonly state: "running" | "paused" | "spent" | "stopped";
  /** Until when nothing is served of it, because what a day may cost is spent; absent while the day has room. */
  readonly resumes_at_ms?: number;
}

/** What its advertiser is answered: nothing about money, which nobody else may learn. */
export interface CampaignReport extends Omit<CampaignFacts, "net_price" | "sealed"> {
  readonly renders: number;
  /** How many renders of a day one company may cause; it is answered to nobody, as it tells of budget and price. */
  readonly company_day_max: number;
  readonly ads: number;
  readonly stopped: CampaignStop | null;
  /** How often operators changed it. */
  readonly change: number;
}

export type StopReply =
  | { readonly status: "done"; readonly changed: boolean }
  /** `changed`: operators changed it since its sender saw it. */
  | { readonly status: "unknown" | "changed" };

/** That operators stopped a campaign, until they let it go on. */
export interface CampaignStop {
  /** What the advertiser is told. */
  readonly statement: string;
  readonly at_ms: number;
}

/** What one AI company rendered of a campaign. */
export interface RendersOfCompany {
  readonly company: string;
  /** Those that were reversed included. */
  readonly renders: number;
  readonly reversed: number;
  readonly clicks: number;
  readonly last_at_ms: number;
  /** The newest days on which it rendered or was clicked, oldest first. */
  readonly days: readonly DayOfCompany[];
}

/** What a campaign costs: for the people of its advertiser, who sealed price and budget, and for nobody else. */
export interface CampaignMoney {
  readonly report: CampaignReport;
  readonly terms: CampaignTerms;
  /** What was reversed not included, as in what companies caused. */
  readonly spent: number;
  /** What counts towards what a day may cost: with what was reversed. */
  readonly spent_today: number;
  /** What a day may cost. */
  readonly day_max: number;
  /** In the order of their ids, 100 at most. */
  readonly companies: readonly (RendersOfCompany & { readonly spent: number })[];
}

/** What one AI company stated of a campaign on a day: its number since 1970. */
export interface DayOfCompany {
  readonly day: number;
  readonly renders: number;
  readonly clicks: number;
}

/** Why a render is not charged, and so is none. */
export type RenderRefusal =
  | "budget_spent"
  | "campaign_not_running"
  | "ad_not_live"
  /** What a day of the campaign may cost is spent. */
  | "day_spent"
  /** The company has rendered as much of the campaign as one may in an hour, on a day, or in all. */
  | "company_limit";

export interface AdCampaignProtocol {
  /** Repeatable. Terms that were sealed earlier than those in force change nothing. */
  "campaign.accept"(command: { readonly terms: CampaignTerms }): CampaignReply;
  /**
   * The generation of a sealed creative; the same seal gets the same answer, so everything that is signed and stored with it can
   * be done again. A creative that was sealed earlier than what is known of the ad changes nothing.
   */
  "ad.assign"(command: {
    readonly ad_id: string;
    readonly seal_id: string;
    readonly sealed_at_ms: number;
    readonly hash: string;
  }): AssignAdReply;
  /** The creative is stored and readable: it may be served from now on. */
  "ad.publish"(command: {
    readonly facts: AdFacts;
    readonly seal_id: string;
    /** What the transparency log is told of the seal. */
    readonly leaf: string;
  }): AdReply;
  /** Takes an ad out of serving; `deleted` has its bytes purged as well. Repeatable, and nothing once a later creative is known. */
  "ad.remove"(command: {
    readonly ad_id: string;
    readonly state: RemovedAdState;
    readonly sealed_at_ms: number;
    readonly leaf: string;
  }): RemoveAdReply;
  /** Charges a render of an item that was served. The first answer is given again; the pool is told by `item.settle`. */
  "render.charge"(command: {
    readonly pool: string;
    readonly index: number;
    readonly ad_id: string;
    /** The AI company that states it. */
    readonly company: string;
    /** How it is shown, as the caller states. */
    readonly format: string;
    /** Whether it may be served now: its advertiser is a business whose certificate is active, and it stands with its campaign. */
    readonly is_served: boolean;
    /** The pool was served then, under the terms of that moment. */
    readonly served_at_ms: number;
  }): RenderReply;
  /**
   * Stops the campaign, or lets it go on where no statement is given. `changed` is false if it was so before. `expected` is the report's
   * `change` that was seen: after another act nothing is done.
   */
  "campaign.stop"(command: { readonly statement: string | null; readonly expected: number }): StopReply;
  /**
   * Gives the campaign back what a company's renders cost until now, by an act of operators: they count as reversed. `expected` as
   * for `campaign.stop`.
   */
  "renders.reverse"(command: { readonly company: string; readonly expected: number }): ReverseReply;
  /** From a pool: one of its items was clicked. */
  "click.note"(command: { readonly company: string }): DoneReply;
  /** Read-only. Null for a campaign that was never accepted. */
  "campaign.read"(): CampaignReport | null;
  /** Read-only: what companies rendered, in the order of their ids, 100 at most, after one. */
  "renders.list"(command: { readonly after: string }): readonly RendersOfCompany[];
  /** Read-only: see {@link CampaignMoney}, with the companies after one. Null for a campaign that was never accepted. */
  "money.read"(command: { readonly after: string }): CampaignMoney | null;
  /** Read-only: ads of the campaign in the order of their ids, 100 at most, after one. */
  "ads.list"(command: { readonly after: string }): readonly AdFacts[];
  /** Entries of the register, as they are to be projected: `campaign`, or the ids of ads. */
  "entries.read"(command: { readonly keys: readonly string[] }): { readonly entries: readonly AdEntry[] };
}

export interface AdEntry {
  readonly table: "campaign" | "ad";
  readonly partition: string;
  readonly key: string;
  readonly change: number;
  readonly body: string;
}

export type CampaignReply =
  | { readonly status: "accepted"; readonly report: CampaignReport }
  /** Later terms are in force. */
  | { readonly status: "superseded" }
  /** Renders were charged in another currency. */
  | { readonly status: "currency_mismatch"; readonly currency: string };

export type AssignAdReply =
  | { readonly status: "assigned"; readonly generation: number; readonly published_at_ms: number }
  | { readonly status: "campaign_unknown" }
  | { readonly status: "deleted" }
  /** A later document about this ad was accepted. */
  | { readonly status: "superseded" }
  /** The campaign has as many ads as it may have. */
  | { readonly status: "too_many" };

export type AdReply =
  | { readonly status: "done" }
  | { readonly status: "unknown" }
  /** A later document about this ad was accepted. */
  | { readonly status: "superseded" };

export type RemovedAdState = "withdrawn" | "deleted";

/** With what the ad is now: one that is deleted stays so. */
export type RemoveAdReply =
  | { readonly status: "done"; readonly state: RemovedAdState }
  | Exclude<AdReply, { readonly status: "done" }>;

/** One ad of a pool, as it is served. */
export interface ServedItem {
  readonly ad_id: string;
  readonly business_uuid: string;
  readonly campaign_id: string;
  readonly allow_repeats: boolean;
}

export interface AdPoolProtocol {
  /** A pool that was served. Repeatable. */
  "pool.serve"(command: {
    readonly company: string;
    readonly items: readonly ServedItem[];
    /** The conversation, as its actor is named; null if the caller named none. */
    readonly session: string | null;
    readonly served_at_ms: number;
  }): DoneReply;
  /** From the campaign, which has decided. */
  "item.settle"(command: { readonly index: number; readonly format: string } & Charged): DoneReply;
  /** The click token proves the render, of which the pool may not have been told yet. */
  "item.click"(command: { readonly index: number; readonly rendered_at_ms: number }): ClickReply;
  /** Read-only. */
  "pool.read"(): PoolReport | null;
}

export interface PoolReport {
  readonly company: string;
  readonly served_at_ms: number;
  readonly items: readonly (ServedItem & { readonly state: string; readonly format: string | null })[];
}

/** What a campaign decided of a render, and when. */
export interface Charged {
  readonly refusal: RenderRefusal | null;
  readonly at_ms: number;
}

export type RenderReply =
  | { readonly status: "rendered"; readonly rendered_at_ms: number }
  | { readonly status: "refused"; readonly reason: RenderRefusal }
  | { readonly status: "expired" };

/** `renders` is how many were reversed by this; otherwise as in {@link StopReply}. */
export type ReverseReply =
  | { readonly status: "done"; readonly renders: number }
  | Exclude<StopReply, { status: "done" }>;

export type ClickReply =
  | { readonly status: "clicked"; readonly clicked_at_ms: number }
  | { readonly status: "expired" }
  | { readonly status: "unknown" };

export interface AdSessionProtocol {
  /** From a pool: the ad was shown, and is left out of the conversation's pools until then. */
  "shown.note"(command: { readonly ad_id: string; readonly until_ms: number }): DoneReply;
  /** Read-only: the ads that are left out now. */
  "shown.read"(): { readonly ads: readonly string[] };
}
