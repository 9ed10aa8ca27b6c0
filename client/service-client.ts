// The signing client of the service, with one method per request. Answers keep their exact text, because what is hashed and
// verified is bytes, not a parsed and reprinted copy of them. For Node and browsers.

import { utf8 } from "../protocol/bytes.ts";
import { exactMember } from "../protocol/exact-member.ts";
import type {
  InlineOutcome,
  PublishOutcome,
  PushStatus,
  RecordFault,
  SealContext,
} from "../protocol/wire/push.ts";
import type { FetchedRecord, SearchAnswer } from "../protocol/wire/retrieval.ts";
import type { VerifyAnswer, VerifyRequest } from "../protocol/wire/verify.ts";
import { SvcProblemError } from "./errors.ts";
import { createSender, type RequestToSend, type SenderOptions, type ServiceAnswer } from "./sender.ts";

/** The service's answer types. */
export type { FetchedRecord, InlineOutcome, PublishOutcome, PushStatus, RecordFault, SearchAnswer };
export type SearchRow = SearchAnswer["rows"][number];

export interface SvcClientOptions extends SenderOptions {
  /** Base URL without trailing slash; null for a surface that is not used. */
  readonly baseUrl: string | null;
  readonly businessUrl: string | null;
  readonly verifyUrl: string | null;
}

/** An answer parsed as JSON, together with the text it was parsed from. */
export interface JsonAnswer<T> {
  readonly body: T;
  readonly text: string;
  readonly status: number;
  /** Hash of the signature base that was answered, as the receipt names it; null when nothing was signed. */
  readonly requestHash: string | null;
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

export interface RecordAnswer extends JsonAnswer<FetchedRecord> {
  /** The exact bytes that the business sealed. */
  readonly recordBytes: Uint8Array;
}

export interface PublishRequest {
  /** Path name of the record type, for example `products`. */
  readonly type: string;
  /** The exact body bytes; send the same ones again to resume. */
  readonly body: Uint8Array;
  readonly idempotencyKey: string;
}

/** Query parameters of GET /v1/pushes/{push_id}. */
export interface PushPage {
  readonly outcome?: string;
  readonly cursor?: string;
}

export interface SvcClient {
  search(request: SearchRequest): Promise<JsonAnswer<SearchAnswer>>;
  fetchRecord(recordId: string): Promise<RecordAnswer>;
  /** Sends a sealed batch; the answer is 200 for up to 50 records and 202 otherwise. */
  publishProducts(request: Omit<PublishRequest, "type">): Promise<JsonAnswer<InlineOutcome | PushStatus>>;
  pushStatus(pushId: string, page?: PushPage): Promise<JsonAnswer<PushStatus>>;
  sealContext(): Promise<JsonAnswer<SealContext>>;
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

/** Longer than the other time-outs because uploads are large. */
const publishTimeoutMs = 120_000;

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
    publishProducts: ({ body, idempotencyKey }) =>
      read("business", {
        method: "POST",
        path: "/v1/publish/products",
        tag: "svc-push",
        body,
        headers: { "idempotency-key": idempotencyKey },
        timeoutMs: publishTimeoutMs,
      }),
    pushStatus: (pushId, page = {}) => {
      const path = `/v1/pushes/${encodeURIComponent(pushId)}${queryOf(page)}`;
      return read("business", { method: "GET", path, tag: "svc-business-read" });
    },
    sealContext: () =>
      read("business", { method: "GET", path: "/v1/seal-context", tag: "svc-business-read" }),
    verificationRead: (path) => read("verification", { method: "GET", path, tag: null }),
    verify: (request) =>
      read("verification", { method: "POST", path: "/v1/verify", tag: null, body: jsonBody(request) }),
  };
}

function jsonBody(value: object): Uint8Array {
  return utf8(JSON.stringify(value));
}

function queryOf(page: PushPage): string {
  const query = new URLSearchParams(Object.entries(page)).toString();
  return query === "" ? "" : `?${query}`;
}

function jsonAnswer<T>({ text, status, requestHash }: ServiceAnswer): JsonAnswer<T> {
  try {
    return { body: JSON.parse(text) as T, text, status, requestHash };
  } catch {
    throw unexpectedAnswer(status, "The answer is not JSON.");
  }
}

function recordAnswer(answer: JsonAnswer<FetchedRecord>): RecordAnswer {
  const record = exactMember(answer.text, "record");
  if (record === null) throw unexpectedAnswer(answer.status, "The answer does not contain a record.");
  return { ...answer, recordBytes: utf8(record) };
}

function unexpectedAnswer(status: number, detail: string): SvcProblemError {
  return new SvcProblemError({
    status,
    code: "unexpected_answer",
    detail,
    retryAfterSeconds: null,
    problem: {},
  });
}
