// A JSON Schema as the arguments of a tool are published. Clients of the Model Context Protocol pass it on to models whose
// APIs refuse a whole request for one keyword that they do not know, so only what all of them take is left; what a format or
// an empty schema said is judged when the tool is called.
//   S1. No `format` but `date-time`, no `enum` without `type`, and no empty schema as a member.

import { isObject } from "../std/json-pointer.ts";
import type { JsonObject, JsonValue } from "./json/canonical-json.ts";

/** Members whose members are schemas by name. */
const dictionaries = ["properties", "patternProperties", "$defs"];

/** The schema as it is published (S1). */
export function toolSchema(schema: JsonObject): JsonObject {
  const open = isOpenObject(schema) ? closedNowhere(schema) : schema;
  const members = Object.entries(open).flatMap(([name, member]): [string, JsonValue][] => {
    if (name === "format" && member !== "date-time") return [];
    return [[name, dictionaries.includes(name) && isObject(member) ? eachSchema(member) : shown(member)]];
  });
  const { enum: values, type } = schema;
  const isOfTexts = Array.isArray(values) && values.every((value) => typeof value === "string");
  return Object.fromEntries(isOfTexts && type === undefined ? [["type", "string"], ...members] : members);
}

function shown(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shown);
  return isObject(value) ? toolSchema(value as JsonObject) : value;
}

function eachSchema(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, shown(schema)]));
}

/** Whether any further member is allowed, by an empty schema. */
function isOpenObject({ patternProperties }: JsonObject): boolean {
  return isObject(patternProperties) && Object.values(patternProperties).some(isEmpty);
}

function isEmpty(schema: JsonValue | undefined): boolean {
  return isObject(schema) && Object.keys(schema).length === 0;
}

/** Without a word about further members, an object may have them. */
function closedNowhere({
  patternProperties,
  additionalProperties: _closed,
  ...rest
}: JsonObject): JsonObject {
  const others = Object.entries(patternProperties as JsonObject).filter(([, schema]) => !isEmpty(schema));
  return others.length === 0 ? rest : { ...rest, patternProperties: Object.fromEntries(others) };
}
