// Validation of JSON bodies against their published schemas: every fault at once, nothing dropped, nothing coerced.

import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { nearestName } from "../protocol/nearest.ts";
import { type Problem, type ProblemExtras, problem } from "../protocol/problem.ts";

const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  validateFormats: false,
  removeAdditional: false,
  coerceTypes: false,
  useDefaults: false,
});

/** Faults told at most. */
const faultsMax = 20;

/** Answers null for a body that fits, else one problem with all its faults. `members` are the body's own. */
export function bodyValidator(
  schema: object,
  members: readonly string[],
): (body: JsonValue) => Problem | null {
  const validate: ValidateFunction = ajv.compile(schema);
  return (body) => (validate(body) ? null : problemOf(validate.errors ?? [], members));
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
  return name === undefined
    ? error.instancePath
    : `${error.instancePath}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function detailOf(error: ErrorObject): string {
  if (error.keyword === "additionalProperties")
    return `There is no member ${JSON.stringify(error.params["additionalProperty"])} here.`;
  if (error.keyword === "enum") return `Must be one of ${JSON.stringify(error.params["allowedValues"])}.`;
  const message = error.message ?? "is not what the schema asks for";
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
