// Test support: what clients of tools refuse in a schema (S1 in tool-schema.ts), with what the root of one may not have.

import { isObject } from "../std/json-pointer.ts";

/** The places in a published schema, as JSON pointers, that some client refuses. */
export function refusedPlaces(schema: unknown, pointer = ""): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((each, at) => refusedPlaces(each, `${pointer}/${at}`));
  if (!isObject(schema)) return [];
  const isUntyped = "enum" in schema && !("type" in schema);
  const hasFormat = typeof schema["format"] === "string" && schema["format"] !== "date-time";
  // What excludes a member is `not` with an empty schema.
  const isEmpty = Object.keys(schema).length === 0 && !/\/(?:properties|not)$/.test(pointer);
  const rules = ["if", "then", "else", "not", "anyOf", "oneOf", "allOf"];
  const hasRule = pointer === "" && rules.some((name) => name in schema);
  return [
    ...(hasRule ? ["/"] : []),
    ...(isUntyped || hasFormat || isEmpty ? [pointer] : []),
    ...Object.entries(schema).flatMap(([name, member]) =>
      name === "enum" || name === "default" ? [] : refusedPlaces(member, `${pointer}/${name}`),
    ),
  ];
}
