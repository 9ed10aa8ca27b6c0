// The sponsored row that a render names: by its search and its record, since rows have no tokens.
//   SN1. The sponsored rows of a search are the items of a pool, which was durable before the search was answered: what the pool has for
//        its own company proves the row, in whichever region the search was answered.
//   SN2. Why a row is none of these is told from the receipt, and to the company that the search answered alone. Another's search and one
//        that never was have the same answer.

import type { PoolReport } from "../actors/messages/ads.ts";
import { poolRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock } from "../crypto/port.ts";
import { adProductLocalId } from "../protocol/ad-product.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { parseTimestamp } from "../protocol/identifiers.ts";
import { adRenderMs } from "../protocol/limits.ts";
import { problem } from "../protocol/problem.ts";
import { openReceipt, type Receipt } from "../protocol/receipt.ts";
import type { RowRenderRequest } from "../protocol/wire/ad-requests.ts";
import type { ReceiptStore } from "../storage/receipt-store.ts";
import type { TokenAd } from "./ad-tokens.ts";
import { type Refused, refused } from "./answer.ts";

export interface SponsoredRenderDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly receipts: Pick<ReceiptStore, "readReceipt">;
  readonly recordIdOf: (businessUuid: string, kind: "ads", localId: string) => string;
  /** This node's region, and all of the deployment. */
  readonly region: string;
  readonly regions: () => readonly string[];
  readonly clock: Clock;
}

/** An item of a pool that a render names. */
export interface RenderedItem {
  readonly retrievalId: string;
  readonly region: string;
  readonly index: number;
  readonly ad: TokenAd;
  readonly servedAtMs: number;
}

type Named = Pick<RowRenderRequest, "retrieval_id" | "record_id">;

export async function findSponsoredRow(
  deps: SponsoredRenderDeps,
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
function indexIn({ recordIdOf }: SponsoredRenderDeps, { items }: PoolReport, { record_id }: Named): number {
  return items.findIndex(
    ({ ad_id, business_uuid, campaign_id }) =>
      ad_id === recordIdOf(business_uuid, "ads", adProductLocalId({ campaign_id, record_id })),
  );
}

/** See SN2. */
async function notSponsored(
  { receipts, clock }: SponsoredRenderDeps,
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
    return refused(
      problem("request_invalid", "The retrieval_id must be that of a search of products.", {
        pointer: "/retrieval_id",
      }),
    );
  if (receipt.rows.every((each) => each.record_id !== record_id))
    return refused(
      problem("not_found", "The search did not answer a row with this record_id.", { pointer: "/record_id" }),
    );
  // What was sponsored is forgotten a day after it could be rendered.
  const servedAtMs = parseTimestamp(receipt.served_at) ?? 0;
  if (!hasPool && clock.now() > servedAtMs + adRenderMs) return renderExpired();
  return refused(
    problem("ad_unavailable", "The row was not sponsored in this search. Nobody is charged for it.", {
      reason: "not_sponsored",
    }),
  );
}

export function renderExpired(): Refused {
  return refused(
    problem("ad_expired", "A render is confirmed within ten minutes of the pool or the search."),
  );
}

function receiptIn(envelope: string): Receipt {
  const parsed = parseEnvelope(JSON.parse(envelope) as JsonValue);
  const receipt = parsed.ok ? openReceipt(parsed.value) : parsed;
  if (!receipt.ok) throw new Error("A stored receipt is one.");
  return receipt.value;
}

function unknown(): Refused {
  return refused(
    problem("not_found", "Your company was not answered a search with this retrieval_id.", {
      pointer: "/retrieval_id",
    }),
  );
}
