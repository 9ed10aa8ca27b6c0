// The requests by which a business's own system publishes, removes and reads its records: one method per route of the
// business machine API, all signed with an integration key.

import { toBase64, toHex } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { type ImageMediaType, imageMediaTypes, imageTypeOf } from "../protocol/image-type.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { imageBytesMax } from "../protocol/limits.ts";
import { either, type Shape } from "../protocol/shape.ts";
import {
  type AdAnswer,
  adAnswer,
  adImage,
  type CampaignAnswer,
  campaignAnswer,
  poolAnswer,
  type RemovedAdAnswer,
  removedAdAnswer,
} from "../protocol/wire/ad-requests.ts";
import { dailyAnalytics, demand, whoIsAsking } from "../protocol/wire/analytics.ts";
import { bulkUpload, fileValidation, uploadedFile, validationOutcome } from "../protocol/wire/bulk.ts";
import { attemptsPage, cataloguePage, catalogueRecord } from "../protocol/wire/catalogue.ts";
import {
  type AcceptedPolicy,
  acceptedPolicy,
  domainsAnswer,
  heldPushes,
  type InlineOutcome,
  inlineOutcome,
  type PublishOutcome,
  type PushStatus,
  publishOutcome,
  pushStatus,
  type SealContext,
  sealContext,
} from "../protocol/wire/push.ts";
import { removalAnswer, withdrawalsAnswer } from "../protocol/wire/removal.ts";
import { fetchedRecord, searchAnswer } from "../protocol/wire/retrieval.ts";
import { type AcceptedMandate, acceptedMandate } from "../protocol/wire/sealed-documents.ts";
import { type CustodyStatement, custodyStatement } from "../protocol/wire/verification.ts";
import { isObject, joinPointer } from "../std/json-pointer.ts";
import type { BulkClient } from "./bulk.ts";
import type {
  AdImage,
  AttemptsPage,
  CataloguePage,
  CatalogueRecord,
  DailyAnalytics,
  Demand,
  DomainsAnswer,
  HeldPushes,
  RemovalOutcome,
  ValidationOutcome,
  WhoIsAsking,
  WithdrawalsAnswer,
} from "./business-answers.ts";
import { SvcProblemError } from "./errors.ts";
import { type JsonAnswer, jsonAnswer, jsonBody, type TextAnswer, unexpectedAnswer } from "./json-answer.ts";
import type { RequestToSend, Sender } from "./sender.ts";

/** The types of records. */
export const recordTypeNames: readonly CollectionName[] = collectionNames;

export interface PublishRequest {
  /** The exact body bytes; send the same ones again to resume. */
  readonly body: Uint8Array;
  readonly idempotencyKey: string;
}

/** Query parameters of GET /v1/pushes/{push_id}. */
export interface PushPage {
  readonly outcome?: string;
  readonly cursor?: string;
}

/** Query parameters of GET /v1/catalogue. */
export interface CatalogueQuery {
  readonly type?: CollectionName;
  readonly cursor?: string;
}

/** Query parameters of GET /v1/push-attempts: `from` is included, `to` is not; RFC 3339 UTC or a date. */
export interface AttemptsQuery {
  readonly from?: string;
  readonly to?: string;
  readonly status?: string;
  readonly cursor?: string;
}

/** Query parameters of GET /v1/holds. */
export interface HoldsQuery {
  readonly cursor?: string;
}

/** Query parameters of the analytics: days in UTC (`YYYY-MM-DD`), `from` is included, `to` is not. */
export interface AnalyticsQuery {
  readonly from?: string;
  readonly to?: string;
  readonly country?: string;
  readonly type?: CollectionName;
}

export type DemandQuery = AnalyticsQuery & Required<Pick<AnalyticsQuery, "country" | "type">>;

export interface RemovalRequest {
  /** Path name of the record type, for example `products`. */
  readonly type: string;
  readonly action: "withdraw" | "delete";
  /** The exact bytes of the withdrawal document. */
  readonly document: Uint8Array;
  /** Seal format 2 over them. */
  readonly seal: Envelope;
  readonly idempotencyKey: string;
}

