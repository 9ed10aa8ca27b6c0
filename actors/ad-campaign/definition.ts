// The actor of an ad campaign: its terms, its ads and its budget. Keyed rows: 16 ads, 17 charged renders, 18 money, 19 what each
// company rendered.
//   AD1. A render is charged once, under its pool and index, within ten minutes of the pool, however often it is asked for; what
//        was answered first is answered again for two days.
//   AD2. What a render costs is the gross price of the terms in force when it is charged, and the budget is never exceeded, nor what a
//        day or one company may spend of it.
//   AD3. A seal has one generation, so an interrupted publication is repeated with the same bytes.
//   AD4. Of two documents about an ad, the one that was sealed later counts, in whatever order they come and however often. What
//        is deleted stays deleted, also if a version was being published meanwhile.
//   AD5. Gross prices, budgets and what is spent leave the actor with no event, effect or context, and with no reply but that of
//        `money.read`, which is for the people of the advertiser; regions are told the net price.

import { type AdCampaignEvent, type AdVersion, adCampaignMachine } from "../../machines/ad-campaign.ts";
import { adClickMs, adRenderMs, campaignAdsMax } from "../../protocol/limits.ts";
import { sealEntry } from "../../protocol/log/leaves.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type {
  AdCampaignProtocol,
  AdEntry,
  AdFacts,
  AdReply,
  AssignAdReply,
  CampaignFacts,
  CampaignMoney,
  CampaignReply,
  CampaignReport,
  CampaignStop,
  CampaignTerms,
  Charged,
  DayOfCompany,
  RemoveAdReply,
  RenderRefusal,
  RenderReply,
  RendersOfCompany,
  ReverseReply,
  StopReply,
} from "../messages/ads.ts";
import type { CommandOf, Commands, DoneReply } from "../messages/protocol.ts";
import { logRef, partsOf } from "../messages/refs.ts";
import { type Decision, defineActor, type Effect, tell, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineKeptTable } from "../system/row-table.ts";

type View = ViewOf<typeof adCampaignMachine>;
type Asked<T extends keyof AdCampaignProtocol> = CommandOf<AdCampaignProtocol, T>;
type Decided<R> = Decision<R, AdCampaignEvent>;

interface KeptAd {
  /** The creative that may be published; null once the ad is removed, until another is assigned. */
  readonly seal_id: string | null;
  /** When the last document about the ad was sealed. */
  readonly sealed_at_ms: number;
  readonly deleted: boolean;
  /** Every version, oldest first; the last is that of the seal. */
  readonly versions: readonly AdVersion[];
  readonly published_at_ms: number;
  /** Null until it is published. */
  readonly facts: AdFacts | null;
  /** The change of the campaign with which it was projected last. */
  readonly change: number;
}

interface Money extends SpentOfDay {
  readonly terms: CampaignTerms;
  readonly spent: number;
  readonly stopped: CampaignStop | null;
  /** How often operators changed it. */
  readonly change: number;
}

const money = defineKeptTable<Money>("money", 18);
const ads = defineKeptTable<KeptAd>("ads", 16);
const renders = defineJsonTable<Charged>("charged renders", 17);
const companies = defineKeptTable<CompanyRenders>("renders of companies", 19);
/** Longer than its click token is of use. */
const renderKeptMs = 2 * adClickMs;
const adsPageMax = 100;
const companiesPageMax = 100;
/** Maximum number of versions of one ad. */
const versionsMax = 200;

