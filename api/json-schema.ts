// Validation of JSON bodies against their published schemas: every fault at once, as far as that stays small; nothing
// dropped, nothing coerced.

import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { nearestName } from "../protocol/nearest.ts";
import { type Problem, type ProblemExtras, problem } from "../protocol/problem.ts";
import { joinPointer } from "../std/json-pointer.ts";

const options = {
  strict: true,
  validateFormats: false,
  removeAdditional: false,
  coerceTypes: false,
  useDefaults: false,
} as const;
const everyFault = new Ajv2020({ ...options, allErrors: true });
const firstFault = new Ajv2020({ ...options, allErrors: false });

/** Faults told at most. */
const faultsMax = 20;
/** In a body of more values only the first fault is looked for: each of them could be one, and an object of its own. */
const valuesMax = 512;

/** Answers null for a body that fits, else one problem with all its faults. `members` are the body's own. */
export function bodyValidator(
  schema: object,
  members: readonly string[],
): (body: JsonValue) => Problem | null {
  const validateFew: ValidateFunction = everyFault.compile(schema);
  const validateMany: ValidateFunction = firstFault.compile(schema);
  return (body) => {
    const validate = valuesLeft(body, valuesMax) < 0 ? validateMany : validateFew;
    return validate(body) ? null : problemOf(validate.errors ?? [], members);
  };
}

/** What is left of `values` once those in `value` are taken from it; below 0 as soon as there are more. */
function valuesLeft(value: JsonValue, values: number): number {
  let left = values - 1;
  if (value === null || typeof value !== "object") return left;
  for (const each of Object.values(value)) {
    if (left < 0) return left;
    left = valuesLeft(each as JsonValue, left);
  }
  return left;
}

function problemOf(errors: readonly ErrorObject[], members: readonly string[]): Problem {
  const faults = errors
    .slice(0, faultsMax)
    .map((error) => ({ code: "request_invalid", pointer: pointerOf(error), detail: detailOf(error) }));
  const [first] = faults;
  const unknown = errors.find(
    (error) => error.keyword === "additionalProperties" && error.instancePath === "",
  );
  const suggestion =
    unknown === undefined ? null : nearestName(String(unknown.params["additionalProperty"]), members);
  const extras: ProblemExtras = {
    ...(first === undefined ? {} : { pointer: first.pointer }),
    errors: faults,
    ...(suggestion === null ? {} : { suggestion }),
    ...(unknown === undefined ? {} : { allowed: members }),
  };
  return problem("request_invalid", first?.detail ?? "The body does not fit its schema.", extras);
}

function pointerOf(error: ErrorObject): string {
  const { additionalProperty: extra, missingProperty: missing } = error.params as Readonly<
    Record<string, unknown>
  >;
  const name = extra ?? missing;
  return name === undefined ? error.instancePath : joinPointer(error.instancePath, String(name));
}

function detailOf(error: ErrorObject): string {
  if (error.keyword === "additionalProperties")
    return `There is no member ${JSON.stringify(error.params["additionalProperty"])} here.`;
  if (error.keyword === "enum") return `Must be one of ${JSON.stringify(error.params["allowedValues"])}.`;
  const message = error.message ?? "is not what the schema asks for";
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
