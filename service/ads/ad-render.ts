// POST /v1/ads/render and /click: the caller's signed statements about an ad or a sponsored row that it was served (specification,
// «States», Ad).
//   AR1. A render and a click of an item happen once; what was answered first is answered again.
//   AR2. The service is never in the redirect path: a statement says that something was shown or followed, and leads nowhere.
//   AR3. A render is answered once the campaign has charged it. If it cannot, the ad must not be shown. Neither render nor click of
//        what does not stand any more is confirmed (retrieval/record-standing.ts), and no render of what was taken down.

import type { PoolReport, RenderRefusal } from "../../actors/messages/ads.ts";
import { campaignRef, keyRef, poolRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { adProductLocalId } from "../../protocol/ad-campaign.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { openStored } from "../../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { adClickMs, adRenderMs } from "../../protocol/limits.ts";
import { requestProblem } from "../../protocol/problem.ts";
import { openReceipt, type Receipt } from "../../protocol/receipt.ts";
import type { Shape } from "../../protocol/shape.ts";
import {
  type ClickAnswer,
  type ClickRequest,
  clickRequest,
  type RenderAnswer,
  type RowRenderRequest,
  rowRenderRequest,
  type TokenRenderRequest,
  tokenRenderRequest,
} from "../../protocol/wire/ad-requests.ts";
import { isObject } from "../../std/json-pointer.ts";
import type { ReceiptStore } from "../../storage/receipt-store.ts";
import {
  answerJson,
  type Caller,
  invalidAt,
  isRefused,
  type Outcome,
  parseJson,
  type Refused,
  refused,
  refusedWith,
} from "../answer.ts";
import { answerOnce, claimFor } from "../publishing/idempotency.ts";
import type { MaybeLater, Register } from "../register/register.ts";
import { adStanding, type RecordStanding, type Stands } from "../retrieval/record-standing.ts";
import type { AdItems } from "./ad-items.ts";
import type { AdEvent, AdToken, AdTokens, TokenAd } from "./ad-tokens.ts";

export interface AdStatementServices extends Platform, Actors {
  readonly register: Register;
  readonly receipts: ReceiptStore;
  readonly items: AdItems;
  readonly standing: RecordStanding;
  readonly tokens: AdTokens;
  readonly recordIdOf: (businessUuid: string, kind: "ads", localId: string) => string;
  /** This node's region, and all of the deployment. */
  readonly region: string;
  readonly regions: () => readonly string[];
}

export interface AdStatement {
  readonly caller: Pick<Caller, "party" | "key">;
  readonly body: Uint8Array;
  /** Null for a statement that is repeated by its token alone. */
  readonly idempotencyKey: string | null;
}

const headers = Object.freeze({ "cache-control": "no-store" });

/** POST /v1/ads/render. */
export function renderAd(deps: AdStatementServices, statement: AdStatement): Promise<Outcome> {
  return once(deps, "render", statement, () => render(deps, statement));
}

/** POST /v1/ads/click. */
export function clickAd(deps: AdStatementServices, statement: AdStatement): Promise<Outcome> {
  return once(deps, "click", statement, () => click(deps, statement));
}

/** A statement with an Idempotency-Key is answered once under it, like any request that creates something. */
async function once(
  deps: AdStatementServices,
  event: AdEvent,
  { caller, body, idempotencyKey }: AdStatement,
  answer: () => Promise<Outcome>,
): Promise<Outcome> {
  if (idempotencyKey === null) return answer();
  const key = keyRef(caller.party.uuid, caller.key.key_id);
  const contentDigest = hashOf(body, deps.crypto.sha256);
  const claim = claimFor(
    { idempotencyKey, contentDigest },
    { key, route: `ads/${event}`, replayed: () => {} },
  );
  return isRefused(claim) ? claim : answerOnce(deps, claim, answer);
}

async function render(
  deps: AdStatementServices,
  { caller, body }: Pick<AdStatement, "caller" | "body">,
): Promise<Outcome> {
  const json = parseJson(body);
  if (isRefused(json)) return json;
  const company = caller.party.uuid;
  // What names neither is told what a row needs.
  if (!isObject(json.value) || !Object.hasOwn(json.value, "render_token")) {
    const request = judged<RowRenderRequest>(rowRenderRequest, json.value);
    if (isRefused(request)) return request;
    const item = await findSponsoredRow(deps, company, request);
    if (isRefused(item)) return item;
    const { record_id, format } = request;
    return charge(deps, company, { item, format, shown: { ad_id: item.ad.ad_id, record_id } });
  }
  const request = judged<TokenRenderRequest>(tokenRenderRequest, json.value);
  if (isRefused(request)) return request;
  const token = openToken(deps, company, "render", request.render_token);
  if (isRefused(token)) return token;
  const item = { ...token, servedAtMs: token.expiresAtMs - adRenderMs };
  return charge(deps, company, { item, format: request.format, shown: { ad_id: token.ad.ad_id } });
}

async function charge(
  deps: AdStatementServices,
  company: string,
  {
    item,
    format,
    shown,
  }: {
    readonly item: RenderedItem;
    readonly format: string;
    readonly shown: Pick<RenderAnswer, "ad_id" | "record_id">;
  },
): Promise<Outcome> {
  const { retrievalId, region, index, ad, servedAtMs } = item;
  const standing = stands(deps, ad.ad_id);
  const isStanding = standing instanceof Promise ? await standing : standing;
  const { ad_id, record_id = ad_id } = shown;
  const isTakenDown = [ad_id, record_id].some((id) => deps.register.takenDown.has(ad.business_uuid, id));
  const reply = await deps.actors.ask(campaignRef(ad.business_uuid, ad.campaign_id), {
    type: "render.charge",
    pool: poolRef(retrievalId, region).id,
    index,
    ad_id: ad.ad_id,
    company,
    format,
    is_served: deps.items.isServed(ad.business_uuid) && isStanding && !isTakenDown,
    served_at_ms: servedAtMs,
  });
  if (reply.status === "expired") return renderExpired();
  if (reply.status === "refused")
    return refusedWith("ad_unavailable", refusals[reply.reason], { reason: reply.reason });
  const { rendered_at_ms } = reply;
  const expiresAtMs = rendered_at_ms + adClickMs;
  const click: AdToken = { event: "click", retrievalId, region, index, ad, expiresAtMs };
  const answer: RenderAnswer = {
    ...shown,
    rendered_at: formatTimestamp(rendered_at_ms),
    label: await deps.items.labelOf(ad.business_uuid),
    click_token: deps.tokens.tokenOf(company, click),
    click_until: formatTimestamp(expiresAtMs),
  };
  return answerJson(200, answer, headers);
}

async function click(
  deps: AdStatementServices,
  { caller, body }: Pick<AdStatement, "caller" | "body">,
): Promise<Outcome> {
  const json = parseJson(body);
  const request = isRefused(json) ? json : judged<ClickRequest>(clickRequest, json.value);
  if (isRefused(request)) return request;
  const { click_token: text } = request;
  if (deps.tokens.open(caller.party.uuid, "render", text) !== null)
    return refusedWith("ad_not_rendered", "This is the render token: a click follows a render.");
  const token = openToken(deps, caller.party.uuid, "click", text);
  if (isRefused(token)) return token;
  const { retrievalId, region, index, ad, expiresAtMs } = token;
  const standing = stands(deps, ad.ad_id);
  if (!(standing instanceof Promise ? await standing : standing))
    return refusedWith("ad_unavailable", "Its seal does not stand any more: lead nobody to it.", {
      reason: "ad_not_live",
    });
  const rendered_at_ms = expiresAtMs - adClickMs;
  const pool = poolRef(retrievalId, region);
  const reply = await deps.actors.ask(pool, { type: "item.click", index, rendered_at_ms });
  // A pool is forgotten once nothing of it can be confirmed.
  const isOver = reply.status === "unknown" && deps.clock.now() > expiresAtMs;
  if (reply.status === "unknown" && !isOver) return tokenInvalid("/click_token");
  if (reply.status !== "clicked") return expired("A click is confirmed within 24 hours of its render.");
  const answer: ClickAnswer = { ad_id: ad.ad_id, clicked_at: formatTimestamp(reply.clicked_at_ms) };
  return answerJson(200, answer, headers);
}

const refusals: Readonly<Record<RenderRefusal, string>> = {
  budget_spent: "The budget of its campaign is spent. It is not charged: do not show it.",
  day_spent: "What its campaign may cost today is spent. It is not charged: do not show it.",
  company_limit:
    "Your company has rendered as much of its campaign as one company may for now. It is not charged: do not show it.",
  campaign_not_running: "Its campaign does not run any more. It is not charged: do not show it.",
  ad_not_live:
    "Its advertiser took it back, the operators took it down, its certificate is not active any more, or its seal does not stand any more. It is not charged: do not show it.",
};

/** What this node has not heard of yet is judged by its campaign alone. Of a sponsored product, its own record has to stand as well. */
function stands({ register, standing }: AdStatementServices, adId: string): MaybeLater<boolean> {
  const known = register.ads.of(adId);
  if (known === null) return true;
  const { business_uuid: uuid, product } = known.ad;
  const judged = adStanding(register, [uuid]);
  const isStanding = (judge: Stands): MaybeLater<boolean> =>
    judge(known.ad) && judge(known.campaign) && (product === undefined || standing.newest(uuid, product));
  return judged instanceof Promise ? judged.then(isStanding) : isStanding(judged);
}

function judged<T>(shape: Shape<T>, value: JsonValue): T | Refused {
  const fault = requestProblem(shape, value);
  return fault === null ? (value as T) : refused(fault);
}

/** An expired token may be of what was confirmed in time, whose answer is asked for again: the actor decides. */
function openToken(
  deps: AdStatementServices,
  company: string,
  event: AdEvent,
  text: string,
): AdToken | Refused {
  const token = deps.tokens.open(company, event, text);
  return token !== null && deps.regions().includes(token.region) ? token : tokenInvalid(`/${event}_token`);
}

function tokenInvalid(pointer: string): Refused {
  return refusedWith("ad_token_invalid", "The token is not of an ad that your company was served.", {
    pointer,
  });
}

function expired(detail: string): Refused {
  return refusedWith("ad_expired", detail);
}

// The sponsored row that a render names: by its search and its record, since rows have no tokens.
//   SN1. The sponsored rows of a search are the items of a pool, which was durable before the search was answered: what the pool has for
//        its own company proves the row, in whichever region the search was answered.
//   SN2. Why a row is none of these is told from the receipt, and to the company that the search answered alone. Another's search and one
//        that never was have the same answer.

/** An item of a pool that a render names. */
interface RenderedItem {
  readonly retrievalId: string;
  readonly region: string;
  readonly index: number;
  readonly ad: TokenAd;
  readonly servedAtMs: number;
}

type Named = Pick<RowRenderRequest, "retrieval_id" | "record_id">;

async function findSponsoredRow(
  deps: AdStatementServices,
  company: string,
  named: Named,
): Promise<RenderedItem | Refused> {
  const { retrieval_id: retrievalId } = named;
  for (const region of [deps.region, ...deps.regions().filter((each) => each !== deps.region)]) {
    const pool = await deps.actors.ask(poolRef(retrievalId, region), { type: "pool.read" });
    if (pool === null) continue;
    if (pool.company !== company) return unknown();
    const index = indexIn(deps, pool, named);
    const ad = pool.items[index];
    if (ad === undefined) return notSponsored(deps, { company, region, hasPool: true }, named);
    return { retrievalId, region, index, ad, servedAtMs: pool.served_at_ms };
  }
  return notSponsored(deps, { company, region: deps.region, hasPool: false }, named);
}

/** The id of a sponsorship follows from its campaign and its product. */
function indexIn({ recordIdOf }: AdStatementServices, { items }: PoolReport, { record_id }: Named): number {
  return items.findIndex(
    ({ ad_id, business_uuid, campaign_id }) =>
      ad_id === recordIdOf(business_uuid, "ads", adProductLocalId({ campaign_id, record_id })),
  );
}

/** See SN2. */
async function notSponsored(
  { receipts, clock }: AdStatementServices,
  {
    company,
    region,
    hasPool,
  }: { readonly company: string; readonly region: string; readonly hasPool: boolean },
  { retrieval_id, record_id }: Named,
): Promise<Refused> {
  const row = await receipts.readReceipt(region, retrieval_id);
  if (row === null || row.company !== company) return unknown();
  const receipt = receiptIn(row.envelope);
  if (receipt.kind !== "search" || receipt.collection !== "products")
    return invalidAt("/retrieval_id", "The retrieval_id must be that of a search of products.");
  if (receipt.rows.every((each) => each.record_id !== record_id))
    return refusedWith("not_found", "The search did not answer a row with this record_id.", {
      pointer: "/record_id",
    });
  // What was sponsored is forgotten a day after it could be rendered.
  const servedAtMs = parseTimestamp(receipt.served_at) ?? 0;
  if (!hasPool && clock.now() > servedAtMs + adRenderMs) return renderExpired();
  return refusedWith(
    "ad_unavailable",
    "The row was not sponsored in this search. Nobody is charged for it.",
    {
      reason: "not_sponsored",
    },
  );
}

function renderExpired(): Refused {
  return refusedWith("ad_expired", "A render is confirmed within ten minutes of the pool or the search.");
}

function receiptIn(envelope: string): Receipt {
  const receipt = openStored(envelope, openReceipt);
  if (!receipt.ok) throw new Error("A stored receipt is one.");
  return receipt.value;
}

function unknown(): Refused {
  return refusedWith("not_found", "Your company was not answered a search with this retrieval_id.", {
    pointer: "/retrieval_id",
  });
}
