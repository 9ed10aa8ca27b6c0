// The signing client of the service, with one method per request. Answers keep their exact text, because what is hashed and
// verified is bytes, not a parsed and reprinted copy of them. For Node and browsers.

import type { Clause, SortBy, TextFieldOf } from "../collections/collections.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import type { Shape } from "../protocol/shape.ts";
import {
  type ClickAnswer,
  type ClickRequest,
  clickAnswer,
  type PoolAnswer,
  type PoolRequest,
  type RenderAnswer,
  type RenderRequest,
  renderAnswer,
} from "../protocol/wire/ad-requests.ts";
import {
  type AllowanceAnswer,
  allowanceAnswer,
  type StatementAnswer,
  statementAnswer,
} from "../protocol/wire/allowance.ts";
import { type EntitlementAnswer, entitlementAnswer } from "../protocol/wire/entitlement.ts";
import { type ListingAnswer, type ListingBody, listingAnswer } from "../protocol/wire/published.ts";
import type { InlineOutcome, PublishOutcome, PushStatus, RecordFault } from "../protocol/wire/push.ts";
import {
  type OwnReceipt,
  type ReceiptsAnswer,
  receiptsAnswer,
  type UsageAnswer,
  type UsageLine,
  usageAnswer,
} from "../protocol/wire/receipts.ts";
import {
  type CompanyEvent,
  type CompanyEvents,
  companyEvents,
  type FetchedRecord,
  type SearchAnswer,
  type SearchRow,
} from "../protocol/wire/retrieval.ts";
import {
  type AgreementAnswer,
  type AgreementBody,
  agreementAnswer,
  type TermsAnswer,
  termsAnswer,
} from "../protocol/wire/terms.ts";
import type { VerifyAnswer, VerifyRequest } from "../protocol/wire/verify.ts";
import { type BusinessClient, businessMethods, formed, queryOf } from "./business-client.ts";
import { type JsonAnswer, jsonAnswer, jsonBody, unexpectedAnswer } from "./json-answer.ts";
import { createSender, type RequestToSend, type SenderOptions, type ServiceAnswer } from "./sender.ts";

/** The service's answer types. */
export type { IndexRow } from "../protocol/row.ts";
export type { JsonAnswer } from "./json-answer.ts";
export type {
  AllowanceAnswer,
  CompanyEvent,
  CompanyEvents,
  EntitlementAnswer,
  FetchedRecord,
  InlineOutcome,
  OwnReceipt,
  PublishOutcome,
  PushStatus,
  ReceiptsAnswer,
  RecordFault,
  SearchAnswer,
  SearchRow,
  StatementAnswer,
  UsageAnswer,
  UsageLine,
};

export interface SvcClientOptions extends SenderOptions {
  /** Base URL without trailing slash; null for a surface that is not used. */
  readonly baseUrl: string | null;
  readonly businessUrl: string | null;
  readonly verifyUrl: string | null;
}

/** Search request body (specification, «POST /v1/search») for a collection; it is validated by the service. */
export interface SearchRequest<C extends CollectionName = CollectionName> {
  readonly collection: C;
  /** Exactly one clause names the country. */
  readonly filter: { readonly all: readonly Clause<C>[] };
  readonly sort_by: SortBy<C>;
  readonly q?: string;
  readonly query_by?: readonly TextFieldOf<C>[];
  readonly limit?: number;
  readonly client_query_id?: string;
  readonly session_ref?: string;
  readonly topic_keywords?: readonly string[];
}

/** Query parameters of GET /v1/events: `after` is the cursor of the last event that was processed. */
export interface EventsQuery {
  readonly after?: string;
  /** Events in the answer, at most 1,000; the default is 100. */
  readonly limit?: number;
}

/** Query parameters of GET /v1/receipts: timestamps or days in UTC; `from` is included, `to` is not. */
export interface ReceiptsQuery {
  readonly from?: string;
  readonly to?: string;
  /** Only receipts of this key; those of all keys of the company by default. */
  readonly key_id?: string;
  readonly cursor?: string;
  /** Receipts in the answer, at most 200; the default is 50. */
  readonly limit?: number;
}

/** Query parameters of GET /v1/usage: days in UTC (`YYYY-MM-DD`), `from` is included, `to` is not. */
export interface UsageQuery {
  readonly from?: string;
  readonly to?: string;
  /** Some of `day`, `key`, `kind`, `collection` and `country`, separated by commas; all of them by default. */
  readonly group_by?: string;
}

export interface RecordAnswer extends JsonAnswer<FetchedRecord> {
  /** The exact bytes that the business sealed. */
  readonly recordBytes: Uint8Array;
}

