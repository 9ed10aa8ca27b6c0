// Answers as JSON, together with the text they were parsed from.

import { utf8 } from "../protocol/bytes.ts";
import { SvcProblemError } from "./errors.ts";
import type { ServiceAnswer } from "./sender.ts";

export interface JsonAnswer<T> {
  readonly body: T;
  readonly text: string;
  readonly status: number;
  /** Hash of the signature base that was answered, as the receipt names it; null when nothing was signed. */
  readonly requestHash: string | null;
}

export type TextAnswer = Pick<ServiceAnswer, "text" | "status" | "requestHash">;

/** A value as the bytes of a JSON body. */
export function jsonBody(value: object): Uint8Array {
  return utf8(JSON.stringify(value));
}

/** Throws {@link SvcProblemError} for an answer that is not JSON. */
export function jsonAnswer<T>({ text, status, requestHash }: TextAnswer): JsonAnswer<T> {
  try {
    return { body: JSON.parse(text) as T, text, status, requestHash };
  } catch {
    throw unexpectedAnswer(status, "The answer is not JSON.");
  }
}

/** The error for an answer that is not what was asked for. */
export function unexpectedAnswer(status: number, detail: string): SvcProblemError {
  return new SvcProblemError({
    status,
    code: "unexpected_answer",
    detail,
    retryAfterSeconds: null,
    problem: {},
  });
}