export const adCampaignActor = defineActor<"ad-campaign", typeof adCampaignMachine>({
  kind: "ad-campaign",
  schemaVersion: 1,
  machine: adCampaignMachine,
  durability: "journal",
  joinable: ["click.note"],
  input: () => ({}),
  rows: rowsFor,
  keeps: [money.rt, ads.rt, companies.rt],
  decide: {
    "campaign.accept": accept,
    "ad.assign": assign,
    "ad.publish": publish,
    "ad.remove": remove,
    "render.charge": charge,
    "renders.reverse": reverse,
    "campaign.stop": stop,
    "click.note": noteClick,
    "campaign.read": (_command, view) => {
      const now = money.read(view, "");
      return { reply: now === undefined ? null : reportOf(view, now) };
    },
    "renders.list": (_command, view) => ({
      reply: companies.readAll(view).map(({ k2, value }) => rendersOf(k2, value)),
    }),
    "money.read": (_command, view) => {
      const now = money.read(view, "");
      return { reply: now === undefined ? null : moneyOf(view, now) };
    },
    "ads.list": (_command, view) => ({
      reply: ads.readAll(view).flatMap(({ value }) => (value.facts === null ? [] : [value.facts])),
    }),
    "entries.read": ({ keys }, view) => ({ reply: { entries: keys.flatMap((key) => entryOf(key, view)) } }),
  },
  absent: {
    "campaign.read": { reply: null },
    "ads.list": { reply: [] },
    "renders.list": { reply: [] },
    "money.read": { reply: null },
    "renders.reverse": { reply: { status: "unknown" } },
    "campaign.stop": { reply: { status: "unknown" } },
    "click.note": { reply: { status: "done" } },
    "ad.assign": { reply: { status: "campaign_unknown" } },
  },
  effects: {
    projectAds: (params: { keys: readonly string[] }) => [{ kind: "activity", name: "projectAds", params }],
    purgeAd: (params: { ad_id: string; versions: readonly AdVersion[] }) => [purge(params)],
  },
});

function rowsFor(command: Commands<AdCampaignProtocol>): readonly RowSelection[] {
  switch (command.type) {
    case "ad.assign":
    case "ad.remove":
      return [ads.select([command.ad_id])];
    case "ad.publish":
      return [ads.select([command.facts.ad_id])];
    case "render.charge":
      return [
        renders.select([renderKey(command)]),
        ads.select([command.ad_id]),
        companies.select([command.company]),
        moneyRow,
      ];
    case "click.note":
      return [companies.select([command.company])];
    case "renders.reverse":
      return [companies.select([command.company]), moneyRow];
    case "renders.list":
      return [companies.selectPage(companiesPageMax, { k: 0, k2: command.after })];
    case "money.read":
      return [companies.selectPage(companiesPageMax, { k: 0, k2: command.after }), moneyRow];
    case "ads.list":
      return [ads.selectPage(adsPageMax, { k: 0, k2: command.after })];
    case "entries.read":
      return [ads.select(command.keys), moneyRow];
    case "campaign.accept":
    case "campaign.stop":
    case "campaign.read":
      return [moneyRow];
  }
}

const moneyRow: RowSelection = money.select([""]);

function accept({ terms }: Asked<"campaign.accept">, view: View): Decided<CampaignReply> {
  const { context } = view.snapshot;
  const known = money.read(view, "");
  if (known !== undefined && context.sealId !== terms.seal_id) {
    if (terms.sealed_at_ms <= context.sealedAtMs) return { reply: { status: "superseded" } };
    if (terms.currency !== known.terms.currency && context.renders > 0)
      return { reply: { status: "currency_mismatch", currency: known.terms.currency } };
  }
  const { spent = 0, day = 0, of_day = 0, stopped = null, change = 0 } = known ?? {};
  const next = { terms, spent, day, of_day, stopped, change };
  const report = reportOf(view, next);
  if (context.sealId === terms.seal_id) return { reply: { status: "accepted", report } };
  const { seal_id, sealed_at_ms } = terms;
  return {
    reply: { status: "accepted", report },
    events: [{ type: "campaign.accepted", seal_id, sealed_at_ms, state: stateOf(next) }],
    puts: [money.write("", next)],
  };
}

