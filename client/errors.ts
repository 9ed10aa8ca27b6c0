// The two ways a request can fail: the service refused it, or the outcome is unknown.

/** The service answered with problem details (RFC 9457). */
export class SvcProblemError extends Error {
  readonly status: number;
  /** Stable code, for example `rate_limited`; `unexpected_answer` when the answer was not a problem document. */
  readonly code: string;
  readonly detail: string;
  /** Taken from `Retry-After` or from the problem's own member; null when the service gave neither. */
  readonly retryAfterSeconds: number | null;
  /** The problem document as received; empty when there was none. */
  readonly problem: Readonly<Record<string, unknown>>;
  /** The exact body of the answer; null when it was not UTF-8, or when there is none to show. */
  readonly text: string | null;
  /** By how many seconds this machine's clock is ahead of the service's, which says it by `Date`; negative if it is behind. */
  readonly clockAheadSeconds: number | null;

  constructor(answer: {
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly retryAfterSeconds: number | null;
    readonly problem: Readonly<Record<string, unknown>>;
    readonly text?: string | null;
    readonly clockAheadSeconds?: number | null;
  }) {
    super(`${answer.status} ${answer.code}: ${answer.detail}`);
    this.name = "SvcProblemError";
    this.status = answer.status;
    this.code = answer.code;
    this.detail = answer.detail;
    this.retryAfterSeconds = answer.retryAfterSeconds;
    this.problem = answer.problem;
    this.text = answer.text ?? null;
    this.clockAheadSeconds = answer.clockAheadSeconds ?? null;
  }
}

/** No answer arrived. */
export class SvcConnectionError extends Error {
  /** `not_applied`: the request never left. `unknown`: it may have been served, so only idempotent requests are retried. */
  readonly effect: "not_applied" | "unknown";

  constructor(
    message: string,
    options: { readonly effect: "not_applied" | "unknown"; readonly cause: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = "SvcConnectionError";
    this.effect = options.effect;
  }
}

/** The code of an error that says that no connection was made, for a `fetch` that is not the platform's. */
export const notConnectedCode = "SVC_NOT_CONNECTED";

const neverSentCodes = [
  notConnectedCode,
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];

const causesMax = 8;

/**
 * True if the connection itself failed, so that nothing was sent. Node gives the reason in a chain of causes; a browser
 * gives none, in which case the answer is false.
 */
export function neverSent(error: unknown): boolean {
  let cause: unknown = error;
  for (let depth = 0; depth < causesMax && cause instanceof Error; depth += 1) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && neverSentCodes.includes(code)) return true;
    if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(neverSent);
    cause = cause.cause;
  }
  return false;
}

// The nearest name to a wrong one, as the service suggests it.

export { nearestName } from "../protocol/shape.ts";
