// Reads the parts of a request exactly as they were received.

import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import Negotiator from "negotiator";
import { joinUtf8 } from "../protocol/bytes.ts";
import { type Problem, problemMediaType } from "../protocol/problem.ts";
import { nearestName } from "../protocol/shape.ts";
import {
  type AnswerBody,
  type Outcome,
  type Refused,
  refusedWith,
  wrongParameter,
} from "../service/answer.ts";
import type { RequestHead } from "../service/authentication/authenticate.ts";
import { hasBody } from "./body.ts";
import type { Edge } from "./edge.ts";

/** What signatures cover of a request (RFC 9421 §2); the path is never empty, and the query begins with its `?`. */
export function requestHead(request: IncomingMessage): RequestHead {
  const { host, url } = target(request);
  const queryAt = url.indexOf("?");
  const { headers } = request;
  return {
    method: request.method ?? "GET",
    host,
    path: queryAt < 0 ? url : url.slice(0, queryAt) || "/",
    query: queryAt < 0 ? null : url.slice(queryAt),
    hasBody: hasBody(request),
    signatureInput: single(headers["signature-input"]),
    signature: single(headers["signature"]),
    contentDigest: single(headers["content-digest"]),
    authorization: headers.authorization ?? null,
    sandboxKey: single(headers["svc-sandbox-key"]),
  };
}

