// What every service function returns to the HTTP surfaces: an answer ready to send, or a problem document.

import { type Problem, type ProblemCode, problem } from "../protocol/problem.ts";
import type { Refusal } from "../protocol/result.ts";

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The exact body text; rows and records are spliced in verbatim, never parsed and re-serialised. */
  readonly body: string | Uint8Array;
}

export interface Refused {
  readonly kind: "problem";
  readonly problem: Problem;
  /** Additional headers, for example `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;
  /** How many records a refused batch had, if it was read so far; it is not part of the answer. */
  readonly records?: number;
  /** The id of the registered key that was named and may not be used; it is not part of the answer either. */
  readonly keyId?: string;
}

export type Outcome = Answer | Refused;

export function answerJson(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    kind: "answer",
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

export function refused(problem: Problem, headers: Readonly<Record<string, string>> = {}): Refused {
  return { kind: "problem", problem, headers };
}

/** Turns a refusal whose code also exists for problem documents into an answer. */
export function refusedAs({ code, detail }: Pick<Refusal<ProblemCode>, "code" | "detail">): Refused {
  return refused(problem(code, detail));
}

/** Whether a step of a request was refused, which ends the request. */
export function isRefused<T extends object>(outcome: T | Refused): outcome is Refused {
  return "kind" in outcome && outcome.kind === "problem";
}
