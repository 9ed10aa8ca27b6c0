// The problem of a request that does not fit its shape: every fault at once, as far as that stays small.

import type { JsonValue } from "./canonical-json.ts";
import { type Problem, problem } from "./problem.ts";
import { allFaults, type Shape } from "./shape.ts";

/** Faults told at most. */
const faultsMax = 20;

/** Null for a value that fits. */
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