function assign(
  { ad_id, seal_id, sealed_at_ms, hash }: Asked<"ad.assign">,
  view: View,
): Decided<AssignAdReply> {
  const { context } = view.snapshot;
  if (context.sealId === null) return { reply: { status: "campaign_unknown" } };
  const known = ads.read(view, ad_id);
  if (known?.deleted) return { reply: { status: "deleted" } };
  if (known?.seal_id === seal_id) {
    const { versions, published_at_ms } = known;
    return { reply: { status: "assigned", generation: versions.length, published_at_ms } };
  }
  if (known !== undefined && sealed_at_ms <= known.sealed_at_ms) return { reply: { status: "superseded" } };
  const isFull = known === undefined ? context.ads >= campaignAdsMax : known.versions.length >= versionsMax;
  if (isFull) return { reply: { status: "too_many" } };
  const generation = (known?.versions.length ?? 0) + 1;
  const kept: KeptAd = {
    seal_id,
    sealed_at_ms,
    deleted: false,
    facts: known?.facts ?? null,
    change: known?.change ?? 0,
    published_at_ms: view.nowMs,
    versions: [...(known?.versions ?? []), { generation, hash }],
  };
  return {
    reply: { status: "assigned", generation, published_at_ms: view.nowMs },
    events: [{ type: "ad.assigned", ad_id, generation, first: known === undefined }],
    puts: [ads.write(ad_id, kept)],
  };
}

function publish({ facts, seal_id, leaf }: Asked<"ad.publish">, view: View): Decided<AdReply> {
  const { ad_id, generation } = facts;
  const known = ads.read(view, ad_id);
  if (known === undefined) return { reply: { status: "unknown" } };
  // Its bytes may have been stored after the others were purged.
  if (known.deleted)
    return { reply: { status: "superseded" }, effects: [purge({ ad_id, versions: known.versions })] };
  if (known.seal_id !== seal_id) return { reply: { status: "superseded" } };
  if (known.facts?.generation === generation) return { reply: { status: "done" } };
  const change = view.snapshot.context.change + 1;
  return {
    reply: { status: "done" },
    events: [{ type: "ad.published", ad_id, generation }],
    effects: [logSeal(leaf, view)],
    puts: [ads.write(ad_id, { ...known, facts, change })],
  };
}

function remove(
  { ad_id, state, sealed_at_ms, leaf }: Asked<"ad.remove">,
  view: View,
): Decided<RemoveAdReply> {
  const known = ads.read(view, ad_id);
  if (known === undefined) return { reply: { status: "unknown" } };
  const { facts, versions } = known;
  // What is deleted stays deleted; what is withdrawn may still be deleted, or be being published again.
  if (known.deleted) return { reply: { status: "done", state: "deleted" } };
  if (state === "withdrawn" && known.seal_id === null) return { reply: { status: "done", state } };
  if (sealed_at_ms < known.sealed_at_ms) return { reply: { status: "superseded" } };
  const change = view.snapshot.context.change + 1;
  return {
    reply: { status: "done", state },
    events: [{ type: "ad.removed", ad_id, state, purged: state === "deleted" ? versions : [] }],
    effects: [logSeal(leaf, view)],
    puts: [
      ads.write(ad_id, {
        ...known,
        seal_id: null,
        sealed_at_ms,
        change,
        deleted: state === "deleted",
        facts: facts && { ...facts, state },
      }),
    ],
  };
}

function purge(params: { readonly ad_id: string; readonly versions: readonly AdVersion[] }): Effect {
  return { kind: "activity", name: "purgeAd", params };
}

function logSeal(leaf: string, { id }: View): Effect {
  return tell(logRef(), { type: "log.append", entries: [sealEntry(partsOf(id).party, leaf)] });
}

function renderKey({ pool, index }: Pick<Asked<"render.charge">, "pool" | "index">): string {
  return `${pool}/${index}`;
}