export interface SvcClient extends BusinessClient {
  search<C extends CollectionName>(request: SearchRequest<C>): Promise<JsonAnswer<SearchAnswer<C>>>;
  fetchRecord(recordId: string): Promise<RecordAnswer>;
  /** What this region answered to the AI company. Go on after `next_cursor`; an event may come twice, with the same id. */
  eventsPage(query?: EventsQuery): Promise<JsonAnswer<CompanyEvents>>;
  /** The company's own receipts of this region. A page may be short, or empty, and not be the last: see `next_cursor`. */
  receiptsPage(query?: ReceiptsQuery): Promise<JsonAnswer<ReceiptsAnswer>>;
  /** One own receipt, as the service verified it, with its proof from the transparency log once that has it. */
  ownReceipt(retrievalId: string): Promise<JsonAnswer<ReceiptsAnswer>>;
  /** What the company used in this region, counted from its receipts. */
  usage(query?: UsageQuery): Promise<JsonAnswer<UsageAnswer>>;
  /** The terms of AI companies that are in force, or those of a version. */
  terms(query?: { readonly version?: number }): Promise<JsonAnswer<TermsAnswer>>;
  /** Agrees to the exact text of a version for the AI company. Sent again, it gets the first answer. */
  agreeToTerms(agreement: AgreementBody): Promise<JsonAnswer<AgreementAnswer>>;
  /** A statement for others that the AI company may use the service, for 24 hours at most (`Verifier.entitlement`). */
  entitlement(): Promise<JsonAnswer<EntitlementAnswer>>;
  /** The prepaid account of the AI company, and the prices. */
  allowance(): Promise<JsonAnswer<AllowanceAnswer>>;
  /** The statement of a month such as `2026-11`. */
  statement(month: string): Promise<JsonAnswer<StatementAnswer>>;
  /** The same as CSV. */
  statementCsv(month: string): Promise<ServiceAnswer>;
  /** A pool of ads in the caller's order. Every item verifies alone (`Verifier.adItem`). */
  adPool(request: PoolRequest): Promise<JsonAnswer<PoolAnswer>>;
  /** Confirms that an ad of a pool, or a sponsored row of a search, is shown; sent again it gets the first answer. */
  renderAd(request: RenderRequest): Promise<JsonAnswer<RenderAnswer>>;
  /** Confirms that an ad was followed; sent again it gets the first answer. */
  clickAd(request: ClickRequest): Promise<JsonAnswer<ClickAnswer>>;
  /** Chooses whether the public key directory lists the AI company. Sent again, it changes nothing. */
  chooseListing(choice: ListingBody): Promise<JsonAnswer<ListingAnswer>>;
  /** Unsigned reads from the public verification surface. `path` starts with a slash. */
  verificationRead(path: string): Promise<JsonAnswer<unknown>>;
  /** Calls POST /v1/verify. */
  verify(request: VerifyRequest): Promise<JsonAnswer<VerifyAnswer>>;
  /** Sends any other request to a surface, signed with that surface's tag. */
  send(
    surface: Surface,
    request: Omit<RequestToSend, "url"> & { readonly path: string },
  ): Promise<ServiceAnswer>;
}

export type Surface = "retrieval" | "business" | "verification";

/**
 * Every method rejects with {@link SvcProblemError} or {@link SvcConnectionError}. An answer of another form than is asked for is refused,
 * but of a search, a fetch, a pool and a verification, which the tool server passes on byte for byte.
 */
export function createSvcClient(options: SvcClientOptions): SvcClient {
  const sender = createSender(options);
  const bases = {
    retrieval: options.baseUrl,
    business: options.businessUrl,
    verification: options.verifyUrl,
  };
  const send: SvcClient["send"] = (surface, { path, ...request }) => {
    const base = bases[surface];
    if (base === null) throw new Error(`The client has no address of the ${surface} surface.`);
    return sender({ ...request, url: `${base}${path}` });
  };
  const ask = (method: "GET" | "POST", path: string, body?: object) =>
    send("retrieval", {
      method,
      path,
      tag: "svc-retrieval",
      ...(body === undefined ? {} : { body: jsonBody(body) }),
    });
  const get = async <T>(shape: Shape<T>, path: string, query: object) =>
    formed(shape, await ask("GET", `${path}${queryOf(query)}`));
  const post = async <T>(shape: Shape<T>, path: string, body: object) =>
    formed(shape, await ask("POST", path, body));
  return {
    ...businessMethods((request) => send("business", request), sender),
    send,
    search: async (request) => jsonAnswer(await ask("POST", "/v1/search", request)),
    fetchRecord: async (recordId) =>
      recordAnswer(jsonAnswer(await ask("GET", `/v1/records/${encodeURIComponent(recordId)}`))),
    eventsPage: (query = {}) => get(companyEvents, "/v1/events", query),
    receiptsPage: (query = {}) => get(receiptsAnswer, "/v1/receipts", query),
    ownReceipt: (retrievalId) => get(receiptsAnswer, "/v1/receipts", { retrieval_id: retrievalId }),
    usage: (query = {}) => get(usageAnswer, "/v1/usage", query),
    terms: (query = {}) => get(termsAnswer, "/v1/terms", query),
    agreeToTerms: (agreement) => post(agreementAnswer, "/v1/terms/agreements", agreement),
    entitlement: () => get(entitlementAnswer, "/v1/entitlement", {}),
    allowance: () => get(allowanceAnswer, "/v1/allowance", {}),
    statement: (month) => get(statementAnswer, statementPath(month), {}),
    statementCsv: (month) => ask("GET", `${statementPath(month)}/csv`),
    adPool: async (request) => jsonAnswer(await ask("POST", "/v1/ads/pool", request)),
    renderAd: (request) => post(renderAnswer, "/v1/ads/render", request),
    clickAd: (request) => post(clickAnswer, "/v1/ads/click", request),
    chooseListing: (choice) => post(listingAnswer, "/v1/key-directory/listing", choice),
    verificationRead: async (path) =>
      jsonAnswer(await send("verification", { method: "GET", path, tag: null })),
    verify: async (request) => {
      const asked = { method: "POST", path: "/v1/verify", tag: null, body: jsonBody(request) } as const;
      return jsonAnswer(await send("verification", asked));
    },
  };
}

function statementPath(month: string): string {
  return `/v1/statements/${encodeURIComponent(month)}`;
}

function recordAnswer(answer: JsonAnswer<FetchedRecord>): RecordAnswer {
  const record = exactMember(answer.text, "record");
  if (record === null) throw unexpectedAnswer(answer.status, "The answer does not contain a record.");
  return { ...answer, recordBytes: utf8(record) };
}