export interface WithdrawalsRequest {
  /** At most 50. */
  readonly withdrawals: readonly Pick<RemovalRequest, "document" | "seal">[];
  readonly idempotencyKey: string;
}

export interface BusinessClient extends BulkClient {
  sealContext(): Promise<JsonAnswer<SealContext>>;
  /** Sends a sealed batch; the answer is 200 for up to 50 records and 202 otherwise. */
  publishProducts(request: PublishRequest): Promise<JsonAnswer<InlineOutcome | PushStatus>>;
  /** What the same request would come to; nothing is stored, and the batch may be published afterwards. */
  validateProducts(request: PublishRequest): Promise<JsonAnswer<ValidationOutcome>>;
  pushStatus(pushId: string, page?: PushPage): Promise<JsonAnswer<PushStatus>>;
  /** Takes back a push of which nothing was published. */
  cancelPush(pushId: string): Promise<JsonAnswer<PushStatus>>;
  /** Hands in the decision of an owner or admin about a held push. */
  decideHold(pushId: string, decision: Envelope): Promise<JsonAnswer<PushStatus>>;
  /** The pushes that wait for such a decision, oldest first. */
  holdsPage(query?: HoldsQuery): Promise<JsonAnswer<HeldPushes>>;
  /** Delivers a record that was sealed alone. Sent again, it is answered with its outcome again. */
  publishRecord(
    type: CollectionName,
    record: Uint8Array,
    seal: Envelope,
  ): Promise<JsonAnswer<PublishOutcome>>;
  /** Delivers a sealed AI policy, which is in force from then on. */
  publishPolicy(record: Uint8Array, seal: Envelope): Promise<JsonAnswer<AcceptedPolicy>>;
  /** Delivers a sealed mandate for a key of the business. The same one is answered again. */
  registerMandate(mandate: Envelope): Promise<JsonAnswer<AcceptedMandate>>;
  /** Delivers a sealed request for a statement of who holds a key. */
  requestCustody(request: Envelope): Promise<JsonAnswer<CustodyStatement>>;
  remove(request: RemovalRequest): Promise<JsonAnswer<RemovalOutcome>>;
  /** Hands in many withdrawals, of records of any type; each is answered as if it had come alone. */
  withdraw(request: WithdrawalsRequest): Promise<JsonAnswer<WithdrawalsAnswer>>;
  cataloguePage(query?: CatalogueQuery): Promise<JsonAnswer<CataloguePage>>;
  /** One record, by its id or the business's own id of it, with the exact text that was sealed. */
  catalogueRecord(id: string): Promise<JsonAnswer<CatalogueRecord> & { readonly recordText: string }>;
  attemptsPage(query?: AttemptsQuery): Promise<JsonAnswer<AttemptsPage>>;
  /** The domains of the business's endpoints, with what to publish at each. */
  domains(): Promise<JsonAnswer<DomainsAnswer>>;
  /** Sends an image of an ad: a still PNG, JPEG or WebP. A creative names it by the hash in the answer. */
  uploadImage(bytes: Uint8Array): Promise<JsonAnswer<AdImage>>;
  /** Delivers a sealed campaign, ad or sponsored product. Sent again, it is answered with what it has become. */
  publishAd(record: Uint8Array, seal: Envelope): Promise<JsonAnswer<CampaignAnswer | AdAnswer>>;
  /** Delivers a sealed document `{record_id, action, at}` about an ad of the campaign. */
  removeAd(removal: {
    readonly campaignId: string;
    readonly document: Uint8Array;
    readonly seal: Envelope;
  }): Promise<JsonAnswer<RemovedAdAnswer>>;
  /** How often the business was shown and fetched, by day, country and type. */
  dailyAnalytics(query?: AnalyticsQuery): Promise<JsonAnswer<DailyAnalytics>>;
  /** Which AI companies were shown or fetched its records. */
  whoIsAsking(query?: AnalyticsQuery): Promise<JsonAnswer<WhoIsAsking>>;
  /** What was asked for in a country, of a type that the business publishes. */
  demand(query: DemandQuery): Promise<JsonAnswer<Demand>>;
}

