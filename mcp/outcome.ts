// What a tool call comes to, before it is written as content blocks.
//   O1. The first block is the service's body, byte for byte; where nothing was sent it is a document made here.
//   O2. What this server adds stands in the second block alone, and contains no text of a record.
//   O3. No block contains the key, the grant, the bearer token or the session_ref.

import { SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { type Problem, type ProblemExtras, problem } from "../protocol/problem.ts";
import { isObject } from "../std/json-pointer.ts";

/** The members of `masterdb_mcp_notes`. */
export interface Notes {
  /** Plain sentences: how the answer may be used, or what to do about a refusal. */
  readonly terms: readonly string[];
  readonly retrieval_id: string | null;
  /** Null where nobody can know: the request was sent and no answer arrived. */
  readonly billable: boolean | null;
  readonly [more: string]: unknown;
}

export interface Outcome {
  readonly body: string;
  readonly notes: Notes;
  readonly isError: boolean;
  /** Further bodies of the service, byte for byte. */
  readonly more?: readonly string[];
}

/** A refusal made here: nothing was sent. */
export function refusedHere(found: Problem): Outcome {
  const terms = [
    "This tool server refused the call. Nothing was sent to the service, and nothing is billed.",
    "Correct what the problem names and call the tool again.",
  ];
  return {
    body: JSON.stringify(found),
    notes: { terms, retrieval_id: null, billable: false },
    isError: true,
  };
}

export function invalidHere(detail: string, extras: ProblemExtras = {}): Outcome {
  return refusedHere(problem("request_invalid", detail, extras));
}

/** The failure of a request, as the answer of a tool. A bug is thrown on. */
export function failureOutcome(error: unknown): Outcome {
  if (error instanceof SvcProblemError)
    return error.status === 200 ? unreadableAnswer("one that was asked for") : refusedByService(error);
  if (!(error instanceof SvcConnectionError)) throw error;
  const isSent = error.effect === "unknown";
  const detail = isSent
    ? "The service gave no answer in time. It may have served the request, so the request was not repeated."
    : "The service cannot be reached. Nothing was sent.";
  const terms = [
    detail,
    "This document was made by the tool server. Try again later, or look at what api_base_url says.",
  ];
  return {
    body: JSON.stringify(problem("unavailable", detail)),
    notes: { terms, retrieval_id: null, billable: isSent ? null : false },
    isError: true,
  };
}

/** An answer of status 200 that no service gives: something in between made it, and what became of the request is not known. */
export function unreadableAnswer(what: string): Outcome {
  const detail = `The answer is not ${what}: something between this tool server and the service may have made it.`;
  const terms = [
    detail,
    "This document was made by the tool server. Look at what api_base_url says. If the service served the request, it is billed.",
  ];
  return {
    body: JSON.stringify(problem("unavailable", detail)),
    notes: { terms, retrieval_id: null, billable: null },
    isError: true,
  };
}

function refusedByService(error: SvcProblemError): Outcome {
  const { status, code, text, retryAfterSeconds } = error;
  const wait = retryAfterSeconds === null ? [] : [`Try again in ${retryAfterSeconds} seconds.`];
  const terms = ["The service refused the request. Refusals are never billed.", ...wait];
  const own = problem("internal_error", `The service answered with status ${status} and no document.`);
  const isDocument = text !== null && isObject(error.problem) && code !== "unexpected_answer";
  return {
    body: isDocument ? text : JSON.stringify(own),
    notes: { terms, retrieval_id: null, billable: false },
    isError: true,
  };
}
