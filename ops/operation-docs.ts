// How the operations of the operators' surface are described: reads, and acts that name their author and reason.

import type { Operation, Parameter, RouteDoc } from "../api/route.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import { object, type Shape } from "../protocol/shape.ts";
import { commandOutcome } from "./shapes.ts";

export const parameter = (where: "path" | "query", name: string, description: string): Parameter => ({
  ...{ name, in: where, description, schema: { type: "string" } },
});

interface Read {
  readonly parameters?: readonly Parameter[];
  readonly problems?: readonly ProblemCode[];
  readonly mediaType?: string;
  /** The status codes besides 200. */
  readonly answers?: RouteDoc["answers"];
}

export function read(path: string, summary: string, body: Shape<unknown>, more: Read = {}): Operation {
  const { parameters = [], problems = [], answers = {}, mediaType } = more;
  const answer = { description: summary, body, ...(mediaType === undefined ? {} : { mediaType }) };
  const doc = { summary, parameters, problems, answers: { 200: answer, ...answers } };
  return { method: "GET", path, tags: [], doc };
}

export function shown(
  path: string,
  name: string,
  subject: Shape<unknown>,
  parameters: readonly Parameter[],
): Operation {
  return read(path, `The ${name} as it is now`, object({ [name]: subject }), {
    parameters,
    problems: ["not_found"],
  });
}

export function command(path: string, summary: string, body: Shape<unknown>): Operation {
  const answers = { 200: { description: summary, body: commandOutcome } };
  return { method: "POST", path, tags: [], doc: { summary, body, answers } };
}

interface ActDoc {
  readonly summary: string;
  readonly body: Shape<unknown>;
  readonly answer: Shape<unknown>;
  readonly parameters?: readonly Parameter[];
}

export function act(path: string, { summary, body, answer, parameters = [] }: ActDoc): Operation {
  const answers = { 200: { description: `${summary}; what it is now`, body: answer } };
  return {
    method: "POST",
    path,
    tags: [],
    doc: { summary, parameters, body, answers, problems: ["not_found"] },
  };
}
