// POST /v1/ads/pool: up to 20 ads for one country, in the caller's order, each of which verifies alone (specification, «Ad pool item»).
//   APL1. Ads of advertisers who blocked the caller's group, or whose certificate is not active, what does not stand any more
//         (ad-standing.ts) and what was taken down are absent, and nothing says so.
//   APL2. A pool is durable, like its receipt, before it is answered: what is rendered later is known to have been served.

import type { AdFacts } from "../actors/messages/ads.ts";
import { poolRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { foldKeyword, keywordFault } from "../protocol/ad-keyword.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { adRenderMs, poolAdsMax } from "../protocol/limits.ts";
import { problem } from "../protocol/problem.ts";
import { countries } from "../protocol/records/vocabularies/countries.ts";
import { requestProblem } from "../protocol/request-problem.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { type PoolRequest, poolRequest } from "../protocol/wire/ad-requests.ts";
import { isObject } from "../std/is-object.ts";
import type { AdBook, FoundAd } from "./ad-book.ts";
import type { AdItem, AdItems } from "./ad-items.ts";
import { type AdSort, orderAds, parseAdSort } from "./ad-order.ts";
import type { AdSessions } from "./ad-sessions.ts";
import { adStanding, type StandingRegister } from "./ad-standing.ts";
import type { AdTokens } from "./ad-tokens.ts";
import { isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import type { Authenticated } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { poolCost } from "./query-cost.ts";
import { type Receipts, type Retrieval, receiptRow, type Served } from "./receipts.ts";
import type { KeyBudget } from "./regional-limits.ts";
import type { Register } from "./register.ts";
import { answerWithReceipt, type Prepared } from "./retrieval-answer.ts";

export interface AdPoolDeps {
  readonly book: Pick<AdBook, "find">;
  readonly items: AdItems;
  readonly register: Pick<Register, "hasBlocked" | "takenDown"> & StandingRegister;
  readonly receipts: Receipts;
  readonly actors: Pick<ActorSystem, "ask">;
  readonly crypto: Pick<CryptoPort, "sha256">;
  readonly sessions: AdSessions;
  readonly tokens: AdTokens;
  readonly clock: Clock;
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
  const json = parseStrictJson(body, { depthMax });
  if (!json.ok)
    return refused(
      problem("request_invalid", `The body is not strict JSON: ${json.detail}`, {
        pointer: json.pointer ?? "",
      }),
    );
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
    return refused(
      problem("request_invalid", "country must be a code of ISO 3166-1 alpha-2.", { pointer: "/country" }),
    );
  if (subdivision !== undefined && !subdivision.startsWith(`${country}-`))
    return refused(
      problem("request_invalid", `subdivision must be one of ${country}.`, { pointer: "/subdivision" }),
    );
  const seen = new Set<string>();
  for (const [at, keyword] of keywords.entries()) {
    const pointer = `/keywords/${at}`;
    if (seen.has(foldKeyword(keyword)))
      return refused(problem("request_invalid", "Each keyword is named once.", { pointer }));
    seen.add(foldKeyword(keyword));
    const fault = keywordFault(keyword);
    if (fault !== null)
      return refused(
        problem("keyword_not_allowed", `A keyword is a subject, and must not be ${fault}.`, { pointer }),
      );
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
  const offers = deps.book
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
    ...{ retrieval, caller, collection: null, clientQueryId: null },
    kind: "ad_pool",
    country: request.country,
    rows: items.map(({ found, row }) => receiptRow(found.ad.ad_id, row)),
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
    ...{ company: pool.company, session: pool.session, served_at_ms: pool.servedAtMs },
    items: pool.items.map(({ found: { ad } }) => ({
      ...{ ad_id: ad.ad_id, business_uuid: ad.business_uuid },
      ...{ campaign_id: ad.campaign_id, allow_repeats: ad.allow_repeats },
    })),
  } as const;
  await actors.ask(poolRef(pool.retrievalId, region), serve, { isNew: true });
}
