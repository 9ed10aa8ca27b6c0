// The published JSON Schemas of what a business seals: the five record types, ads, sponsored products and the AI policy record.

import { adProductRecord } from "./ad-product.ts";
import { aiPolicyRecord } from "./ai-policy.ts";
import type { JsonObject } from "./canonical-json.ts";
import { collectionNames, type ShownType } from "./identifiers.ts";
import { recordJsonSchema } from "./records/json-schema.ts";
import { recordTypes } from "./records/parse-record.ts";

const types: readonly ShownType[] = [...collectionNames, "ads"];

const documents: ReadonlyMap<string, JsonObject> = new Map([
  ...types.map((name) => [`${name}/${recordTypes[name].version}`, recordJsonSchema(name)] as const),
  [
    "ad_product/1",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:svc:record:ad_product:1",
      title: "Sponsored product",
      ...adProductRecord.schema,
    },
  ],
  [
    "ai_policy/1",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:svc:record:ai_policy:1",
      title: "AI policy record",
      ...aiPolicyRecord.schema,
    },
  ],
]);

/** `<type>/<version>` of every record that has a schema, as named after `svc/` in its member `schema`. */
export const recordSchemaNames: readonly string[] = [...documents.keys()];

/** The schema of a record; null when there is none. */
export function recordSchemaDocument(name: string): JsonObject | null {
  return documents.get(name) ?? null;
}
