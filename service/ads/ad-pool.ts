// POST /v1/ads/pool: up to 20 ads for one country, in the caller's order, each of which verifies alone (specification, «Ad pool item»).
//   APL1. Ads of advertisers who blocked the caller's group, or whose certificate is not active, what does not stand any more
//         (retrieval/record-standing.ts) and what was taken down are absent, and nothing says so.
//   APL2. A pool is durable, like its receipt, before it is answered: what is rendered later is known to have been served.

import type { AdFacts } from "../../actors/messages/ads.ts";
import { poolRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { foldKeyword, keywordFault } from "../../protocol/ad-campaign.ts";
import { type Sha256, toHex, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { adRenderMs, poolAdsMax } from "../../protocol/limits.ts";
import { requestProblem } from "../../protocol/problem.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { nearestName } from "../../protocol/shape.ts";
import {
  type AdSortKey,
  adSortKeys,
  type PoolRequest,
  poolRequest,
} from "../../protocol/wire/ad-requests.ts";
import { isObject } from "../../std/json-pointer.ts";
import {
  type Caller,
  invalidAt,
  isRefused,
  type Outcome,
  parseJson,
  type Refused,
  refused,
  refusedWith,
} from "../answer.ts";
import type { Authenticated } from "../authentication/authenticate.ts";
import type { KeyBudget } from "../authentication/regional-limits.ts";
import { poolCost } from "../authentication/request-rate.ts";
import type { FoundAd, FoundOffer } from "../register/ad-book.ts";
import type { Register } from "../register/register.ts";
import {
  answerWithReceipt,
  type Prepared,
  type Receipts,
  type Retrieval,
  receiptRow,
  type Served,
} from "../retrieval/receipts.ts";
import { adStanding } from "../retrieval/record-standing.ts";
import type { AdItem, AdItems } from "./ad-items.ts";
import type { AdSessions, AdTokens } from "./ad-tokens.ts";

export interface AdPoolDeps extends Platform, Actors {
  readonly items: AdItems;
  readonly register: Register;
  readonly receipts: Receipts;
  readonly sessions: AdSessions;
  readonly tokens: AdTokens;
  readonly region: string;
  /** Null if there is no limit. */
  readonly budget: KeyBudget | null;
}

export interface AdPoolCall {
  readonly authenticated: Authenticated;
  readonly body: Uint8Array;
}

export type ServePool = (call: AdPoolCall) => Promise<Outcome>;

interface Asked {
  readonly request: PoolRequest;
  readonly sorts: readonly AdSort[];
  /** Folded. */
  readonly keywords: readonly string[];
}

/** POST /v1/ads/pool. */
export function createServePool(deps: AdPoolDeps): ServePool {
  return async ({ authenticated, body }) => {
    const { caller, claimNonce } = authenticated;
    const asked = readRequest(body);
    return answerWithReceipt(deps.receipts, claimNonce, async () => {
      if (isRefused(asked)) return asked;
      const limited = (await deps.budget?.spend(caller.key.key_id, poolCost)) ?? null;
      return limited ?? prepare(deps, caller, asked);
    });
  };
}

/** The deepest body: {keywords: [text]}. */
const depthMax = 4;

function readRequest(body: Uint8Array): Asked | Refused {
  const json = parseJson(body, { depthMax });
  if (isRefused(json)) return json;
  // A missing sort has its own code, as in a search.
  const given = isObject(json.value) ? json.value["sort_by"] : undefined;
  const sorts = typeof given === "string" || given === undefined ? parseAdSort(given) : [];
  if (isObject(json.value) && given === undefined && "kind" in sorts) return sorts;
  const fault = requestProblem(poolRequest, json.value);
  if (fault !== null) return refused(fault);
  if ("kind" in sorts) return sorts;
  const request = json.value as PoolRequest;
  const refusal = judgeRequest(request);
  return refusal ?? { request, sorts, keywords: request.keywords.map(foldKeyword) };
}

function judgeRequest({ country, subdivision, keywords }: PoolRequest): Refused | null {
  if (!countries.codes.has(country))
    return invalidAt("/country", "country must be a code of ISO 3166-1 alpha-2.");
  if (subdivision !== undefined && !subdivision.startsWith(`${country}-`))
    return invalidAt("/subdivision", `subdivision must be one of ${country}.`);
  const seen = new Set<string>();
  for (const [at, keyword] of keywords.entries()) {
    const pointer = `/keywords/${at}`;
    if (seen.has(foldKeyword(keyword))) return invalidAt(pointer, "Each keyword is named once.");
    seen.add(foldKeyword(keyword));
    const fault = keywordFault(keyword);
    if (fault !== null)
      return refusedWith("keyword_not_allowed", `A keyword is a subject, and must not be ${fault}.`, {
        pointer,
      });
  }
  return null;
}

async function prepare(
  deps: AdPoolDeps,
  caller: Caller,
  { request, sorts, keywords }: Asked,
): Promise<Prepared> {
  const { country, subdivision = null } = request;
  const retrieval = deps.receipts.begin();
  const nowMs = retrieval.servedAtMs;
  const sessions = deps.sessions.namesOf(caller.party.uuid, request.session_ref, nowMs);
  const shown = await deps.sessions.shownIn(sessions);
  const offers = deps.register.ads
    .find({ country, subdivision, keywords, nowMs })
    .filter(
      ({ campaign: { business_uuid: uuid } }) =>
        !deps.register.hasBlocked(uuid, caller.party) && deps.items.isServed(uuid),
    );
  const { retrievalId } = retrieval;
  const judged = adStanding(
    deps.register,
    offers.map(({ campaign }) => campaign.business_uuid),
  );
  const stands = judged instanceof Promise ? await judged : judged;
  const standing = offers.filter(({ campaign }) => stands(campaign));
  const ordered = orderAds(standing, { sorts, retrievalId, sha256: deps.crypto.sha256 });
  const { takenDown } = deps.register;
  const mayBeShown = (ad: AdFacts): boolean =>
    stands(ad) && !shown.has(ad.ad_id) && !takenDown.has(ad.business_uuid, ad.ad_id);
  const items = await deps.items.itemsOf(choose(ordered, mayBeShown, request));
  return answerOf(deps, caller, { request, retrieval, items, session: sessions[0] ?? null });
}

/** The first ads of the order that the conversation may be shown. */
function choose(
  ordered: Iterable<FoundAd>,
  mayBeShown: (ad: AdFacts) => boolean,
  { limit = poolAdsMax, max_per_campaign: most = poolAdsMax }: PoolRequest,
): readonly FoundAd[] {
  const chosen: FoundAd[] = [];
  const ofCampaign = new Map<string, number>();
  for (const found of ordered) {
    if (chosen.length === limit) break;
    const campaign = `${found.ad.business_uuid}/${found.ad.campaign_id}`;
    const count = ofCampaign.get(campaign) ?? 0;
    if (count >= most || !mayBeShown(found.ad)) continue;
    ofCampaign.set(campaign, count + 1);
    chosen.push(found);
  }
  return chosen;
}

interface Pool {
  readonly request: PoolRequest;
  readonly retrieval: Retrieval;
  readonly items: readonly AdItem[];
  readonly session: string | null;
}

async function answerOf(
  deps: AdPoolDeps,
  caller: Caller,
  { request, retrieval, items, session }: Pool,
): Promise<Prepared> {
  const { retrievalId, servedAtMs } = retrieval;
  const company = caller.party.uuid;
  const expiresAtMs = servedAtMs + adRenderMs;
  const { region } = deps;
  const tokens = items.map(({ found: { ad } }, index) =>
    deps.tokens.tokenOf(company, { event: "render", retrievalId, region, index, expiresAtMs, ad }),
  );
  const served: Served = {
    retrieval,
    caller,
    collection: null,
    clientQueryId: null,
    kind: "ad_pool",
    country: request.country,
    rows: items.map(({ found, row }) => receiptRow({ ...found.ad, record_id: found.ad.ad_id }, row)),
  };
  const receipt = await deps.receipts.sign(served);
  // Begun together with the claim of the nonce, so that both cost a single commit.
  const kept =
    items.length === 0 ? null : keepPool(deps, { company, session, servedAtMs, retrievalId, items });
  const ads: (string | Uint8Array)[] = [];
  for (const [index, { partsWith }] of items.entries())
    ads.push(index === 0 ? "" : ",", ...partsWith(tokens[index] ?? ""));
  const subdivision = request.subdivision === undefined ? "null" : `"${request.subdivision}"`;
  return {
    body: {
      parts: [
        `{"retrieval_id":"${retrievalId}","country":"${request.country}","subdivision":${subdivision},"ads":[`,
        ...ads,
        `],"render_until":"${formatTimestamp(expiresAtMs)}","receipt":${receipt.envelope}}`,
      ],
    },
    receipt,
    ...(kept === null ? {} : { kept }),
    answered: () => {},
  };
}

async function keepPool(
  { actors, region }: AdPoolDeps,
  pool: {
    readonly company: string;
    readonly session: string | null;
    readonly servedAtMs: number;
    readonly retrievalId: string;
    readonly items: readonly AdItem[];
  },
): Promise<void> {
  const serve = {
    type: "pool.serve",
    company: pool.company,
    session: pool.session,
    served_at_ms: pool.servedAtMs,
    items: pool.items.map(({ found: { ad } }) => ({
      ad_id: ad.ad_id,
      business_uuid: ad.business_uuid,
      campaign_id: ad.campaign_id,
      allow_repeats: ad.allow_repeats,
    })),
  } as const;
  await actors.ask(poolRef(pool.retrievalId, region), serve, { isNew: true });
}

// The order of a pool: the caller's, never the service's own (specification, «POST /v1/ads/pool»).
//   AO1. Ads that the sort does not tell apart are in ascending order of their ids, so an order can be recomputed by anybody.
//   AO2. `random` orders by SHA-256 over the pool's retrieval id, a line feed and the ad's id: nobody chooses it, and everybody can
//        recompute it from the receipt.
//   AO3. Only the ads of which a pool may still need some are hashed: those that the keys before `random` do not tell apart.
//   AO4. What the first keys say of a whole campaign is compared once for its ads, which are looked at singly only when they may be taken.

export interface AdSort {
  readonly key: AdSortKey;
  readonly direction: "asc" | "desc";
}

const sortKeysMax = 3;

/** The order of a pool as `sort` names it; refused with the reason `sort_required` for none. */
export function parseAdSort(text: string | undefined): readonly AdSort[] | Refused {
  if (text === undefined || text.trim() === "")
    return sortRefused("sort_required", "A pool names its order.");
  const sorts: AdSort[] = [];
  for (const part of text.split(",")) {
    const [name = "", direction, ...more] = part.split(":");
    const key = adSortKeys.find((each) => each === name);
    if (key === undefined)
      return sortRefused("sort_not_allowed", `Ads have no sort key ${JSON.stringify(name)}.`, name);
    if ((direction !== "asc" && direction !== "desc") || more.length > 0)
      return sortRefused("sort_not_allowed", `${key} needs a direction: ${key}:asc or ${key}:desc.`);
    if (sorts.some((each) => each.key === key))
      return sortRefused("sort_not_allowed", `${key} is named twice.`);
    sorts.push({ key, direction });
  }
  if (sorts.length > sortKeysMax)
    return sortRefused("sort_not_allowed", `A pool has at most ${sortKeysMax} sort keys.`);
  return sorts;
}

function sortRefused(code: "sort_required" | "sort_not_allowed", detail: string, name?: string): Refused {
  const suggestion = name === undefined ? null : nearestName(name, adSortKeys);
  return refusedWith(code, `${detail} Write for example "net_price:desc,random:asc".`, {
    pointer: "/sort_by",
    allowed: [...adSortKeys],
    ...(suggestion === null ? {} : { suggestion: `${suggestion}:asc` }),
  });
}

interface Order {
  readonly sorts: readonly AdSort[];
  readonly retrievalId: string;
  readonly sha256: Sha256;
}

/** The ads in the order of the sort, ordered only as far as they are taken (AO3). */
export function* orderAds(offers: readonly FoundOffer[], { sorts, ...order }: Order): Generator<FoundAd> {
  const [sort, ...rest] = sorts;
  if (sort?.key === "net_price" || sort?.key === "keyword_matches") {
    const { key } = sort;
    const valueIn = ({ campaign, matches }: FoundOffer): number =>
      key === "net_price" ? campaign.net_price : matches;
    for (const group of grouped(offers, valueIn, sort.direction))
      yield* orderAds(group, { sorts: rest, ...order });
    return;
  }
  const found: FoundAd[] = [];
  for (const { campaign, matches, ads } of offers)
    for (const ad of ads) found.push({ ad, campaign, matches });
  yield* orderEach(found, { sorts, ...order });
}

function* orderEach(found: readonly FoundAd[], { sorts, ...order }: Order): Generator<FoundAd> {
  const [sort, ...rest] = sorts;
  if (sort === undefined || found.length < 2) return yield* found.toSorted(byId);
  const randomOf = randomOrder(order);
  const valueIn = (each: FoundAd): number | string => sortValue(each, sort.key, randomOf);
  for (const group of grouped(found, valueIn, sort.direction)) {
    const [first, ...more] = group;
    if (first !== undefined && more.length === 0) yield first;
    else yield* orderEach(group, { sorts: rest, ...order });
  }
}

/** What has the same value together, in the order of the values. */
function grouped<T>(
  all: readonly T[],
  valueIn: (each: T) => number | string,
  direction: AdSort["direction"],
): readonly (readonly T[])[] {
  const sign = direction === "asc" ? 1 : -1;
  const valued = all.map((each) => ({ each, value: valueIn(each) }));
  valued.sort((a, b) => sign * compare(a.value, b.value));
  const groups: T[][] = [];
  let last: number | string | null = null;
  for (const { each, value } of valued) {
    if (value === last) groups.at(-1)?.push(each);
    else groups.push([each]);
    last = value;
  }
  return groups;
}

function byId(a: FoundAd, b: FoundAd): number {
  return compare(a.ad.ad_id, b.ad.ad_id);
}

/** Gives an ad its place in the random order (AO2). The ids are ASCII and of one length, so all texts are written into the same bytes. */
function randomOrder({
  retrievalId,
  sha256,
}: Pick<Order, "retrievalId" | "sha256">): (ad_id: string) => string {
  let bytes: Uint8Array = new Uint8Array();
  const opening = retrievalId.length + 1;
  return (ad_id) => {
    if (bytes.length !== opening + ad_id.length) bytes = utf8(`${retrievalId}\n${ad_id}`);
    else for (let at = 0; at < ad_id.length; at += 1) bytes[opening + at] = ad_id.charCodeAt(at);
    return toHex(sha256(bytes));
  };
}

function sortValue(
  { ad, campaign, matches }: FoundAd,
  key: AdSortKey,
  randomOf: (ad_id: string) => string,
): number | string {
  switch (key) {
    case "net_price":
      return campaign.net_price;
    case "published_at":
      return Math.floor(ad.published_at_ms / 1000);
    case "keyword_matches":
      return matches;
    case "random":
      return randomOf(ad.ad_id);
  }
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
