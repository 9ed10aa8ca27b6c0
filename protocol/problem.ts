// Problem details (RFC 9457) with a stable `code` (specification, «Errors»).

import type { JsonValue } from "./json/canonical-json.ts";
import { boundedPointer, boundedText } from "./result.ts";
import {
  allFaults,
  anyText,
  described,
  hash,
  integer,
  listOf,
  named,
  type ObjectOf,
  type Of,
  object,
  oneOf,
  optional,
  type Shape,
} from "./shape.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const problemMediaType = "application/problem+json";

/** Every code with its HTTP status and title. The meaning of a code never changes. */
export const problemCodes = {
  request_invalid: { status: 400, title: "The request is malformed" },
  signature_missing: { status: 401, title: "The request is not signed" },
  signature_invalid: { status: 401, title: "The signature is not valid" },
  signature_expired: { status: 401, title: "The signature is outside its validity period" },
  key_unknown: { status: 401, title: "The key is not known" },
  digest_mismatch: { status: 401, title: "The body is not the one that was signed" },
  token_invalid: { status: 401, title: "The operators' token is missing or wrong" },
  nonce_reused: { status: 401, title: "The nonce was already used" },
  allowance_exhausted: { status: 402, title: "The prepaid allowance is spent" },
  origin_not_allowed: { status: 403, title: "A page of another origin caused the request" },
  right_missing: { status: 403, title: "The right to do this is missing" },
  source_not_allowed: { status: 403, title: "The source address is not allowed" },
  terms_not_agreed: { status: 403, title: "The terms in force are not agreed to" },
  ad_token_invalid: { status: 403, title: "The token is not of an ad that you were served" },
  mandate_missing: { status: 403, title: "No mandate is in force" },
  out_of_scope: { status: 403, title: "The mandate does not cover this" },
  business_not_verified: { status: 403, title: "The business or AI company is not verified" },
  role_not_allowed: { status: 403, title: "The key has another role" },
  not_found: { status: 404, title: "Nothing was found here" },
  method_not_allowed: { status: 405, title: "The method is not allowed" },
  not_acceptable: { status: 406, title: "The client does not accept the answer" },
  request_timeout: { status: 408, title: "The request did not arrive in time" },
  idempotency_in_progress: { status: 409, title: "The same request is being answered" },
  seq_not_increasing: { status: 409, title: "The seq was already used" },
  ad_not_rendered: { status: 409, title: "The ad was not rendered" },
  ad_unavailable: { status: 409, title: "The ad must not be shown any more" },
  upload_conflict: { status: 409, title: "The upload does not allow this now" },
  push_not_held: { status: 409, title: "The push is not held" },
  push_not_cancellable: { status: 409, title: "The push can no longer be cancelled" },
  state_changed: { status: 409, title: "It is not in the expected state" },
  terms_mismatch: { status: 409, title: "The text is not the published one" },
  terms_superseded: { status: 409, title: "Later terms are in force" },
  ad_expired: { status: 410, title: "The time of the ad is over" },
  record_too_large: { status: 413, title: "The body is over the limit" },
  media_type_unsupported: { status: 415, title: "The media type is not supported" },
  expectation_failed: { status: 417, title: "The expectation is not met" },
  host_not_allowed: { status: 421, title: "This is not served under the named host" },
  region_misdirected: { status: 421, title: "The key belongs to another region" },
  deletion_rejected: { status: 409, title: "The deletion was rejected" },
  idempotency_key_reused: { status: 422, title: "The idempotency key was used for a different request" },
  sort_required: { status: 400, title: "A sort is required" },
  unknown_field: { status: 400, title: "The field does not exist" },
  operator_not_allowed: { status: 400, title: "The operator is not allowed on this field" },
  sort_not_allowed: { status: 400, title: "The sort is not allowed" },
  keyword_not_allowed: { status: 400, title: "The keyword is not a subject term" },
  campaign_refused: { status: 422, title: "The campaign or ad is not accepted" },
  seal_invalid: { status: 422, title: "The seal is not valid" },
  type_not_publishable: { status: 422, title: "This type is not published here" },
  rate_limited: { status: 429, title: "Too many requests" },
  header_too_large: { status: 431, title: "The headers are over the limit" },
  internal_error: { status: 500, title: "The service failed" },
  unavailable: { status: 503, title: "Temporarily unavailable" },
  http_version_unsupported: { status: 505, title: "The HTTP version is not supported" },
} as const;

