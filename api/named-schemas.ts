// Named schemas are written once, under `components`, and referenced everywhere else.

import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { isObject } from "../std/is-object.ts";

const nameForm = /^[A-Z][A-Za-z0-9]*$/;

/**
 * The value with references in place of its named schemas, and those schemas by name. Two with the same name must be
 * identical.
 */
export function shareNamed(value: JsonValue): { readonly value: JsonValue; readonly schemas: JsonObject } {
  const schemas: Record<string, JsonValue> = {};
  /** A shape that many routes use is one object. */
  const known = new Map<JsonObject, JsonObject>();
  const share = (each: JsonValue): JsonValue => {
    if (Array.isArray(each)) return each.map(share);
    if (!isObject(each)) return each;
    const made = known.get(each) ?? shareObject(each);
    known.set(each, made);
    return made;
  };
  const shareObject = (each: JsonObject): JsonObject => {
    // An example is not a schema, whatever its members are called.
    const shared = Object.fromEntries(
      Object.entries(each).map(([name, member]) => [name, name === "example" ? member : share(member)]),
    );
    const { title } = shared;
    return typeof title === "string" && nameForm.test(title) ? refer(title, shared) : flattened(shared);
  };
  const refer = (title: string, { title: _title, ...schema }: JsonObject): JsonObject => {
    const other = schemas[title];
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
      throw new Error(`There are two schemas with the name ${title}.`);
    schemas[title] = schema;
    return { $ref: `#/components/schemas/${title}` };
  };
  const whole = share(value);
  return { value: whole, schemas: Object.fromEntries(Object.entries(schemas).sort()) };
}

/** Keywords beside a single reference stay beside it (JSON Schema 2020-12 §8.2.3.1). */
function flattened(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  const [only, ...more] = Array.isArray(allOf) ? (allOf as readonly JsonValue[]) : [];
  return more.length === 0 && isObject(only) && only["$ref"] !== undefined ? { ...only, ...rest } : schema;
}
