// JSON Schema (2020-12) of search bodies, for OpenAPI and the tool servers. It describes what search-request.ts reads and
// nothing more. Refusals come from that file with their own codes, so the schema is documentation and a first check, not the
// final judge.

import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { pascalCase } from "../protocol/shape.ts";
import { collections } from "./collections.ts";
import { type CollectionDefinition, type FilterField, type Operator, textMatchKey } from "./definition.ts";
import { clausesMax, inValuesMax, radiusKmMax, stringOperandMax } from "./parse-filter.ts";
import { labelPattern, searchLimits } from "./search-request.ts";

/** Schema of the body for a collection's typed address, or for /v1/search if `collection` is null. */
export function searchRequestSchema(collection: CollectionName | null): JsonObject {
  if (collection !== null) return bodySchema(collections[collection], false);
  return { type: "object", oneOf: collectionNames.map((name) => bodySchema(collections[name], true)) };
}

function bodySchema(definition: CollectionDefinition, isCollectionRequired: boolean): JsonObject {
  const { textFields, queryByMax } = definition;
  return {
    title: `${isCollectionRequired ? "Named" : ""}${pascalCase(definition.name)}Search`,
    type: "object",
    properties: {
      collection: { const: definition.name },
      q: {
        type: "string",
        minLength: 1,
        maxLength: searchLimits.qLengthMax,
        description:
          "Text query: every word must occur in one of the searched fields, as it is written or in its singular or plural. If no row of the country matches, words of five letters and more may be misspelt by one edit. Needs a letter or a digit.",
      },
      query_by: {
        type: "array",
        items: { type: "string", enum: textFields },
        minItems: 1,
        maxItems: queryByMax,
        uniqueItems: true,
        description: `Text fields that q is searched in; all of them if left out. They have the same weight.`,
      },
      filter: filterSchema(definition),
      sort_by: sortSchema(definition),
      limit: { type: "integer", minimum: 1, maximum: searchLimits.rowsMax, default: searchLimits.rowsMax },
      client_query_id: {
        type: "string",
        pattern: labelPattern,
        description:
          "The caller's own reference, repeated in the event stream (GET /v1/events) and nowhere else.",
      },
      session_ref: {
        type: "string",
        pattern: labelPattern,
        description:
          "Opaque label of a conversation, new for each and never identifying a person. Known for a day by a hash that nobody can repeat, for repeat limits; never shown to a business.",
      },
      topic_keywords: {
        type: "array",
        items: { type: "string", minLength: 1, maxLength: searchLimits.topicKeywordLengthMax },
        minItems: 1,
        maxItems: searchLimits.topicKeywordsMax,
        uniqueItems: true,
        description:
          "Subject terms. Screened for anything personal, and counted as demand that businesses may read; they do not change the answer.",
      },
    },
    required: isCollectionRequired ? ["collection", "filter", "sort_by"] : ["filter", "sort_by"],
    dependentRequired: { query_by: ["q"] },
    additionalProperties: false,
  };
}

function sortSchema(definition: CollectionDefinition): JsonObject {
  const keys = [textMatchKey, ...definition.sortKeys];
  const one = `(?:${keys.join("|")}):(?:asc|desc)`;
  return {
    type: "string",
    pattern: `^${one}(?:,${one}){0,${searchLimits.sortKeysMax - 1}}$`,
    description: `Up to ${searchLimits.sortKeysMax} different keys of ${keys.join(", ")}, each with :asc or :desc, separated by commas. ${textMatchKey} needs q. Rows without a key's value come last; ties are sorted by record_id.`,
  };
}

function filterSchema(definition: CollectionDefinition): JsonObject {
  return {
    type: "object",
    properties: {
      all: {
        type: "array",
        items: { oneOf: definition.fields.map(clauseSchema) },
        minItems: 1,
        maxItems: clausesMax,
        contains: { required: ["country"] },
        description: "Conditions that must all hold. Exactly one country is named.",
      },
    },
    required: ["all"],
    additionalProperties: false,
  };
}

function clauseSchema(field: FilterField): JsonObject {
  const operators: JsonObject = {
    type: "object",
    properties: Object.fromEntries(
      field.operators.map((operator) => [operator, operandSchema(field, operator)]),
    ),
    minProperties: 1,
    additionalProperties: false,
  };
  const condition = field.operators.includes("eq") ? { anyOf: [valueSchema(field), operators] } : operators;
  return {
    type: "object",
    properties: { [field.name]: { ...condition, description: field.description } },
    required: [field.name],
    additionalProperties: false,
  };
}

function operandSchema(field: FilterField, operator: Operator): JsonObject {
  if (operator === "in" || operator === "nin") {
    return { type: "array", items: valueSchema(field), minItems: 1, maxItems: inValuesMax };
  }
  return valueSchema(field);
}

function valueSchema({ type }: FilterField): JsonObject {
  switch (type) {
    case "country":
      return { type: "string", pattern: "^[A-Z]{2}$" };
    case "keyword":
      return { type: "string", minLength: 1, maxLength: stringOperandMax };
    case "boolean":
      return { type: "boolean" };
    case "integer":
      return { type: "integer" };
    case "money":
      return {
        anyOf: [{ type: "number" }, { type: "string", pattern: "^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,6})?$" }],
      };
    case "timestamp":
      return {
        anyOf: [
          { type: "string", format: "date-time" },
          { type: "string", format: "date" },
        ],
      };
    case "geopoint":
      return {
        type: "object",
        properties: {
          lat: { type: "number", minimum: -90, maximum: 90 },
          lng: { type: "number", minimum: -180, maximum: 180 },
          radius_km: { type: "number", exclusiveMinimum: 0, maximum: radiusKmMax },
        },
        required: ["lat", "lng", "radius_km"],
        additionalProperties: false,
      };
  }
}
