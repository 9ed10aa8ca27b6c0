// A route as data: one description gives the handler its place and OpenAPI its entry.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { JsonObject } from "../protocol/canonical-json.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import type { ProblemCode } from "../protocol/problem.ts";

export type Method = "GET" | "POST" | "DELETE";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonObject;
}

export interface RouteDoc {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  /** JSON Schema of the request body. */
  readonly body?: JsonObject;
  /** Answers other than problems, by status. */
  readonly answers: Readonly<
    Record<
      string,
      { readonly description: string; readonly schema?: JsonObject; readonly mediaType?: string }
    >
  >;
  readonly problems?: readonly ProblemCode[];
}

export interface Route {
  readonly method: Method;
  /** Parameters are written `:name`. */
  readonly path: string;
  /** Tags that the route accepts; empty for a public one. */
  readonly tags: readonly SignatureTag[];
  readonly doc: RouteDoc;
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
  /** Any origin may read the answers. */
  readonly isPublic?: boolean;
}