/** A target in absolute form names its host itself, and the Host header is then ignored (RFC 9112 §3.2.2). */
function target(request: IncomingMessage): { readonly host: string | null; readonly url: string } {
  const url = request.url ?? "/";
  const host = onlyHost(request);
  const [, named, rest] = (url.startsWith("/") ? null : /^https?:\/\/([^/?#]+)(\/.*)$/i.exec(url)) ?? [];
  return named === undefined || rest === undefined ? { host, url } : { host: host && named, url: rest };
}

/** The host that a request is addressed to; null if it names none, or several. */
export function addressedHost(request: IncomingMessage): string | null {
  return target(request).host;
}

/**
 * Of several Host fields Node keeps the first, while a proxy in front may have kept another: then none counts (RFC 9112
 * §3.2).
 */
function onlyHost(request: IncomingMessage): string | null {
  return hostFields(request) === 1 ? (request.headers.host ?? null) : null;
}

/** How many Host fields were sent. */
export function hostFields({ rawHeaders }: IncomingMessage): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts;
}

/** Node joins repeated fields with these names as RFC 9110 §5.3 says. */
export function single(value: string | readonly string[] | undefined): string | null {
  return typeof value === "string" ? value : (value?.join(", ") ?? null);
}

/** The address that a request comes from; null if it is not known. */
export function sourceOfRequest(
  { socket, headers }: Pick<IncomingMessage, "socket" | "headers">,
  edge: Pick<Edge, "sourceOf">,
): string | null {
  // All its fields in the order of arrival, as one list (RFC 9110 §5.3).
  return edge.sourceOf(socket, single(headers["x-forwarded-for"]));
}

export type Query<N extends string> = { readonly [K in N]: string | null };

/**
 * The parameters of a query string, each at most once; any other name is refused, with the nearest existing one
 * suggested.
 */
export function parseQuery<N extends string>(url: string, names: readonly N[]): Query<N> | Refused {
  const values = new Map<string, string | null>(names.map((name) => [name, null]));
  const queryAt = url.indexOf("?");
  const parameters = queryAt < 0 ? [] : new URLSearchParams(url.slice(queryAt + 1));
  for (const [name, value] of parameters) {
    const known = values.get(name);
    if (known === null) values.set(name, value);
    else return known === undefined ? unknownParameter(name, names) : repeatedParameter(name);
  }
  return Object.fromEntries(values) as Query<N>;
}

/** A query parameter that is `true` or `false`; absent means false. */
export function parseFlag<N extends string>(query: Query<N>, name: N): boolean | Refused {
  const value = query[name];
  if (value === null || value === "false") return false;
  if (value === "true") return true;
  return wrongParameter(name, `${name} is true or false.`);
}

function unknownParameter(name: string, names: readonly string[]): Refused {
  const suggestion = nearestName(name, names);
  return refusedWith(
    "request_invalid",
    `The query parameter ${JSON.stringify(name.slice(0, 64))} does not exist here.`,
    {
      pointer: "/query",
      allowed: names,
      ...(suggestion === null ? {} : { suggestion }),
    },
  );
}

function repeatedParameter(name: string): Refused {
  return wrongParameter(name, `The query parameter ${name} is given twice.`);
}

/** Whether a query was refused: 400 with the parameter at fault. */
export function isRefused<N extends string>(query: Query<N> | Refused): query is Refused {
  return "kind" in query && query.kind === "problem";
}

/** A pattern for the request paths that a route with this path answers. */
export function pathPattern(path: string): RegExp {
  const exact = path.replaceAll(".", "\\.").replaceAll(/:[a-z_]+/g, "[^/]+");
  return new RegExp(`^${exact.replace(/\*$/, ".*")}$`);
}

// Room for long answers that is used again: the pages of new memory are cleared before something is written into them, which
// takes longer than the writing.
//   R1. What is joined in a room is not changed before `release` is called. If it never is, the room is only not used again.
//   R2. Kept rooms are bounded in number and size. What is longer gets memory of its own, and so does what is short: it is
//       cheaper than a room that a slow reader keeps.

export interface RoomsOptions {
  /** The size of a room, and the length from which on one is used. */
  readonly bytes: number;
  readonly bytesMin: number;
  readonly keptMax: number;
}

interface Joined {
  readonly bytes: Uint8Array;
  /** Bytes of memory that are in use until then. */
  readonly heldBytes: number;
  /** Must be called once the bytes are not needed any more, at most once. */
  readonly release: () => void;
}

export class Rooms {
  readonly #options: RoomsOptions;
  readonly #free: Uint8Array[] = [];

  constructor(options: RoomsOptions) {
    this.#options = options;
  }

  /** The parts as UTF-8, one after another. */
  join(parts: readonly (string | Uint8Array)[]): Joined {
    let room: Uint8Array | null = null;
    const bytes = joinUtf8(parts, (lengthMax) => {
      const { bytesMin, bytes: most } = this.#options;
      if (lengthMax < bytesMin || lengthMax > most) return new Uint8Array(lengthMax);
      room = this.#free.pop() ?? new Uint8Array(most);
      return room;
    });
    return { bytes, heldBytes: bytes.buffer.byteLength, release: () => this.#keep(room) };
  }

  #keep(room: Uint8Array | null): void {
    if (room !== null && this.#free.length < this.#options.keptMax) this.#free.push(room);
  }
}

// Sends the result of a service function: bodies verbatim, problems as RFC 9457 documents.

type Headers = Readonly<Record<string, string>>;

const noHeaders: Headers = Object.freeze({});
/** A pool of twenty ads with long histories fits in. */
const rooms = new Rooms({ bytes: 524_288, bytesMin: 65_536, keptMax: 8 });

/** Sends the outcome; `headers` are added to its own. */
export function send(reply: FastifyReply, outcome: Outcome, headers: Headers = noHeaders): FastifyReply {
  setHeaders(reply, outcome.headers);
  setHeaders(reply, headers);
  if (outcome.kind === "problem") return sendProblem(reply, outcome.problem);
  // A refusal that is replayed under its Idempotency-Key.
  if (outcome.status >= 400) reply.header("cache-control", "no-store");
  return sendBody(reply.code(outcome.status), outcome.body);
}

/** Sends a problem document (RFC 9457), which nobody may cache; `Retry-After` is in seconds. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  // RFC 9110 §15.5.2 requires a challenge with every 401.
  if (problem.status === 401) reply.header("www-authenticate", "Signature");
  if (problem.retry_after_seconds !== undefined)
    reply.header("retry-after", String(problem.retry_after_seconds));
  reply.header("cache-control", "no-store");
  reply.problemCode = problem.code;
  return sendBody(
    reply.code(problem.status).header("content-type", problemMediaType),
    JSON.stringify(problem),
  );
}

/** Sent as bytes: the platform adds a charset to the media type of text, and JSON has none (RFC 8259 §11). */
function sendBody(reply: FastifyReply, body: AnswerBody): FastifyReply {
  const { bytes, heldBytes } = joined(reply, body);
  reply.send(bytes);
  // What the peer's side currently has no room for.
  const unsent = reply.raw.socket?.writableLength ?? 0;
  if (unsent > 0) reply.server.edge.owe(reply.raw, Math.max(unsent, heldBytes));
  return reply;
}

function joined(reply: FastifyReply, body: AnswerBody): Pick<Joined, "bytes" | "heldBytes"> {
  if (typeof body === "string") return { bytes: Buffer.from(body), heldBytes: 0 };
  if (body instanceof Uint8Array) return { bytes: body, heldBytes: 0 };
  const found = rooms.join(body.parts);
  // By then all of it was taken by the system, or the connection is gone.
  reply.raw.on("close", found.release);
  return found;
}

function setHeaders(reply: FastifyReply, headers: Headers): void {
  for (const name in headers) reply.header(name, headers[name]);
}

// Content negotiation (RFC 9110 §12.5.1), for addresses that offer something else besides one JSON document: a page for
// people, or one document per line.

const json = "application/json";
const lines = "application/x-ndjson";
const html = "text/html; charset=utf-8";
const markdown = "text/markdown";

/**
 * Whether a page is wanted rather than JSON: the caller prefers text/html, as browsers do, or names it first of the two.
 * A caller that accepts anything gets JSON, and so does one that accepts neither.
 */
export function prefersHtml(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([json, html]) === html;
}

/** Whether a text in Markdown is wanted rather than a page; a caller that accepts anything gets the page. */
export function prefersMarkdown(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([html, markdown]) === markdown;
}

/** Whether one JSON document per line is wanted; a caller that accepts anything gets a single document. */
export function prefersLines(accept: string): boolean {
  return new Negotiator({ headers: { accept } }).mediaType([json, lines]) === lines;
}
