// The problem for a request that does not fit its shape: reports every fault at once, as long as the document stays small.

import type { JsonValue } from "./canonical-json.ts";
import { type Problem, problem } from "./problem.ts";
import { allFaults, type Shape } from "./shape.ts";

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
