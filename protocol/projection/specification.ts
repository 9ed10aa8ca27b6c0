// Projection specifications: data that describes how a record becomes a search row (specification, «Projection
// specification»). What is published under GET /v1/projections/{type}/{version} is exactly what project.ts interprets, so
// that anyone can rerun it. A published version never changes: its hash is pinned in project.test.ts.

import { canonicalBytes, type JsonObject } from "../canonical-json.ts";
import { hashOf, type Sha256 } from "../hash.ts";
import type { ShownType } from "../identifiers.ts";
import { serveTimeMembers } from "../row.ts";

/** Version of the rule language defined below. */
export const projectionLanguage = 1;

/** What the service states about a published version in addition to the record itself. */
export const factNames = [
  "record_id",
  "business_uuid",
  "type",
  "published_at",
  "adl_origin",
  "adl_origin_cert",
  "adl_proj",
  "adl_key_id",
  "ai_policy_version",
] as const;

export type FactName = (typeof factNames)[number];

/** How one row member is produced. `from` and `each` are RFC 6901 pointers; a member whose source is absent is left out. */
export type ProjectionRule =
  | { readonly member: FactName; readonly rule: "fact" }
  | { readonly member: string; readonly rule: "seal" }
  | { readonly member: string; readonly rule: "copy"; readonly from: string }
  | { readonly member: string; readonly rule: "copy_each"; readonly from: string; readonly each: string }
  | { readonly member: string; readonly rule: "number"; readonly from: string }
  | { readonly member: string; readonly rule: "is_present"; readonly from: string }
  | { readonly member: string; readonly rule: "is_not_empty"; readonly from: string }
  | { readonly member: string; readonly rule: "constant"; readonly value: string | number | boolean }
  | {
      /** A name ending in `<CC>`, which stands for the country code. */
      readonly member: string;
      readonly rule: "by_country";
      readonly from: string;
      readonly country: string;
      readonly each: string;
      readonly as: "number" | "text";
    };

export interface ProjectionSpecification {
  /** Written as `<type>/<n>`. */
  readonly version: string;
  readonly record_type: ShownType;
  /** Schema of the records that the specification projects. */
  readonly record_schema: string;
  readonly rules: readonly ProjectionRule[];
}

/** Row members that the row signature does not cover because they carry it. */
export const unsignedFields = ["adl_row_sig"] as const;

const meanings: Readonly<Record<ProjectionRule["rule"], string>> = {
  fact: "The value of this name that the service states of the published version: record_id; business_uuid; type, the record_type; published_at in Unix seconds; adl_origin, sha256 of the exact record bytes; adl_origin_cert, the cert_id of the seal; adl_proj, this version; adl_key_id, the key that signs the row; ai_policy_version of the seal.",
  seal: "The envelope of the seal over the record, which was sealed alone, unchanged.",
  copy: "The JSON value at `from` in the record, unchanged. Absent where the record has none.",
  copy_each:
    "An array of the values at `each` in the items of the array at `from`, in order; items without it are passed over and a value equal to an earlier one is left out. Absent where the record has no array at `from`.",
  number: "The decimal string at `from` as the nearest IEEE 754 double. Absent where the record has none.",
  is_present: "true where the record has a value at `from`, else false.",
  is_not_empty: "true where the record has at least one item in the array at `from`, else false.",
  constant: "`value`.",
  by_country:
    "For each item of the array at `from` whose `country` is one of the record's /countries: the member whose name has that country in place of <CC>, with the item's value at `each`, a decimal string turned into the nearest IEEE 754 double where `as` is number.",
};

/** The document of a specification as it is published. */
export function specificationDocument(specification: ProjectionSpecification, sha256?: Sha256): JsonObject {
  const { version, record_type: recordType, record_schema: recordSchema, rules } = specification;
  const unhashed = {
    version,
    spec_version: projectionLanguage,
    record_type: recordType,
    field_map: Object.fromEntries(rules.map((rule) => [rule.member, sourceOf(rule)])),
    rules: rules as unknown as readonly JsonObject[],
    unsigned_fields: unsignedFields,
    serve_time_fields: serveTimeMembers,
    definition: {
      record_schema: recordSchema,
      rules: Object.fromEntries(rules.map(({ rule }) => [rule, meanings[rule]])),
      row: "The members that the rules give. No other member exists but the unsigned and the serve-time ones.",
      signature:
        "adl_row_sig is the Ed25519 signature, in base64, by the key adl_key_id over the RFC 8785 form of the row without the members of unsigned_fields and serve_time_fields.",
      sha256: "SHA-256 of the RFC 8785 form of this document without its member sha256.",
    },
  };
  return { ...unhashed, sha256: hashOf(canonicalBytes(unhashed), sha256) };
}

/** A short name for a member's source: a pointer into the record, the name of a fact, or the constant itself. */
function sourceOf(rule: ProjectionRule): string {
  switch (rule.rule) {
    case "fact":
      return rule.member;
    case "seal":
      return "seal";
    case "constant":
      return JSON.stringify(rule.value);
    case "copy_each":
    case "by_country":
      return `${rule.from}/*${rule.each}`;
    default:
      return rule.from;
  }
}
