// A route of the operators' surface as data: one description gives the handler its place, query and body their schema, and OpenAPI
// its entry.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AnswerDoc, Operation, Parameter, RouteDoc } from "../api/route.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import type { Result } from "../protocol/result.ts";
import type { Shape } from "../protocol/shape.ts";
import { sendProblem } from "./acts.ts";
import { under } from "./shapes.ts";

export interface OpsRoute extends Operation {
  /** Where a body may have more bytes than usual. */
  readonly bodyBytesMax?: number;
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** The names of a path's parameters. */
type Names<P extends string> = P extends `${string}:${infer N}/${infer Rest}`
  ? N | Names<Rest>
  : P extends `${string}:${infer N}`
    ? N
    : never;

type Params<P extends string> = Readonly<Record<Names<P>, string>>;

interface Asked<P extends string, B> extends Omit<FastifyRequest, "params" | "query" | "body"> {
  readonly params: Params<P>;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: B;
}

type Handle<P extends string, B> = (request: Asked<P, B>, reply: FastifyReply) => Promise<unknown>;

export function addRoutes(server: FastifyInstance, routes: readonly OpsRoute[]): void {
  for (const { method, path, doc, handle, bodyBytesMax } of routes) {
    const { parameters = [], body } = doc;
    const asked = parameters.filter((each) => each.in === "query");
    const querystring = {
      type: "object",
      properties: Object.fromEntries(asked.map(({ name, schema }) => [name, schema])),
      additionalProperties: false,
    };
    const schema = { querystring, ...(body === undefined ? {} : { body: body.schema }) };
    const limit = bodyBytesMax === undefined ? {} : { bodyLimit: bodyBytesMax };
    server.route({ method, url: path, schema, handler: handle, ...limit });
  }
}

export function route<P extends string, B>(
  method: Operation["method"],
  path: P,
  doc: RouteDoc & { readonly body?: Shape<B> },
  handle: Handle<P, B>,
): OpsRoute {
  // The path has these parameters, and a body that is not of its shape is refused before.
  return { method, path, tags: [], doc, handle: handle as OpsRoute["handle"] };
}

export const parameter = (
  where: "path" | "query",
  name: string,
  description: string,
  schema: JsonObject = { type: "string" },
): Parameter => ({ name, in: where, description, schema });

/** The query of a list that is read page by page. */
export const afterPage = parameter("query", "after", "`next_after` of the previous page.");

interface ReadDoc {
  readonly summary: string;
  readonly answer: Shape<unknown>;
  readonly parameters?: readonly Parameter[];
  readonly problems?: readonly ProblemCode[];
  readonly mediaType?: string;
  /** The status codes besides 200. */
  readonly answers?: Readonly<Record<string, AnswerDoc>>;
}

export function read<P extends string>(
  path: P,
  { summary, answer: body, parameters = [], problems = [], answers = {}, mediaType }: ReadDoc,
  handle: Handle<P, unknown>,
): OpsRoute {
  const answer = { description: summary, body, ...(mediaType === undefined ? {} : { mediaType }) };
  return route("GET", path, { summary, parameters, problems, answers: { 200: answer, ...answers } }, handle);
}

/** A look at one thing, which is shown under its name. */
export function shown<P extends string, T>(
  path: P,
  name: string,
  { subject, parameters, summary = `The ${name} as it is now` }: ShownDoc,
  find: (params: Params<P>) => Promise<Result<T, "unknown">>,
): OpsRoute {
  const doc = { summary, answer: under(name, subject), parameters, problems: ["not_found"] as const };
  return read(path, doc, async ({ params }, reply) => {
    const found = await find(params);
    return found.ok ? { [name]: found.value } : sendProblem(reply, "not_found", found.detail);
  });
}

interface ShownDoc {
  readonly subject: Shape<unknown>;
  readonly parameters: readonly Parameter[];
  readonly summary?: string;
}

interface ActDoc<B> {
  readonly summary: string;
  readonly body: Shape<B>;
  readonly answer: Shape<unknown>;
  readonly parameters?: readonly Parameter[];
  readonly problems?: readonly ProblemCode[];
}

/** The problems of an act that names what its sender saw. */
export const problemsOfSeen = ["not_found", "state_changed"] as const;

export function act<P extends string, B>(
  path: P,
  { summary, body, answer, parameters = [], problems = ["not_found"] }: ActDoc<B>,
  handle: Handle<P, B>,
): OpsRoute {
  const answers = { 200: { description: `${summary}; what it is now`, body: answer } };
  return route("POST", path, { summary, parameters, body, answers, problems }, handle);
}

/** Why nothing was done; `changed` is another state than was seen. */
export const problemOf = { unknown: "not_found", changed: "state_changed" } as const;

/** Sends whether an act changed its subject, which is under its name, or why nothing was done. */
export function tellChanged(
  reply: FastifyReply,
  outcome: Result<{ readonly changed: boolean; readonly subject: unknown }, keyof typeof problemOf>,
  name = "subject",
): FastifyReply {
  if (!outcome.ok) return sendProblem(reply, problemOf[outcome.code], outcome.detail);
  const { changed, subject } = outcome.value;
  reply.request.outcome = { changed };
  return reply.send({ changed, [name]: subject });
}
