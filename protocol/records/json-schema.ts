// JSON Schema (2020-12) of the record types, for OpenAPI and for the businesses' own tools. It requires no more than the
// validator does; what JSON Schema cannot express (check digits, rules between members) only the validator checks.

import type { JsonObject, JsonValue } from "../canonical-json.ts";
import { collectionNames, type ShownType } from "../identifiers.ts";
import { either, named, pascalCase, type Shape } from "../shape.ts";
import type { Field, Members } from "./fields.ts";
import { recordTypes } from "./parse-record.ts";
import { FaultList } from "./record-fault.ts";
import { fieldCheck } from "./record-validator.ts";

/** The schema of one record type. */
export function recordJsonSchema(collection: ShownType): JsonObject {
  const type = recordTypes[collection];
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:svc:record:${collection}:${type.version}`,
    title: type.title,
    ...objectSchema(type.members),
  };
}

/** The shape of a record's field as it appears in an answer. */
export function fieldShape(field: Field): Shape<JsonValue> {
  const check = fieldCheck(field);
  return {
    schema: fieldSchema(field),
    judge: (value, pointer, tell) => {
      const { faults } = judged((list) => check(value, pointer, list));
      return faults.every(tell);
    },
    ...(field.optional === true ? { absentAllowed: true } : {}),
  };
}

function judged(check: (faults: FaultList) => void): FaultList {
  const faults = new FaultList();
  check(faults);
  return faults;
}

/** Any of the five record types, distinguished by its schema. */
export const recordShape = either(...collectionNames.map(recordShapeOf));

function recordShapeOf(collection: ShownType): Shape<JsonObject> {
  const { members, title } = recordTypes[collection];
  const shape = fieldShape({ kind: "object", members, description: title }) as Shape<JsonObject>;
  return named(`${pascalCase(collection)}Record`, shape);
}

function objectSchema(members: Members): JsonObject {
  const names = Object.keys(members);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(members[name] as Field)])),
    required: names.filter((name) => members[name]?.optional !== true),
    additionalProperties: false,
  };
}

function fieldSchema(field: Field): JsonObject {
  return { ...typeSchema(field), description: field.description };
}

/** Not only white space, and no control characters. */
function textPattern({ multiline, mayBeEmpty = false }: Extract<Field, { kind: "text" }>): string {
  if (!multiline) return "^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$";
  const written = "(?=[\\s\\S]*\\S)[^\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]*";
  return mayBeEmpty ? `^(?:${written})?$` : `^${written}$`;
}

function typeSchema(field: Field): Readonly<Record<string, JsonValue>> {
  switch (field.kind) {
    case "schema":
      return { type: "string", const: field.value };
    case "text":
      return { type: "string", maxLength: field.max, pattern: textPattern(field) };
    case "form":
      return { type: "string", maxLength: field.form.max, pattern: field.form.pattern };
    case "code":
      return { type: "string", enum: [...field.list.codes] };
    case "money":
      return { type: "string", pattern: "^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,6})?$" };
    case "integer":
      return { type: "integer", minimum: field.min, maximum: field.max };
    case "number":
      return { type: "number", minimum: field.min, maximum: field.max };
    case "boolean":
      return { type: "boolean" };
    case "timestamp":
      return {
        type: "string",
        format: "date-time",
        pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
      };
    case "array":
      return {
        type: "array",
        items: fieldSchema(field.items),
        minItems: field.min,
        maxItems: field.max,
        uniqueItems: field.unique,
      };
    case "object":
      return objectSchema(field.members);
  }
}
