// A search row as it is served, with one shape per collection: what the current projection makes of a record, the row's
// signature and the serve-time members (specification, «Search row»).

import { policyBitsShape } from "../ai-policy.ts";
import { envelopeShape } from "../dsse.ts";
import { collectionNames, type ShownType } from "../identifiers.ts";
import type { FactName, ProjectionRule } from "../projection/specification.ts";
import { currentProjection } from "../projection/specifications.ts";
import type { Field, Members } from "../records/fields.ts";
import { fieldShape } from "../records/json-schema.ts";
import { recordTypes } from "../records/parse-record.ts";
import type { IndexRow } from "../row.ts";
import {
  described,
  either,
  flag,
  hash,
  integer,
  keyId,
  listOf,
  literal,
  matching,
  named,
  number,
  object,
  optional,
  type Shape,
  text,
  uuid,
  versionNumber,
} from "../shape.ts";
import { unsigned } from "../unsigned-members.ts";
import { recordId } from "./push.ts";

const facts: Readonly<Record<Exclude<FactName, "type" | "adl_proj">, Shape<string | number>>> = {
  record_id: recordId,
  business_uuid: uuid,
  published_at: described(integer({ min: 0, max: 253_402_300_799 }), "Unix seconds."),
  adl_origin: described(hash, "Hash of the record's exact bytes."),
  adl_origin_cert: described(hash, "The certificate that the record was sealed under."),
  adl_key_id: described(keyId, "The key that signed the row."),
  ai_policy_version: versionNumber,
};

const rowSignature = matching(/^[A-Za-z0-9+/]{86}==$/, "a base64 Ed25519 signature");
const bitsSay = "The AI policy in force.";

/** What a row of a search has beside its signed members. */
const served = {
  adl_row_sig: rowSignature,
  ai_policy_bits: unsigned("search", "/rows/*/ai_policy_bits", { shape: policyBitsShape, says: bitsSay }),
};
const servedProduct = {
  ...served,
  sponsored: optional(
    unsigned("search", "/rows/*/sponsored", {
      shape: literal(true),
      says: "Present where the row is an ad.",
    }),
  ),
};

/** The same of the row of an ad, whose item carries the sealed AI policy. */
const servedAd = {
  adl_row_sig: rowSignature,
  ai_policy_bits: unsigned("ad_item", "/row/ai_policy_bits/action", {
    shape: policyBitsShape,
    says: `${bitsSay} Of \`action\`:`,
  }),
};

/** The members of {@link IndexRow}, those of its collection, and those set when the row is served. */
export const searchRow: Shape<IndexRow> = named(
  "SearchRow",
  either(...collectionNames.map((name) => rowOf(name, name === "products" ? servedProduct : served))),
) as Shape<unknown> as Shape<IndexRow>;

/** The row of an ad, which only the item of an ad carries. */
export const adRow: Shape<IndexRow> = named(
  "AdRow",
  rowOf("ads", servedAd),
) as Shape<unknown> as Shape<IndexRow>;

function rowOf(collection: ShownType, atServing: Readonly<Record<string, Shape<unknown>>>): Shape<unknown> {
  const { version, rules } = currentProjection(collection);
  const members: Record<string, Shape<unknown>> = { ...atServing };
  const ofCountries: Record<string, Shape<unknown>> = {};
  for (const rule of rules) {
    if (rule.rule === "by_country")
      ofCountries[namePattern(rule.member)] = rule.as === "number" ? number : text(64);
    else members[rule.member] = memberOf(collection, version, rule);
  }
  return object(members, ofCountries);
}

/** The name pattern of a member; for `price_<CC>` it is `^price_[A-Z]{2}$`. */
function namePattern(member: string): string {
  return `^${member.replace("<CC>", "[A-Z]{2}")}$`;
}

type Single = Exclude<ProjectionRule, { readonly rule: "by_country" }>;

function memberOf(collection: ShownType, version: string, rule: Single): Shape<unknown> {
  switch (rule.rule) {
    case "fact":
      if (rule.member === "type") return literal(collection);
      return rule.member === "adl_proj" ? literal(version) : facts[rule.member];
    case "seal":
      return described(envelopeShape, "The advertiser's seal over the exact bytes of the ad.");
    case "constant":
      return literal(rule.value);
    case "is_present":
    case "is_not_empty":
      return flag;
    default: {
      const { field, isOptional } = fieldAt(collection, rule.from);
      const shape = shapeOf(field, rule);
      return isOptional ? optional(shape) : shape;
    }
  }
}

function shapeOf(field: Field, rule: Extract<Single, { readonly from: string }>): Shape<unknown> {
  if (rule.rule === "number") return number;
  if (rule.rule !== "copy_each" || field.kind !== "array" || field.items.kind !== "object")
    return fieldShape(field);
  return listOf(fieldShape(stepInto(field.items.members, rule.each.slice(1))));
}

/** The field at a pointer into a record, and whether a record may omit it. */
function fieldAt(
  collection: ShownType,
  pointer: string,
): { readonly field: Field; readonly isOptional: boolean } {
  const { members } = recordTypes[collection];
  let field: Field = { kind: "object", members, description: "" };
  let isOptional = false;
  for (const name of pointer.slice(1).split("/")) {
    if (field.kind !== "object") throw new Error(`${pointer} leads through what is no object.`);
    field = stepInto(field.members, name);
    isOptional ||= field.optional === true;
  }
  return { field, isOptional };
}

function stepInto(members: Members, name: string): Field {
  const field = members[name];
  if (field === undefined) throw new Error(`A projection copies ${name}, which its record does not have.`);
  return field;
}