function charge(command: Asked<"render.charge">, view: View): Decided<RenderReply> {
  const { pool, index, ad_id, format, served_at_ms } = command;
  const key = renderKey(command);
  const known = renders.read(view, key);
  if (known !== undefined) return { reply: replyOf(known) };
  if (view.nowMs > served_at_ms + adRenderMs) return { reply: { status: "expired" } };
  const now = money.read(view, "");
  const amount = now?.terms.gross_price ?? 0;
  const caused = withRender(companies.read(view, command.company) ?? noRenders, amount, view.nowMs);
  const decided: Charged = { refusal: refusalOf(command, view, { now, caused }), at_ms: view.nowMs };
  const kept = renders.write(key, decided, { expiresAtMs: view.nowMs + renderKeptMs });
  const told = tell({ kind: "ad-pool", id: pool }, { type: "item.settle", index, format, ...decided });
  const reply = replyOf(decided);
  if (decided.refusal !== null || now === undefined) return { reply, effects: [told], puts: [kept] };
  const next = { ...addToDay(now, amount, view.nowMs), spent: now.spent + amount };
  const ends_day = resumesAt(next.terms, next, view.nowMs) !== null;
  return {
    reply,
    effects: [told],
    events: [{ type: "render.charged", ad_id, state: stateOf(next), ends_day }],
    puts: [kept, money.write("", next), companies.write(command.company, caused)],
  };
}

/** A click follows a render. */
function noteClick({ company }: Asked<"click.note">, view: View): Decided<DoneReply> {
  const known = companies.read(view, company);
  const puts = known === undefined ? [] : [companies.write(company, withClick(known, view.nowMs))];
  return { reply: { status: "done" }, puts };
}

/** See RB3. */
function reverse({ company, expected }: Asked<"renders.reverse">, view: View): Decided<ReverseReply> {
  const [now, caused] = [money.read(view, ""), companies.read(view, company)];
  if (now === undefined || caused === undefined) return { reply: { status: "unknown" } };
  const [count, amount] = [caused.renders - caused.reversed, caused.spent - caused.given_back];
  if (count === 0) return { reply: { status: "done", renders: 0 } };
  if (expected !== now.change) return { reply: { status: "changed" } };
  const next = { ...now, spent: now.spent - amount, change: now.change + 1 };
  const given = { ...caused, reversed: caused.renders, given_back: caused.spent };
  return {
    reply: { status: "done", renders: count },
    events: [{ type: "renders.reversed", company, renders: count, state: stateOf(next) }],
    puts: [money.write("", next), companies.write(company, given)],
  };
}

/** New terms do not undo it: only operators let the campaign go on. */
function stop({ statement, expected }: Asked<"campaign.stop">, view: View): Decided<StopReply> {
  const now = money.read(view, "");
  if (now === undefined) return { reply: { status: "unknown" } };
  if (now.stopped?.statement === (statement ?? undefined))
    return { reply: { status: "done", changed: false } };
  if (expected !== now.change) return { reply: { status: "changed" } };
  const stopped = statement === null ? null : { statement, at_ms: view.nowMs };
  const next = { ...now, stopped, change: now.change + 1 };
  const type = statement === null ? "campaign.resumed" : "campaign.stopped";
  return {
    reply: { status: "done", changed: true },
    events: [{ type, state: stateOf(next) }],
    puts: [money.write("", next)],
  };
}

function replyOf({ refusal, at_ms }: Charged): RenderReply {
  return refusal === null
    ? { status: "rendered", rendered_at_ms: at_ms }
    : { status: "refused", reason: refusal };
}

