// POST /v1/search and the typed addresses: candidates in one collection, as signed rows (specification, «Retrieval
// API»). {@link createSearch} proceeds in this order:
//   1. The body becomes a request of one collection: `readRequest`. The nonce is claimed meanwhile (S2).
//   2. The key's budget pays what the query costs, then the company's allowance what an answer costs (S4).
//   3. The index is asked when it is the company's turn (S7), for rows of businesses that may be shown to it (S3, S5).
//   4. Of what it finds, rows are left out that were taken down, or whose seal does not stand any more (S5, S6).
//   5. What is sponsored is looked up, and the serve-time members are put into the rows: `prepare` (S1).
//   6. The receipt is signed and durable, and the answer leaves: `answerWithReceipt`.
//   S1. Rows are served as they were signed: only the serve-time members are inserted. What is sponsored is told by
//       ads/sponsored-rows.ts.
//   S2. The nonce is claimed while the index works, or together with the receipt if both share a commit. No answer
//       leaves before the claim is durable, and no receipt is kept without it. A replay is refused with `nonce_reused`
//       even when its body is also wrong.
//   S3. Rows of businesses that blocked the caller's group are absent, and nothing indicates it.
//   S4. A search beyond its key's budget is refused before the index is queried; its nonce is claimed, and no receipt is
//       kept. The same holds for one that the company's allowance does not cover.
//   S5. Rows of what operators took out of serving are absent as well.
//   S6. So are rows whose seal does not stand any more, also before they have left the index (record-standing.ts).
//   S7. A query waits for those that the index is given at once, and then for at most one of each other company, however many
//       queries they have.

import type { SearchRefusal } from "../../collections/parse-filter.ts";
import { parseSearchRequest, type SearchRequest, toRowQuery } from "../../collections/search-request.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { serveRow } from "../../protocol/row.ts";
import type { OwnerTurns } from "../../std/work.ts";
import type { RowHit, RowIndex } from "../../storage/row-index.ts";
import type { Sponsored, SponsoredRows, SponsoredSearch } from "../ads/sponsored-rows.ts";
import { type Caller, isRefused, type Outcome, parseJson, type Refused, refusedWith } from "../answer.ts";
import type { Authenticated } from "../authentication/authenticate.ts";
import { searchCost } from "../authentication/request-rate.ts";
import type { AskedFor, Insight } from "./insight.ts";
import type { RetrievalServices } from "./receipts.ts";
import { answerWithReceipt, type Prepared, preparePaid, receiptRow, signedRowFacts } from "./receipts.ts";
import type { RecordStanding } from "./record-standing.ts";

/** The deepest search body: {filter: {all: [{field: {operator: {lat}}}]}}. */
const bodyDepthMax = 8;

export interface SearchServices extends RetrievalServices {
  readonly index: RowIndex;
  readonly sponsored: SponsoredRows;
  /** Whose query is next (S7). */
  readonly searchTurns: OwnerTurns;
  readonly standing: RecordStanding;
}

export interface SearchCall {
  readonly authenticated: Authenticated;
  readonly body: Uint8Array;
  /** The collection of a typed address; null if the body names it. */
  readonly collection: CollectionName | null;
}

export type Search = (call: SearchCall) => Promise<Outcome>;

/** POST /v1/search and the typed addresses. Throws {@link StoreError}. */
export function createSearch(deps: SearchServices): Search {
  return async (call) => {
    const { caller, claimNonce } = call.authenticated;
    const request = readRequest(call);
    const asked = "kind" in request ? nothingAsked : askedFor(deps.insight, caller, request);
    return answerWithReceipt(deps.receipts, claimNonce, async () => {
      if ("kind" in request) return request;
      const limited = (await deps.budget?.spend(caller.key.key_id, searchCost(request))) ?? null;
      if (limited !== null) return limited;
      const { collection } = request;
      const priced = { kind: "search", collection, company: caller.party.uuid } as const;
      return preparePaid({ ...priced, allowance: deps.allowance }, async () => {
        const search = deps.sponsored.open(caller.party.uuid, request);
        const filtered = await search.filtered();
        const { blockedBusinesses, takenDown } = deps.register;
        const left = blockedBusinesses(caller.party);
        const excluded = takenDown.businesses.length === 0 ? left : [...left, ...takenDown.businesses];
        const query = toRowQuery(request, excluded, [...(filtered?.keys() ?? [])]);
        const found = await deps.searchTurns(caller.party.uuid, () => deps.index.search(query));
        // A row whose record was taken down a moment ago may still be in the index.
        const shown = found.filter((hit) => !takenDown.has(hit.business_uuid, hit.record_id));
        const standing = deps.standing.rows(shown);
        const hits = standing instanceof Promise ? await standing : standing;
        const sponsored = filtered ?? (await search.among(hits));
        return prepare(deps, { caller, request, asked, hits, search, sponsored });
      });
    });
  };
}

function readRequest(call: SearchCall): SearchRequest | Refused {
  const json = parseJson(call.body, { depthMax: bodyDepthMax });
  if (isRefused(json)) return json;
  const request = parseSearchRequest(json.value, call.collection);
  return request.ok ? request.value : searchRefused(request);
}

function searchRefused({ code, detail, pointer, suggestion, allowed }: SearchRefusal): Refused {
  return refusedWith(code, detail, {
    pointer,
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(allowed === undefined ? {} : { allowed }),
  });
}

const nothingAsked: AskedFor = { session: null, subjects: [] };

/** From here on a session is known by its mark alone. */
function askedFor(insight: Insight, caller: Caller, request: SearchRequest): AskedFor {
  const { sessionRef, topicKeywords: subjects = [] } = request;
  if (sessionRef === undefined) return { session: null, subjects };
  return { session: insight.markOf(caller.party.uuid, sessionRef), subjects };
}

interface Found {
  readonly caller: Caller;
  readonly request: SearchRequest;
  readonly asked: AskedFor;
  readonly hits: readonly RowHit[];
  readonly search: SponsoredSearch;
  readonly sponsored: Sponsored;
}

async function prepare(deps: SearchServices, found: Found): Promise<Prepared> {
  const { caller, request, asked, hits, search, sponsored } = found;
  const { collection, country, clientQueryId = null } = request;
  const retrieval = deps.receipts.begin();
  let rows = "";
  const receiptRows = [];
  for (const hit of hits) {
    const { bitsText } = deps.register.policyInForce(hit.business_uuid);
    const served = serveRow(hit.row, bitsText, sponsored.has(hit.record_id));
    rows += rows === "" ? served : `,${served}`;
    receiptRows.push(receiptRow(hit, signedRowFacts(hit.row)));
  }
  const [receipt] = await Promise.all([
    deps.receipts.sign({
      retrieval,
      caller,
      kind: "search",
      collection,
      country,
      clientQueryId,
      rows: receiptRows,
    }),
    // Before the receipt is kept, so that an answer which fails here is not charged.
    search.keep(retrieval, hits, sponsored),
  ]);
  const head = `{"retrieval_id":"${retrieval.retrievalId}","collection":"${collection}","country":"${country}","rows":[`;
  return {
    body: `${head}${rows}],"receipt":${receipt.envelope}}`,
    receipt,
    answered: () =>
      deps.insight.searched({
        company: caller.party.uuid,
        servedAt: retrieval.servedAt,
        collection,
        country,
        asked,
        businesses: hits.map((hit) => hit.business_uuid),
      }),
  };
}
