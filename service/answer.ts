// What every service function returns to the HTTP surfaces: an answer ready to send, or a problem document.

import type { KeyFacts, PartyFacts } from "../actors/messages/business.ts";
import { joinUtf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import {
  type Problem,
  type ProblemCode,
  type ProblemExtras,
  problem,
  requestProblem,
} from "../protocol/problem.ts";
import type { ReasonCode } from "../protocol/reason-codes.ts";
import type { Refusal } from "../protocol/result.ts";
import type { Shape } from "../protocol/shape.ts";
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

/** An answer with a JSON body. */
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

/** An answer that refuses: the problem document (RFC 9457), and headers beside its own. */
export function refused(problem: Problem, headers: Readonly<Record<string, string>> = {}): Refused {
  return { kind: "problem", problem, headers };
}

/** The same for a code: {@link problem} and {@link refused}. */
export function refusedWith(
  code: ProblemCode,
  detail: string,
  extras: ProblemExtras = {},
  headers: Readonly<Record<string, string>> = {},
): Refused {
  return refused(problem(code, detail, extras), headers);
}

/** The refusal of a request for what is at this place of it. */
export function invalidAt(pointer: string, detail: string): Refused {
  return refusedWith("request_invalid", detail, { pointer });
}

/** The refusal of a query parameter. */
export function wrongParameter(name: string, detail: string): Refused {
  return invalidAt(`/query/${name}`, detail);
}

/** Turns a refusal whose code also exists for problem documents into an answer. */
export function refusedAs({ code, detail }: Pick<Refusal<ProblemCode>, "code" | "detail">): Refused {
  return refusedWith(code, detail);
}

/** Whether a step of a request was refused, which ends the request. */
export function isRefused<T extends object>(outcome: T | Refused): outcome is Refused {
  return "kind" in outcome && outcome.kind === "problem";
}

/** A request that is answered once under its Idempotency-Key. */
export interface SentRequest {
  readonly caller: Caller;
  readonly idempotencyKey: string | null;
  /** The value of the verified Content-Digest header. */
  readonly contentDigest: string;
  readonly body: Uint8Array;
  /** The address that the request comes from; null if it cannot be determined, which no allow-list contains. */
  readonly sourceIp: string | null;
}

/** Parameters of a request by their names; null for one that is absent. */
export type Given<N extends string> = Readonly<Record<N, string | null>>;

// Who is calling: what authentication proved, never what the caller merely claimed.

export interface Caller {
  readonly key: KeyFacts;
  readonly party: PartyFacts;
  readonly nonce: string;
  /** The Unix milliseconds at which the signature expires; the nonce is held until then. */
  readonly expiresMs: number;
  /** `sha256:<hex>` of the caller's signature base. */
  readonly requestHash: string;
  readonly tag: string;
}

/** Of a caller, whose it is that is read. */
export interface CallersParty {
  readonly party: Pick<PartyFacts, "uuid">;
}

// JSON bodies.

/** The body as strict JSON within these bounds; `request_invalid` with a pointer otherwise. */
export function parseJson(
  body: Uint8Array,
  bounds: Parameters<typeof parseStrictJson>[1] = {},
): { readonly value: JsonValue } | Refused {
  const json = parseStrictJson(body, bounds);
  if (json.ok) return { value: json.value };
  const detail = `The body is not strict JSON: ${json.detail}`;
  return invalidAt(json.pointer ?? "", detail);
}

/** The same as a value of this shape, which names the member that is wrong. */
export function parseJsonBody<T>(shape: Shape<T>, body: Uint8Array): { readonly value: T } | Refused {
  const json = parseJson(body);
  if (isRefused(json)) return json;
  const fault = requestProblem(shape, json.value);
  return fault === null ? { value: json.value as T } : refused(fault);
}

// 429 with Retry-After, in the document as well as in the header (specification, «Errors»).

/** `retry_after_seconds` is whole seconds, at least 1; `reason` names the limit. */
export function rateLimited(
  detail: string,
  extras: { readonly retry_after_seconds: number; readonly reason?: string },
): Refused {
  const headers = { "retry-after": String(extras.retry_after_seconds) };
  return refusedWith("rate_limited", detail, extras, headers);
}

// 422 for a seal, with the reason that every verifier gives for it.

/**
 * A verifier's reason, or one that only the receiver of a seal sees: that it came too early or too late, or that the `at` of
 * a sealed document does not fit the moment of its receipt or the version that is served.
 */
export type SealReason = ReasonCode | "sealed_at_skew" | "at_skew" | "at_not_later";

/** The refusal `seal_invalid` with a verifier's reason. */
export function sealRefused(reason: SealReason, detail: string, extras: ProblemExtras = {}): Refused {
  return refusedWith("seal_invalid", detail, { reason, ...extras });
}