/** A pool that was served before the end of its campaign may be rendered after it. */
function refusalOf(
  { ad_id, is_served, served_at_ms }: Asked<"render.charge">,
  view: View,
  { now, caused }: { readonly now: Money | undefined; readonly caused: CompanyRenders },
): RenderRefusal | null {
  if (now === undefined || now.terms.paused || now.stopped !== null) return "campaign_not_running";
  const { terms, spent } = now;
  if (served_at_ms < terms.starts_at_ms || served_at_ms >= terms.ends_at_ms) return "campaign_not_running";
  if (!is_served || ads.read(view, ad_id)?.facts?.state !== "live") return "ad_not_live";
  if (spent + terms.gross_price > terms.budget) return "budget_spent";
  if (resumesAt(terms, now, view.nowMs) !== null) return "day_spent";
  return isOverCompanyBound(caused, terms) ? "company_limit" : null;
}

function stateOf({ terms, spent, stopped }: Money): CampaignFacts["state"] {
  if (stopped !== null) return "stopped";
  if (terms.paused) return "paused";
  return spent + terms.gross_price > terms.budget ? "spent" : "running";
}

function reportOf({ id, snapshot }: View, now: Money): CampaignReport {
  const { party: business_uuid, own: campaign_id } = partsOf(id);
  const { currency, starts_at_ms, ends_at_ms } = now.terms;
  const { renders: count, ads: adCount } = snapshot.context;
  return {
    business_uuid,
    campaign_id,
    currency,
    starts_at_ms,
    ends_at_ms,
    state: stateOf(now),
    renders: count,
    ads: adCount,
    company_day_max: Math.floor(companyDayMax(now.terms) / now.terms.gross_price),
    stopped: now.stopped,
    change: now.change,
  };
}

function rendersOf(
  company: string,
  { renders, reversed, clicks, last_at_ms, days }: CompanyRenders,
): RendersOfCompany {
  return { company, renders, reversed, clicks, last_at_ms, days };
}

function moneyOf(view: View, now: Money): CampaignMoney {
  const today = Math.floor(view.nowMs / dayMs);
  return {
    report: reportOf(view, now),
    terms: now.terms,
    spent: now.spent,
    spent_today: now.day === today ? now.of_day : 0,
    day_max: dayMax(now.terms),
    companies: companies.readAll(view).map(({ k2, value }) => ({
      ...rendersOf(k2, value),
      spent: value.spent - value.given_back,
    })),
  };
}

function entryOf(key: string, view: View): readonly AdEntry[] {
  const { party: partition, own: campaign_id } = partsOf(view.id);
  if (key === "campaign") {
    const now = money.read(view, "");
    if (now === undefined) return [];
    const { currency, net_price, sealed, starts_at_ms, ends_at_ms } = now.terms;
    const resumes_at_ms = resumesAt(now.terms, now, view.nowMs);
    const facts: CampaignFacts = {
      ...(resumes_at_ms === null ? {} : { resumes_at_ms }),
      business_uuid: partition,
      campaign_id,
      currency,
      net_price,
      sealed,
      starts_at_ms,
      ends_at_ms,
      state: stateOf(now),
    };
    const { change } = view.snapshot.context;
    const body = JSON.stringify(facts);
    return [{ table: "campaign", partition, key: `${partition}/${campaign_id}`, change, body }];
  }
  const known = ads.read(view, key);
  if (!known?.facts) return [];
  return [{ table: "ad", partition, key, change: known.change, body: JSON.stringify(known.facts) }];
}

// How fast a campaign may be spent, and how much of it by one company. A render is the word of the company that earns by it, so what
// bounds it must not depend on that word.
//   RB1. A day (UTC) costs at most twice the even share of the budget, and at least a hundred renders, as far as the budget goes.
//   RB2. One company causes at most half of what a day may cost, a tenth of it in an hour, and half of the budget in all; but never
//        less than 50 renders a day, 20 an hour and 100 in all, since a small campaign could not run otherwise.
//   RB3. What is reversed is given back to the campaign, and not to the bounds of the company that caused it.

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const dailyShares = 2;
const leastRenders = { ofDay: 100, companyOfHour: 20, companyOfDay: 50, company: 100 };

