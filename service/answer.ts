// What every service function returns to the HTTP surfaces: an answer ready to send, or a problem document.

import { joinUtf8 } from "../protocol/bytes.ts";
import { type Problem, type ProblemCode, problem } from "../protocol/problem.ts";
import type { Refusal } from "../protocol/result.ts";
import { noteWork } from "../std/work.ts";

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The exact body; rows and records are spliced in verbatim, never parsed and re-serialised. */
  readonly body: AnswerBody;
}

export type AnswerBody = string | Uint8Array | BodyParts;

/** A long body whose parts, texts as UTF-8, are joined only where it is sent. */
export interface BodyParts {
  readonly parts: readonly (string | Uint8Array)[];
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The body as text, for what does not send it. */
export function bodyText(body: AnswerBody): string {
  if (typeof body === "string") return body;
  return decoder.decode(body instanceof Uint8Array ? body : joinUtf8(body.parts));
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
  const text = JSON.stringify(body);
  noteWork("byte", text.length);
  return {
    kind: "answer",
    status,
    headers: { "content-type": "application/json", ...headers },
    body: text,
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
