// Sends signed requests over the given fetch, gives each attempt a signature of its own, and reads answers exactly.

import { concatBytes, parseUtf8, toBase64Url } from "../protocol/bytes.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import { backOffMs } from "../std/back-off.ts";
import { neverSent, SvcConnectionError, SvcProblemError } from "./errors.ts";
import { signRequest } from "./sign-request.ts";
import type { SigningKey } from "./signing-key.ts";

/** The part of the Fetch standard that the client needs. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: Uint8Array<ArrayBuffer> | Blob;
    readonly redirect: "error";
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** Read piece by piece where there is one, so that no answer takes more memory than {@link answerBytesMax}. */
  readonly body?: ReadableStream<Uint8Array> | null;
  arrayBuffer(): Promise<ArrayBuffer>;
}>;

export interface SenderOptions {
  /** The platform's own by default. */
  readonly fetch?: Fetch;
  /** Null for a client that reads only public data. */
  readonly key: SigningKey | null;
  /** Sandbox grant of the key, sent as `SVC-Sandbox-Key`; sandbox only. */
  readonly grant?: string | null;
  readonly timeoutMs?: number;
  readonly retry?: RetryPolicy;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly wait?: (delayMs: number) => Promise<void>;
  readonly randomBytes?: (length: number) => Uint8Array;
}

export interface RequestToSend {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Null for an unsigned request. */
  readonly tag: SignatureTag | null;
  /** A form only in an unsigned request: the bytes of one are not known before it is sent. */
  readonly body?: Uint8Array | Blob | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** The exact body text. */
  readonly text: string;
  /** `sha256:<hex>` of the signature base that was answered; null for an unsigned request. */
  readonly requestHash: string | null;
}

export type Sender = (request: RequestToSend) => Promise<ServiceAnswer>;

const platformFetch: Fetch = (url, init) => fetch(url, init);
const defaultTimeoutMs = 10_000;
/** Bytes of an answer once it is decompressed: several times the largest that the service gives. */
export const answerBytesMax = 67_108_864;

/**
 * Rejects with {@link SvcProblemError} for an answer that is not a success, and with {@link SvcConnectionError} if there was
 * no answer.
 */
export function createSender(options: SenderOptions): Sender {
  const policy = options.retry ?? defaultRetry;
  const wait = options.wait ?? ((delayMs) => new Promise((wake) => setTimeout(wake, delayMs)));
  return async (request) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await sendOnce(options, request);
      } catch (error) {
        const delayMs = decideRetry(error, attempt, policy);
        if (delayMs === null) throw error;
        await wait(delayMs);
      }
    }
  };
}

async function sendOnce(options: SenderOptions, request: RequestToSend): Promise<ServiceAnswer> {
  const now = options.now ?? Date.now;
  const url = new URL(request.url);
  const body = request.body ?? null;
  const isForm = body instanceof Blob;
  if (isForm && request.tag !== null) throw new TypeError("A form cannot be signed.");
  const signed =
    request.tag === null || isForm
      ? null
      : await sign(options, request, { url, body, tag: request.tag, nowMs: now() });
  const headers: Record<string, string> = {
    accept: "application/json",
    // A form's own type names its boundary.
    ...(body === null || isForm ? {} : { "content-type": "application/json" }),
    ...(signed && options.grant ? { "svc-sandbox-key": options.grant } : {}),
    ...request.headers,
    ...signed?.headers,
  };
  const timeoutMs = request.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs;
  const {
    status,
    headers: answered,
    bytes,
  } = await exchange(options.fetch ?? platformFetch, { url, request, headers, body, timeoutMs });
  if (bytes === null) {
    const detail = `The answer has more than ${answerBytesMax} bytes.`;
    throw new SvcProblemError({ ...unexpected, status, detail });
  }
  const text = parseUtf8(bytes);
  if (status < 200 || status > 299)
    throw problemOf(status, text, {
      retryAfterSeconds: parseRetryAfter(answered.get("retry-after"), now()),
      clockAheadSeconds: secondsAhead(now(), answered.get("date")),
    });
  if (text === null) {
    throw new SvcProblemError({ ...unexpected, status, detail: "The answer is not UTF-8." });
  }
  return { status, headers: answered, text, requestHash: signed?.requestHash ?? null };
}

async function sign(
  options: SenderOptions,
  request: RequestToSend,
  parts: {
    readonly url: URL;
    readonly body: Uint8Array | null;
    readonly tag: SignatureTag;
    readonly nowMs: number;
  },
) {
  if (options.key === null)
    throw new Error(`${request.method} ${parts.url.pathname} is signed, and the client has no key.`);
  const randomBytes = options.randomBytes ?? ((length) => crypto.getRandomValues(new Uint8Array(length)));
  const { nowMs, ...rest } = parts;
  return await signRequest({
    ...rest,
    method: request.method,
    key: options.key,
    created: Math.floor(nowMs / 1000),
    nonce: toBase64Url(randomBytes(32)),
  });
}