/** What was spent on the day, and in the hour, that it names: numbers of days and hours since 1970. */
interface SpentOfDay {
  readonly day: number;
  readonly of_day: number;
}

/** What one company caused. Amounts are of the campaign's currency; see AD5. */
interface CompanyRenders extends SpentOfDay {
  readonly hour: number;
  readonly of_hour: number;
  readonly spent: number;
  readonly given_back: number;
  readonly renders: number;
  /** Renders that operators reversed. */
  readonly reversed: number;
  readonly clicks: number;
  readonly last_at_ms: number;
  readonly days: readonly DayOfCompany[];
}

/** Days that are kept of a company: a day and the week before it. */
const daysMax = 8;

const noRenders: CompanyRenders = {
  day: 0,
  of_day: 0,
  hour: 0,
  of_hour: 0,
  spent: 0,
  given_back: 0,
  renders: 0,
  reversed: 0,
  clicks: 0,
  last_at_ms: 0,
  days: [],
};

/** What a day may cost (RB1). */
export function dayMax({
  budget,
  gross_price,
  starts_at_ms,
  ends_at_ms,
}: Pick<CampaignTerms, "budget" | "gross_price" | "starts_at_ms" | "ends_at_ms">): number {
  const days = Math.max(1, Math.ceil((ends_at_ms - starts_at_ms) / dayMs));
  return Math.min(
    budget,
    Math.max(Math.floor((dailyShares * budget) / days), leastRenders.ofDay * gross_price),
  );
}

/** When the next render may be charged again; null if the day has room for one. */
function resumesAt(terms: CampaignTerms, spent: SpentOfDay, nowMs: number): number | null {
  const day = Math.floor(nowMs / dayMs);
  const ofDay = spent.day === day ? spent.of_day : 0;
  return ofDay + terms.gross_price > dayMax(terms) ? (day + 1) * dayMs : null;
}

function addToDay<T extends SpentOfDay>(spent: T, amount: number, nowMs: number): T {
  const day = Math.floor(nowMs / dayMs);
  return { ...spent, day, of_day: amount + (spent.day === day ? spent.of_day : 0) };
}

/** What a company has caused with one more render. */
function withRender(before: CompanyRenders, amount: number, nowMs: number): CompanyRenders {
  const hour = Math.floor(nowMs / hourMs);
  return {
    ...addToDay(before, amount, nowMs),
    hour,
    of_hour: amount + (before.hour === hour ? before.of_hour : 0),
    spent: before.spent + amount,
    renders: before.renders + 1,
    last_at_ms: nowMs,
    days: withStatement(before.days, "renders", nowMs),
  };
}

function withClick(before: CompanyRenders, nowMs: number): CompanyRenders {
  return { ...before, clicks: before.clicks + 1, days: withStatement(before.days, "clicks", nowMs) };
}

function withStatement(
  days: readonly DayOfCompany[],
  kind: "renders" | "clicks",
  nowMs: number,
): readonly DayOfCompany[] {
  const day = Math.floor(nowMs / dayMs);
  const known = days.find((each) => each.day === day) ?? { day, renders: 0, clicks: 0 };
  const earlier = days.filter((each) => each.day < day && each.day > day - daysMax);
  return [...earlier, { ...known, [kind]: known[kind] + 1 }];
}

/** Whether a company causes more than it may with the render that it has been charged with here (RB2). */
function isOverCompanyBound(after: CompanyRenders, terms: CampaignTerms): boolean {
  const atLeast = (share: number, renders: number): number => Math.max(share, renders * terms.gross_price);
  return (
    after.of_hour > atLeast(dayMax(terms) / 10, leastRenders.companyOfHour) ||
    after.of_day > companyDayMax(terms) ||
    after.spent > atLeast(terms.budget / 2, leastRenders.company)
  );
}

function companyDayMax(terms: CampaignTerms): number {
  return Math.max(dayMax(terms) / 2, leastRenders.companyOfDay * terms.gross_price);
}
