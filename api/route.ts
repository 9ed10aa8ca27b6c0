// A route as data: one description gives the handler its place and OpenAPI its entry.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { SignatureTag } from "../protocol/http-signature.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { grantLengthMax } from "../protocol/limits.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import type { Shape } from "../protocol/shape.ts";

export type Method = "GET" | "POST" | "DELETE";

/** The published part of a shape. */
export type Described = Pick<Shape<unknown>, "schema">;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonObject;
}

/** A parameter of the path. */
export function inPath(name: string, description: string, schema: JsonObject): Parameter {
  return { name, in: "path", description, schema };
}

/** A parameter of the query. */
export function inQuery(
  name: string,
  description: string,
  schema: JsonObject,
  presence: "optional" | "required" = "optional",
): Parameter {
  return { name, in: "query", description, schema, required: presence === "required" };
}

export interface AnswerDoc {
  readonly description: string;
  /** The body; null for an answer that has none. */
  readonly body: Described | null;
  /** The media type of the body (default: JSON). */
  readonly mediaType?: string;
  /** Further media types that the body may have, with the same schema. */
  readonly otherMediaTypes?: readonly string[];
  /** The fields that it always has, in addition to those of every answer. */
  readonly headers?: readonly HeaderName[];
}

/** The answers of a route that has one besides its problems: 200, always with these headers. */
export function answeredWith(
  description: string,
  body: Described,
  headers: readonly HeaderName[] = [],
): RouteDoc["answers"] {
  return { 200: { description, body, headers } };
}

export interface RouteDoc {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  /** `mediaType` defaults to JSON. */
  readonly body?: Described & { readonly mediaType?: string; readonly otherMediaTypes?: readonly string[] };
  /** Answers other than problems, by status. */
  readonly answers: Readonly<Record<string, AnswerDoc>>;
  /** Statuses that are also answered as a page for people. */
  readonly pages?: readonly number[];
  /** Statuses that are also answered as one JSON document per line. */
  readonly lines?: readonly number[];
  /** Statuses that are also answered as a text in Markdown. */
  readonly texts?: readonly number[];
  readonly problems?: readonly ProblemCode[];
}

/** What OpenAPI says about a route. */
export interface Operation {
  readonly method: Method;
  /** The path, with parameters written `:name`. */
  readonly path: string;
  /** The tags that the route accepts; empty for a public one. */
  readonly tags: readonly SignatureTag[];
  readonly doc: RouteDoc;
  /** Whether any origin may read the answers. */
  readonly isPublic?: boolean;
}

export interface Route extends Operation {
  /** Whether only people look at it, so that the OpenAPI document leaves it out. */
  readonly isPage?: boolean;
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

/** The header that every signed surface accepts in the sandbox (specification, «Sandbox»). */
export const sandboxKey: Parameter = {
  name: "SVC-Sandbox-Key",
  in: "header",
  description:
    "Sandbox only. The grant of the signing key; the first signed request that carries it registers the key.",
  schema: { type: "string", minLength: 1, maxLength: grantLengthMax },
};

// The header fields of answers, as OpenAPI names them.

const text: JsonObject = { type: "string", minLength: 1 };

export const responseHeaders = {
  "Request-Id": { description: "Names the request in the logs of the service.", schema: text },
  "Cache-Control": { description: "How long the answer may be kept, and by whom.", schema: text },
  "Retry-After": {
    description: "Seconds, as in `retry_after_seconds`.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "The challenge of a 401 (RFC 9110 §15.5.2).", schema: text },
  "Content-Security-Policy": { description: "What the answer may do if it is shown.", schema: text },
  Location: { description: "Where to ask for the status.", schema: { type: "string", pattern: "^/v1/" } },
  ETag: { description: "For If-None-Match.", schema: { type: "string", pattern: '^"[^"]+"$' } },
  Vary: { description: "Header fields of the request that the answer depends on.", schema: text },
  "Access-Control-Allow-Origin": { description: "Any origin may read the answer.", schema: { const: "*" } },
  "Content-Disposition": { description: "A name for the file.", schema: text },
  "RateLimit-Policy": { description: "Limits of the key, where there are any.", schema: text },
  RateLimit: { description: "What is left of them.", schema: text },
} as const satisfies Readonly<Record<string, { readonly description: string; readonly schema: JsonObject }>>;

export type HeaderName = keyof typeof responseHeaders;

/** References to the fields, as members of a response; `required` lists those that every such answer has. */
export function headerFields(
  required: readonly HeaderName[],
  optional: readonly HeaderName[] = [],
): JsonObject {
  const field = (isRequired: boolean) => (name: HeaderName) =>
    [name, { ...responseHeaders[name], required: isRequired }] as const;
  return Object.fromEntries([...required.map(field(true)), ...optional.map(field(false))]);
}
