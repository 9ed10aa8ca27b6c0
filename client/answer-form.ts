// Whether an answer has the form that its reader relies on. An answer may have more members than this release knows, and values that it
// does not know, so only what is there is looked at: members that must be present, and the kinds of their values.

import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { attemptsPage } from "../protocol/wire/attempts.ts";
import { cataloguePage } from "../protocol/wire/catalogue.ts";
import { pushStatus } from "../protocol/wire/push.ts";
import { searchAnswer } from "../protocol/wire/retrieval.ts";
import { termsAnswer } from "../protocol/wire/terms.ts";
import { isObject } from "../std/is-object.ts";
import { type JsonAnswer, unexpectedAnswer } from "./json-answer.ts";

const forms = {
  search: searchAnswer,
  pushStatus,
  catalogue: cataloguePage,
  attempts: attemptsPage,
  terms: termsAnswer,
} as const;

/** The answer itself. Throws {@link SvcProblemError} for one of another form. */
export function formed<T>(form: keyof typeof forms, answer: JsonAnswer<T>): JsonAnswer<T> {
  if (hasForm(forms[form].schema, answer.body as JsonValue)) return answer;
  throw unexpectedAnswer(
    answer.status,
    "The answer does not have the form that this request is answered in.",
  );
}

function hasForm(schema: JsonObject, value: JsonValue | undefined): boolean {
  if (value === undefined) return false;
  const { anyOf, type, properties = {}, required = [], items } = schema;
  if (Array.isArray(anyOf)) return anyOf.some((each) => hasForm(each as JsonObject, value));
  if (typeof type === "string" && !isOfType(type, value)) return false;
  if (Array.isArray(value))
    return !isObject(items) || value.every((item) => hasForm(items as JsonObject, item as JsonValue));
  if (!isObject(value)) return true;
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
