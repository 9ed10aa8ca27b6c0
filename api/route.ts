// A route as data: one description gives the handler its place and OpenAPI its entry.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { JsonObject } from "../protocol/canonical-json.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import type { Shape } from "../protocol/shape.ts";
import type { HeaderName } from "./response-headers.ts";

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
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}
