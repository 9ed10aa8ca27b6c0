// A small JSON body of one shape.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { problem } from "../protocol/problem.ts";
import { requestProblem } from "../protocol/request-problem.ts";
import type { Shape } from "../protocol/shape.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { type Refused, refused } from "./answer.ts";

export function parseJsonBody<T extends object>(shape: Shape<T>, body: Uint8Array): { value: T } | Refused {
  const json = parseStrictJson(body);
  if (!json.ok) {
    const detail = `The body is not strict JSON: ${json.detail}`;
    return refused(problem("request_invalid", detail, { pointer: json.pointer ?? "" }));
  }
  const fault = requestProblem(shape, json.value as JsonValue);
  return fault === null ? { value: json.value as T } : refused(fault);
}