export type ProblemCode = keyof typeof problemCodes;

/** Where every surface serves the page of a code, which is the last part of its address. */
export const problemBase = "/docs/problems/";

const codes = Object.keys(problemCodes) as readonly ProblemCode[];
const place = described(
  anyText,
  "RFC 6901 pointer to the offending member; /headers, /query and /path name other parts of the request.",
);

const extras = {
  pointer: optional(place),
  reason: described(
    optional(anyText),
    "What exactly: a verification reason, or the name of what is unavailable.",
  ),
  suggestion: optional(described(anyText, "The nearest valid name where a name was wrong.")),
  allowed: optional(described(listOf(anyText), "All valid names, where they are few.")),
  retry_after_seconds: optional(described(count, "As in the header Retry-After.")),
  region: optional(described(anyText, "The region that answers this key.")),
  ai_policy_version: optional(described(count, "The AI policy version in force.")),
  last_seq: optional(described(count, "The last accepted seq of the key, which the next one must exceed.")),
  cert_id: optional(described(hash, "The certificate in force.")),
  errors: described(
    optional(listOf(object({ code: anyText, pointer: place, detail: anyText }))),
    "All faults at once, where there can be several.",
  ),
};

export const problemShape = named(
  "Problem",
  described(
    object({
      type: described(
        anyText,
        "URI reference that identifies the kind of problem (RFC 9457 §3.1.1): a page of the node that answered says what it means and what to do.",
      ),
      title: anyText,
      status: integer({ min: 400, max: 599 }),
      code: described(oneOf(codes), "Stable: codes never change their meaning."),
      detail: described(anyText, "For a person: what is wrong and what to do."),
      ...extras,
    }),
    "RFC 9457 problem details.",
  ),
);
export type Problem = Of<typeof problemShape>;
export type ProblemExtras = ObjectOf<typeof extras>;

/** Maximum number of faults reported in one document, and their maximum combined length in UTF-16 code units. */
const errorsMax = 50;
const errorsLengthMax = 8_192;

/**
 * The problem document for a code (RFC 9457 §3). Some of its words come from the caller: texts and pointers are truncated to
 * a bounded length and only the first of many faults are reported, so that no document exceeds about 32 KiB.
 */
export function problem(code: ProblemCode, detail: string, extras: ProblemExtras = {}): Problem {
  const { status, title } = problemCodes[code];
  const { pointer, errors } = extras;
  return {
    type: `${problemBase}${code}`,
    title,
    status,
    code,
    detail: boundedText(detail),
    ...extras,
    ...(pointer === undefined ? {} : { pointer: boundedPointer(pointer) }),
    ...(errors === undefined ? {} : { errors: boundedErrors(errors) }),
  };
}

type ProblemError = NonNullable<ProblemExtras["errors"]>[number];

function boundedErrors(errors: readonly ProblemError[]): readonly ProblemError[] {
  const bounded: ProblemError[] = [];
  let length = 0;
  for (const error of errors.slice(0, errorsMax)) {
    const { code, pointer, detail } = error;
    const next = { code, pointer: boundedPointer(pointer), detail: boundedText(detail) };
    length += code.length + next.pointer.length + next.detail.length;
    if (length > errorsLengthMax && bounded.length > 0) break;
    bounded.push(next);
  }
  return bounded;
}

// The problem for a request that does not fit its shape: reports every fault at once, as long as the document stays small.

/** Maximum number of faults reported. */
const faultsMax = 20;

/** Returns null for a value that fits the shape. */
export function requestProblem(shape: Shape<unknown>, value: JsonValue): Problem | null {
  const faults = allFaults(shape, value, faultsMax);
  const [first] = faults;
  if (first === undefined) return null;
  const { suggestion = null, allowed } = faults.find((fault) => fault.allowed !== undefined) ?? first;
  return problem("request_invalid", first.detail, {
    ...(first.pointer === "" ? {} : { pointer: first.pointer }),
    errors: faults.map(({ pointer, detail }) => ({ code: "request_invalid", pointer, detail })),
    ...(suggestion === null ? {} : { suggestion }),
    ...(allowed === undefined ? {} : { allowed }),
  });
}
