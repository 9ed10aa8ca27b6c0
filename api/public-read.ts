// A read that anybody may make, without an account and from any origin.

import type { FastifyRequest } from "fastify";
import { isRefused as isRefusedOutcome, type Outcome, type Refused } from "../service/answer.ts";
import { answerDocument, type PublicDocument } from "../service/verification/published-reads.ts";
import { isRefused, parseQuery, type Query, send, single } from "./request-parts.ts";
import type { AnswerDoc, Parameter, Route, RouteDoc } from "./route.ts";

export type Read<N extends string> = (request: FastifyRequest, query: Query<N>) => Promise<Outcome> | Outcome;

/** A public read with the query parameters `names`; any other is refused. */
export function publicRead<N extends string>(
  path: string,
  doc: RouteDoc,
  names: readonly N[],
  answer: Read<N>,
): Route {
  return {
    method: "GET",
    path,
    tags: [],
    isPublic: true,
    doc,
    handle: async (request, reply) => {
      const query = parseQuery(request.raw.url ?? "", names);
      return send(reply, isRefused(query) ? query : await answer(request, query));
    },
  };
}

/** A parameter of the path; empty if it has no such name. */
export function parameter(request: FastifyRequest, name: string): string {
  const value = (request.params as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : "";
}

const ifNoneMatch: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "ETags that the caller holds: 304 when one of them is current.",
  schema: { type: "string" },
};

/** What is described of a read of a document that is the same for everybody. */
export interface DocumentDoc extends Omit<RouteDoc, "answers"> {
  readonly found: Pick<AnswerDoc, "description" | "body" | "mediaType">;
}

/** A public read of a document that is the same for everybody, and that a caller need not read twice. */
export function documentRead<N extends string>(
  path: string,
  { found, ...doc }: DocumentDoc,
  names: readonly N[],
  find: (
    request: FastifyRequest,
    query: Query<N>,
  ) => Promise<PublicDocument | Refused> | PublicDocument | Refused,
): Route {
  return publicRead(path, describeDocument({ found, ...doc }), names, async (request, query) => {
    const document = await find(request, query);
    return isRefusedOutcome(document) ? document : answerHeld(request, document);
  });
}

/** The answers of a document that is served with an ETag: 200, and 304 for a caller that holds it. */
export function describeDocument({ found, ...doc }: DocumentDoc): RouteDoc {
  const headers = ["Cache-Control", "ETag"] as const;
  return {
    ...doc,
    parameters: [...(doc.parameters ?? []), ifNoneMatch],
    answers: { 200: { ...found, headers }, 304: { description: "Not changed", body: null, headers } },
  };
}

/** Answers with the document, or that the caller holds it. */
export function answerHeld(request: FastifyRequest, document: PublicDocument): Outcome {
  return answerDocument(document, single(request.headers["if-none-match"]));
}