interface Exchange {
  readonly url: URL;
  readonly request: RequestToSend;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | Blob | null;
  readonly timeoutMs: number;
}

async function exchange(fetch: Fetch, { url, request, headers, body, timeoutMs }: Exchange) {
  // An empty query is signed as no query, so a bare «?» must not be sent either.
  const address =
    url.search === "" ? `${url.origin}${url.pathname}` : `${url.origin}${url.pathname}${url.search}`;
  try {
    const response = await fetch(address, {
      method: request.method,
      headers,
      ...(body === null ? {} : { body: body instanceof Uint8Array ? new Uint8Array(body) : body }),
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    return {
      status: response.status,
      headers: response.headers,
      bytes: await readBounded(response),
    };
  } catch (cause) {
    const effect = neverSent(cause) ? "not_applied" : "unknown";
    const why = effect === "not_applied" ? "cannot be reached" : "gave no answer";
    throw new SvcConnectionError(`${url.origin} ${why} (${reasonOf(cause)}).`, { effect, cause });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return (cause as { code?: string }).code ?? (cause.message || cause.name);
  return error.message;
}

const unexpected = { code: "unexpected_answer", retryAfterSeconds: null, problem: {} };

function secondsAhead(nowMs: number, date: string | null): number | null {
  const theirsMs = Date.parse(date ?? "");
  return Number.isNaN(theirsMs) ? null : Math.round((nowMs - theirsMs) / 1000);
}

function problemOf(
  status: number,
  text: string | null,
  headers: Pick<SvcProblemError, "retryAfterSeconds" | "clockAheadSeconds">,
): SvcProblemError {
  const { retryAfterSeconds } = headers;
  const problem = parseProblem(text);
  if (problem === null) {
    return new SvcProblemError({
      ...unexpected,
      ...headers,
      status,
      text,
      detail: "The answer is not a problem document.",
    });
  }
  const { code, detail, retry_after_seconds: named } = problem;
  return new SvcProblemError({
    ...headers,
    status,
    code: String(code),
    detail: typeof detail === "string" ? detail : "",
    retryAfterSeconds: retryAfterSeconds ?? (typeof named === "number" ? named : null),
    problem,
    text,
  });
}

function parseProblem(text: string | null): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? "");
    const isProblem =
      value !== null && typeof value === "object" && typeof (value as { code?: unknown }).code === "string";
    return isProblem ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Null for a body of more than {@link answerBytesMax}, of which no more is read. */
async function readBounded(response: Awaited<ReturnType<Fetch>>): Promise<Uint8Array | null> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  if (response.body === undefined || response.body === null) {
    const whole = new Uint8Array(await response.arrayBuffer());
    return whole.length > answerBytesMax ? null : whole;
  }
  const reader = response.body.getReader();
  for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) {
    length += next.value.length;
    if (length > answerBytesMax) {
      await reader.cancel();
      return null;
    }
    pieces.push(next.value);
  }
  return concatBytes(...pieces);
}

// Decides which failures are retried: only requests that were certainly not served (specification, «D. Tool server»).

interface RetryPolicy {
  /** Total number of attempts, including the first. */
  readonly maxAttempts: number;
  /** A longer Retry-After is not waited for; the error is passed to the caller. */
  readonly maxDelayMs: number;
}

const defaultRetry: RetryPolicy = { maxAttempts: 3, maxDelayMs: 5_000 };

const firstDelayMs = 200;

/** Milliseconds to wait before the next attempt, or null if there is none. `attempt` counts from 1. */
function decideRetry(error: unknown, attempt: number, policy: RetryPolicy): number | null {
  if (attempt >= policy.maxAttempts) return null;
  const ownMs = backOffMs(attempt, { firstMs: firstDelayMs, maxMs: policy.maxDelayMs });
  if (error instanceof SvcConnectionError) return error.effect === "not_applied" ? ownMs : null;
  if (!(error instanceof SvcProblemError)) return null;
  if (error.status === 502 || error.status === 504) return ownMs;
  if (error.status !== 429 && error.status !== 503) return null;
  const delayMs = error.retryAfterSeconds === null ? ownMs : error.retryAfterSeconds * 1000;
  return delayMs <= policy.maxDelayMs ? delayMs : null;
}

/** Parses `Retry-After`, a number of seconds or an HTTP date (RFC 9110 §10.2.3), into seconds. */
function parseRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header);
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}
