// A JSON Schema as the arguments of a tool are published. Clients of the Model Context Protocol pass it on to models whose
// APIs refuse a whole request for one keyword that they do not know, and each word of it is paid for in every conversation, so only
// what all of them take and a model can use is left; everything else is judged when the tool is called.
//   S1. No `format` but `date-time`, no `enum` without `type`, no empty schema as a member, and no rule between the members of the root.
//   S2. No lengths of texts, and of lists no bounds but how many items: what a model can read is in a description.

import { isObject } from "../std/json-pointer.ts";
import { utf8 } from "./bytes.ts";
import type { JsonObject, JsonValue } from "./json/canonical-json.ts";
import { parseStrictJson } from "./json/strict-json.ts";

/** Members whose members are schemas by name. */
const dictionaries = ["properties", "patternProperties", "$defs"];
const rules = ["if", "then", "else", "not", "anyOf", "oneOf", "allOf", "dependentRequired"];
const lengths = ["minLength", "maxLength", "uniqueItems", "minProperties"];

/** The schema of a tool's arguments as it is published (S1, S2). */
export function toolSchema(schema: JsonObject): JsonObject & { readonly type: "object" } {
  const members = Object.entries(shown(schema) as JsonObject).filter(([name]) => !rules.includes(name));
  return { ...Object.fromEntries(members), type: "object" };
}

function publishedSchema(schema: JsonObject): JsonObject {
  const open = isOpenObject(schema) ? closedNowhere(schema) : schema;
  const members = Object.entries(open).flatMap(([name, member]): [string, JsonValue][] => {
    if ((name === "format" && member !== "date-time") || lengths.includes(name)) return [];
    return [[name, dictionaries.includes(name) && isObject(member) ? eachSchema(member) : shown(member)]];
  });
  const { enum: values, type } = schema;
  const isOfTexts = Array.isArray(values) && values.every((value) => typeof value === "string");
  return Object.fromEntries(isOfTexts && type === undefined ? [["type", "string"], ...members] : members);
}

function shown(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shown);
  return isObject(value) ? publishedSchema(value as JsonObject) : value;
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

/**
 * The arguments of a call as they were meant: where the schema has an object or an array and a model wrote either as JSON text, that text is
 * read. Everything else is left as it is, for what judges the call.
 */
export function meantArguments(schema: JsonObject, value: JsonValue): JsonValue {
  const { type, properties, items } = schema;
  if (typeof value === "string" && (type === "object" || type === "array")) {
    const parsed = parseStrictJson(utf8(value));
    const isMeant = parsed.ok && typeof parsed.value === "object" && parsed.value !== null;
    return isMeant ? meantArguments(schema, parsed.value) : value;
  }
  if (Array.isArray(value) && isObject(items)) {
    return value.map((each) => meantArguments(items as JsonObject, each));
  }
  if (!isObject(value) || !isObject(properties)) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, member]) => {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, isObject(known) ? meantArguments(known as JsonObject, member) : member];
    }),
  );
}
