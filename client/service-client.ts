// The signing client of the service, with one method per request. Answers keep their exact text, because what is hashed and
// verified is bytes, not a parsed and reprinted copy of them. For Node and browsers.

import { utf8 } from "../protocol/bytes.ts";
import { exactMember } from "../protocol/exact-member.ts";
import type { CompanyEvent, CompanyEvents } from "../protocol/wire/events.ts";
import type { ListingAnswer, ListingBody } from "../protocol/wire/key-directory.ts";
import type { InlineOutcome, PublishOutcome, PushStatus, RecordFault } from "../protocol/wire/push.ts";
import type { FetchedRecord, SearchAnswer } from "../protocol/wire/retrieval.ts";
import type { TermsAnswer } from "../protocol/wire/terms.ts";
import type { VerifyAnswer, VerifyRequest } from "../protocol/wire/verify.ts";
import { type BusinessClient, businessMethods, queryOf } from "./business-client.ts";
import { type JsonAnswer, jsonAnswer, jsonBody, unexpectedAnswer } from "./json-answer.ts";
import { createSender, type RequestToSend, type SenderOptions, type ServiceAnswer } from "./sender.ts";

/** The service's answer types. */
export type { JsonAnswer } from "./json-answer.ts";
export type {
  CompanyEvent,
  CompanyEvents,
  FetchedRecord,
  InlineOutcome,
  PublishOutcome,
  PushStatus,
  RecordFault,
  SearchAnswer,
};
export type SearchRow = SearchAnswer["rows"][number];

export interface SvcClientOptions extends SenderOptions {
  /** Base URL without trailing slash; null for a surface that is not used. */
  readonly baseUrl: string | null;
  readonly businessUrl: string | null;
  readonly verifyUrl: string | null;
}

/** Search request body (specification, «POST /v1/search»); it is validated by the service. */
export interface SearchRequest {
  readonly collection: string;
  readonly filter: { readonly all: readonly Readonly<Record<string, unknown>>[] };
  readonly sort_by: string;
  readonly q?: string;
  readonly query_by?: readonly string[];
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

export interface RecordAnswer extends JsonAnswer<FetchedRecord> {
  /** The exact bytes that the business sealed. */
  readonly recordBytes: Uint8Array;
}

export interface SvcClient extends BusinessClient {
  search(request: SearchRequest): Promise<JsonAnswer<SearchAnswer>>;
  fetchRecord(recordId: string): Promise<RecordAnswer>;
  /** What this region answered to the AI company. Go on after `next_cursor`; an event may come twice, with the same id. */
  eventsPage(query?: EventsQuery): Promise<JsonAnswer<CompanyEvents>>;
  /** The terms of AI companies that are in force, or those of a version. */
  terms(query?: { readonly version?: number }): Promise<JsonAnswer<TermsAnswer>>;
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

/** Every method rejects with {@link SvcProblemError} or {@link SvcConnectionError}. */
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
  const read = async <T>(surface: Surface, request: Omit<RequestToSend, "url"> & { readonly path: string }) =>
    jsonAnswer<T>(await send(surface, request));
  return {
    ...businessMethods((request) => send("business", request), sender),
    send,
    search: (request) =>
      read("retrieval", {
        method: "POST",
        path: "/v1/search",
        tag: "svc-retrieval",
        body: jsonBody(request),
      }),
    fetchRecord: async (recordId) => {
      const path = `/v1/records/${encodeURIComponent(recordId)}`;
      return recordAnswer(await read("retrieval", { method: "GET", path, tag: "svc-retrieval" }));
    },
    eventsPage: (query = {}) =>
      read("retrieval", { method: "GET", path: `/v1/events${queryOf(query)}`, tag: "svc-retrieval" }),
    terms: (query = {}) =>
      read("retrieval", { method: "GET", path: `/v1/terms${queryOf(query)}`, tag: "svc-retrieval" }),
    chooseListing: (choice) =>
      read("retrieval", {
        ...{ method: "POST", path: "/v1/key-directory/listing", tag: "svc-retrieval" },
        body: jsonBody(choice),
      }),
    verificationRead: (path) => read("verification", { method: "GET", path, tag: null }),
    verify: (request) =>
      read("verification", { method: "POST", path: "/v1/verify", tag: null, body: jsonBody(request) }),
  };
}

function recordAnswer(answer: JsonAnswer<FetchedRecord>): RecordAnswer {
  const record = exactMember(answer.text, "record");
  if (record === null) throw unexpectedAnswer(answer.status, "The answer does not contain a record.");
  return { ...answer, recordBytes: utf8(record) };
}
