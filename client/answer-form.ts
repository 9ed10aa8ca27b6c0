// Whether an answer has the form that its reader relies on. An answer may have more members than this release knows, and values that it
// does not know, so only what is there is looked at: members that must be present, and the kinds of their values.

import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import type { Shape } from "../protocol/shape.ts";
import { poolAnswer } from "../protocol/wire/ad-requests.ts";
import { fetchedRecord, searchAnswer } from "../protocol/wire/retrieval.ts";
import { isObject } from "../std/is-object.ts";
import { type JsonAnswer, jsonAnswer, type TextAnswer, unexpectedAnswer } from "./json-answer.ts";

/** Of the answers that the client passes on as they came. */
export const forms = { search: searchAnswer, record: fetchedRecord, pool: poolAnswer } as const;

/** The answer as JSON of this form. Throws {@link SvcProblemError} for another one. */
export function formed<T>(shape: Shape<T>, answer: TextAnswer): JsonAnswer<T> {
  return ofForm(shape, jsonAnswer<T>(answer));
}

/** The answer itself, which was parsed before. Throws {@link SvcProblemError} for one of another form. */
export function ofForm<T>(shape: Shape<T>, answer: JsonAnswer<T>): JsonAnswer<T> {
  if (hasForm(shape.schema, answer.body as JsonValue)) return answer;
  throw unexpectedAnswer(
    answer.status,
    "The answer does not have the form that this request is answered in.",
  );
}

function hasForm(schema: JsonObject, value: JsonValue | undefined): boolean {
  if (value === undefined) return false;
  const { allOf, anyOf, type, properties = {}, additionalProperties: others, required = [], items } = schema;
  if (Array.isArray(allOf)) return allOf.every((each) => hasForm(each as JsonObject, value));
  if (Array.isArray(anyOf)) return anyOf.some((each) => hasForm(each as JsonObject, value));
  if (typeof type === "string" && !isOfType(type, value)) return false;
  if (Array.isArray(value))
    return !isObject(items) || value.every((item) => hasForm(items as JsonObject, item as JsonValue));
  if (!isObject(value)) return true;
  if (
    isObject(others) &&
    !Object.values(value).every((each) => hasForm(others as JsonObject, each as JsonValue))
  )
    return false;
  const members = Object.entries(properties as Readonly<Record<string, JsonObject>>);
  return members.every(([name, each]) =>
    Object.hasOwn(value, name)
      ? hasForm(each, value[name] as JsonValue)
      : !(required as readonly string[]).includes(name),
  );
}

function isOfType(type: string, value: JsonValue): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "null") return value === null;
  return typeof value === (type === "integer" ? "number" : type);
}