/** Longer than the other time-outs because batches are large. */
const publishTimeoutMs = 120_000;
/** A bulk file has up to 256 MiB; the upload itself is valid for an hour. */
const uploadTimeoutMs = 1_800_000;

type Send = (request: Omit<RequestToSend, "url"> & { readonly path: string }) => ReturnType<Sender>;

type Post = <T>(shape: Shape<T>, path: string, request: Posted) => Promise<JsonAnswer<T>>;

function adMethods(post: Post): Pick<BusinessClient, "publishAd" | "removeAd"> {
  return {
    publishAd: (record, seal) =>
      post(either(campaignAnswer, adAnswer), "/v1/ads/records", {
        body: jsonBody({ record_base64: toBase64(record), seal }),
      }),
    removeAd: ({ campaignId, document, seal }) =>
      post(removedAdAnswer, "/v1/ads/remove", {
        body: jsonBody({ campaign_id: campaignId, document_base64: toBase64(document), seal }),
      }),
  };
}

function sealedMethods(
  post: Post,
): Pick<BusinessClient, "publishRecord" | "publishPolicy" | "registerMandate" | "requestCustody"> {
  const body = (record: Uint8Array, seal: Envelope) => ({
    body: jsonBody({ record_base64: toBase64(record), seal }),
  });
  return {
    publishRecord: (type, record, seal) =>
      post(publishOutcome, `/v1/publish/${type.replaceAll("_", "-")}/record`, body(record, seal)),
    publishPolicy: (record, seal) => post(acceptedPolicy, "/v1/ai-policies", body(record, seal)),
    requestCustody: (request) => post(custodyStatement, "/v1/key-custody", { body: jsonBody({ request }) }),
    registerMandate: (mandate) => post(acceptedMandate, "/v1/mandates", { body: jsonBody({ mandate }) }),
  };
}

function removalMethods(post: Post): Pick<BusinessClient, "remove" | "withdraw"> {
  return {
    remove: ({ type, action, document, seal, idempotencyKey }) =>
      post(removalAnswer, `/v1/publish/${type}/${action}`, {
        body: jsonBody({ document_base64: toBase64(document), seal }),
        idempotencyKey,
      }),
    withdraw: ({ withdrawals, idempotencyKey }) => {
      const sent = withdrawals.map(({ document, seal }) => ({ document_base64: toBase64(document), seal }));
      return post(withdrawalsAnswer, "/v1/withdrawals", {
        body: jsonBody({ withdrawals: sent }),
        idempotencyKey,
        timeoutMs: publishTimeoutMs,
      });
    },
  };
}

