// The arguments of a tool against its shape; a fault is answered with the API's own problem.

import type { JsonObject } from "../protocol/canonical-json.ts";
import { requestProblem } from "../protocol/request-problem.ts";
import type { Shape } from "../protocol/shape.ts";
import { type Outcome, refusedHere } from "./outcome.ts";

export type Arguments<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly outcome: Outcome };

export function argumentsOf<T>(shape: Shape<T>, args: JsonObject): Arguments<T> {
  const found = requestProblem(shape, args);
  return found === null
    ? { ok: true, value: args as unknown as T }
    : { ok: false, outcome: refusedHere(found) };
}