/** `send` reaches the business surface, `sender` any address. */
export function businessMethods(send: Send, sender: Sender): BusinessClient {
  const get = async <T>(shape: Shape<T>, path: string): Promise<JsonAnswer<T>> =>
    formed(shape, await send({ method: "GET", path, tag: "svc-business-read" }));
  const post: Post = async (shape, path, request) =>
    formed(
      shape,
      await send({
        method: "POST",
        path,
        tag: "svc-push",
        body: request.body,
        headers: headersOf(request),
        ...(request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs }),
      }),
    );
  const push = (pushId: string): string => `/v1/pushes/${encodeURIComponent(pushId)}`;
  const timeoutMs = publishTimeoutMs;
  return {
    sealContext: () => get(sealContext, "/v1/seal-context"),
    publishProducts: (request) =>
      post(either(inlineOutcome, pushStatus), "/v1/publish/products", { ...request, timeoutMs }),
    validateProducts: (request) =>
      post(validationOutcome, "/v1/publish/products?validate_only=true", { ...request, timeoutMs }),
    pushStatus: (pushId, page = {}) => get(pushStatus, `${push(pushId)}${queryOf(page)}`),
    cancelPush: (pushId) => post(pushStatus, `${push(pushId)}/cancel`, { body: null }),
    decideHold: (pushId, decision) =>
      post(pushStatus, `${push(pushId)}/hold`, { body: jsonBody({ decision }) }),
    holdsPage: (query = {}) => get(heldPushes, `/v1/holds${queryOf(query)}`),
    ...sealedMethods(post),
    ...removalMethods(post),
    cataloguePage: (query = {}) => get(cataloguePage, `/v1/catalogue${queryOf(query)}`),
    catalogueRecord: async (id) => {
      const answer = await get(catalogueRecord, `/v1/catalogue/${encodeURIComponent(id)}`);
      const recordText = exactMember(answer.text, "record");
      if (recordText === null) throw unexpectedAnswer(answer.status, "The answer does not contain a record.");
      return { ...answer, recordText };
    },
    attemptsPage: (query = {}) => get(attemptsPage, `/v1/push-attempts${queryOf(query)}`),
    domains: () => get(domainsAnswer, "/v1/domains"),
    ...adMethods(post),
    uploadImage: async (bytes) =>
      post(adImage, "/v1/ads/images", { body: bytes, mediaType: mediaTypeOf(bytes), timeoutMs }),
    dailyAnalytics: (query = {}) => get(dailyAnalytics, `/v1/analytics/daily${queryOf(query)}`),
    whoIsAsking: (query = {}) => get(whoIsAsking, `/v1/analytics/who-is-asking${queryOf(query)}`),
    demand: (query) => get(demand, `/v1/analytics/demand${queryOf(query)}`),
    requestUpload: ({ type, idempotencyKey }) =>
      post(bulkUpload, "/v1/bulk-uploads", { body: jsonBody({ record_type: type }), idempotencyKey }),
    sendFile: async (upload, file) => {
      const { bytes, ...sent } = { bytes: file.size, ...upload };
      if (bytes > sent.max_bytes) throw tooLarge(bytes, sent.max_bytes);
      const answer = await sender({
        method: "POST",
        url: sent.upload_url,
        tag: null,
        timeoutMs: uploadTimeoutMs,
        body: formOf(sent, file),
      });
      return formed(uploadedFile, answer).body;
    },
    importFile: ({ uploadId, batchSeal, idempotencyKey }) =>
      post(pushStatus, "/v1/bulk-imports", {
        body: jsonBody({ upload_id: uploadId, batch_seal: batchSeal }),
        idempotencyKey,
        timeoutMs,
      }),
    validateImport: ({ uploadId, batchSeal, idempotencyKey }, page = {}) =>
      post(fileValidation, `/v1/bulk-imports${queryOf({ validate_only: "true", ...page })}`, {
        body: jsonBody({ upload_id: uploadId, batch_seal: batchSeal }),
        idempotencyKey,
        timeoutMs,
      }),
  };
}

interface Posted {
  readonly body: Uint8Array | null;
  readonly idempotencyKey?: string;
  /** By default JSON. */
  readonly mediaType?: string;
  readonly timeoutMs?: number;
}

function headersOf({ idempotencyKey, mediaType }: Posted): Readonly<Record<string, string>> {
  return {
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(mediaType === undefined ? {} : { "content-type": mediaType }),
  };
}

/** Throws {@link SvcProblemError} for what the service would refuse by its first bytes, or its size. */
function mediaTypeOf(image: Uint8Array): ImageMediaType {
  if (image.length > imageBytesMax) throw tooLarge(image.length, imageBytesMax);
  const mediaType = imageTypeOf(image);
  if (mediaType === null) throw notAnImage();
  return mediaType;
}

/** The query of an address with these parameters, with its question mark; empty without any. */
export function queryOf(page: object): string {
  const query = new URLSearchParams(Object.entries(page as Record<string, string>)).toString();
  return query === "" ? "" : `?${query}`;
}

/**
 * Every field, and then the file (RFC 7578). Not a `FormData`: Node's `fetch` goes on writing one after its connection was
 * reset, and the error ends the process.
 */
function formOf(
  upload: { readonly fields: Readonly<Record<string, string>>; readonly content_type: string },
  file: Blob,
): Blob {
  // A Blob's type is in lower case. No line of the file can contain it: they are base64.
  const boundary = `svc-${toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
  const part = (name: string, rest: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${rest}`;
  const fields = Object.entries(upload.fields).map(([name, value]) => {
    if (/["\r\n]/.test(name) || /[\r\n]/.test(value))
      throw new TypeError("A field of the upload is not one line.");
    return part(name, `\r\n\r\n${value}\r\n`);
  });
  const head = part("file", `; filename="records.ndjson"\r\nContent-Type: ${upload.content_type}\r\n\r\n`);
  return new Blob([...fields, head, file, `\r\n--${boundary}--\r\n`], {
    type: `multipart/form-data; boundary=${boundary}`,
  });
}

function tooLarge(bytes: number, max: number): SvcProblemError {
  const detail = `The file has ${bytes} bytes; ${max} are allowed.`;
  return refusedHere(413, "record_too_large", detail);
}

function notAnImage(): SvcProblemError {
  const detail = `The file is none of ${imageMediaTypes.join(", ")}.`;
  return refusedHere(415, "media_type_unsupported", detail);
}

/** What the service would refuse is not sent. */
function refusedHere(status: number, code: string, detail: string): SvcProblemError {
  return new SvcProblemError({ status, code, detail, retryAfterSeconds: null, problem: {} });
}

// Whether an answer has the form that its reader relies on. An answer may have more members than this release knows, and values that it
// does not know, so only what is there is looked at: members that must be present, and the kinds of their values.

/** Of the answers that the client passes on as they came. */
export const forms = { search: searchAnswer, record: fetchedRecord, pool: poolAnswer } as const;

/** The answer as JSON of this form. Throws {@link SvcProblemError} for another one. */
export function formed<T>(shape: Shape<T>, answer: TextAnswer): JsonAnswer<T> {
  return ofForm(shape, jsonAnswer<T>(answer));
}

/** The answer itself, which was parsed before. Throws {@link SvcProblemError} for one of another form. */
export function ofForm<T>(shape: Shape<T>, answer: JsonAnswer<T>): JsonAnswer<T> {
  const wrong = formFault(shape.schema, answer.body);
  if (wrong === null) return answer;
  throw unexpectedAnswer(answer.status, unexpectedForm("The answer", wrong));
}

/** What is said of an answer with a member that is not as a caller relies on. */
export function unexpectedForm(answer: string, { pointer, detail }: FormFault): string {
  const where = pointer === "" ? "it" : `\`${pointer}\``;
  return `${answer} does not have the form that this request is answered in: ${where} ${detail}.`;
}

/** The first member that is missing or of another kind: its pointer (RFC 6901), and what is wrong with it. */
export interface FormFault {
  readonly pointer: string;
  readonly detail: string;
}

/** Judges a value by the schema of a shape; null if nothing that the schema needs is wrong. */
export function formFault(schema: JsonObject, value: unknown, pointer = ""): FormFault | null {
  const { allOf, anyOf, type, properties = {}, additionalProperties: others, required = [], items } = schema;
  const within = (each: JsonValue | undefined, item: unknown, name: string | number | null) =>
    isObject(each)
      ? formFault(each, item, name === null ? pointer : joinPointer(pointer, String(name)))
      : null;
  const first = (faults: readonly (FormFault | null)[]) => faults.find((each) => each !== null) ?? null;
  if (Array.isArray(allOf)) return first(allOf.map((each) => within(each, value, null)));
  if (Array.isArray(anyOf)) {
    const faults = anyOf.map((each) => within(each, value, null));
    // That of the alternative that fits best, which is the one with the innermost fault.
    const inner = (a: FormFault | null, b: FormFault | null) =>
      a !== null && b !== null && b.pointer.length > a.pointer.length ? b : a;
    return faults.includes(null) ? null : faults.reduce(inner);
  }
  if (typeof type === "string" && !isOfType(type, value))
    return { pointer, detail: `is not ${type === "null" ? "null" : `of the type ${type}`}` };
  if (Array.isArray(value)) return first(value.map((item, at) => within(items, item, at)));
  if (!isObject(value)) return null;
  const missing = (required as readonly string[]).find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return { pointer: joinPointer(pointer, missing), detail: "is missing" };
  const shapes = properties as Readonly<Record<string, JsonObject>>;
  return first(
    Object.entries(value).map(([name, each]) =>
      within(Object.hasOwn(shapes, name) ? shapes[name] : others, each, name),
    ),
  );
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "null") return value === null;
  return typeof value === (type === "integer" ? "number" : type);
}
