// Every projection that rows may name, by version. A correction is a new version; published ones are never edited.

import type { JsonObject } from "../canonical-json.ts";
import type { ShownType } from "../identifiers.ts";
import {
  factNames,
  type ProjectionRule,
  type ProjectionSpecification,
  specificationDocument,
} from "./specification.ts";

const common: readonly ProjectionRule[] = [
  ...factNames.map((member) => ({ member, rule: "fact" }) as const),
  copy("countries"),
  copy("language"),
];

const specifications: readonly ProjectionSpecification[] = [
  specification("products", 1, [
    copy("product_name"),
    copy("short_description"),
    copy("tags"),
    copy("brand"),
    copy("vertical"),
    copy("category"),
    copy("channel"),
    copy("availability"),
    copy("on_sale"),
    copy("gtin"),
    {
      member: "price_<CC>",
      rule: "by_country",
      from: "/prices",
      country: "/country",
      each: "/amount",
      as: "number",
    },
    {
      member: "price_currency_<CC>",
      rule: "by_country",
      from: "/prices",
      country: "/country",
      each: "/currency",
      as: "text",
    },
  ]),
  // Neither the five «represent us» texts nor the endpoints ever appear on a row (specification, «Search row»).
  specification("business_files", 1, [
    copy("business_name"),
    copy("description"),
    { member: "brands_owned.name", rule: "copy_each", from: "/brands_owned", each: "/name" },
    { member: "brands_sold.name", rule: "copy_each", from: "/brands_sold", each: "/name" },
    copy("markets_served"),
    { member: "has_locations", rule: "is_not_empty", from: "/locations" },
    { member: "location_geo", rule: "copy_each", from: "/locations", each: "/geo" },
    { member: "cities", rule: "copy_each", from: "/locations", each: "/city" },
    copy("delivery.options", "/delivery/options"),
    copy("ships_internationally"),
    copy("payment.methods", "/payment/methods"),
    { member: "has_booking", rule: "constant", value: false },
    copy("year_established"),
  ]),
  specification("events", 1, [
    copy("title"),
    copy("description"),
    copy("event_type"),
    copy("attendance_mode"),
    copy("start_at"),
    copy("end_at"),
    copy("timezone"),
    copy("region"),
    copy("city"),
    copy("geo"),
    copy("ticketed"),
    number("price_min"),
    number("price_max"),
    copy("price_currency"),
    copy("age_restriction"),
  ]),
  specification("jobs", 1, [
    copy("title"),
    copy("description"),
    copy("category"),
    copy("employment_type"),
    copy("work_arrangement"),
    { member: "salary_disclosed", rule: "is_present", from: "/salary" },
    number("salary_min", "/salary/min"),
    number("salary_max", "/salary/max"),
    copy("salary_currency", "/salary/currency"),
    copy("salary_period", "/salary/period"),
    copy("closing_date"),
    copy("region"),
    copy("city"),
    copy("geo"),
  ]),
  specification("updates", 1, [copy("headline"), copy("body"), copy("update_type"), copy("relevant_until")]),
  // Neither the business's own ids nor what is written about the pictures appear on a row; an ad's item has its record.
  specification("ads", 1, [
    copy("headline"),
    copy("body"),
    copy("call_to_action"),
    copy("display_domain"),
    copy("keywords"),
    copy("subdivisions"),
    copy("adl_dest", "/destination_url"),
    { member: "adl_creative", rule: "copy_each", from: "/images", each: "/sha256" },
    { member: "adl_origin_seal", rule: "seal" },
  ]),
];

const byName: ReadonlyMap<string, ProjectionSpecification> = new Map(
  specifications.map((each) => [each.version, each]),
);
const documents = new Map<string, JsonObject>();

/** The specification of a version `<type>/<n>`; null for an unknown version, which is refused and never guessed. */
export function projectionByName(name: string): ProjectionSpecification | null {
  return byName.get(name) ?? null;
}

/** The specification currently used to build the rows of a collection, or of ads. */
export function currentProjection(collection: ShownType): ProjectionSpecification {
  const current = specifications.findLast((each) => each.record_type === collection);
  if (current === undefined) throw new Error(`No projection of ${collection}`);
  return current;
}

/** The document of GET /v1/projections/{type}/{version}; null when it does not exist. */
export function projectionDocument(type: string, version: number): JsonObject | null {
  const name = `${type}/${version}`;
  const known = documents.get(name);
  const specificationFound = byName.get(name);
  if (known !== undefined || specificationFound === undefined) return known ?? null;
  const document = specificationDocument(specificationFound);
  documents.set(name, document);
  return document;
}

function specification(
  collection: ShownType,
  version: number,
  rules: readonly ProjectionRule[],
): ProjectionSpecification {
  return {
    version: `${collection}/${version}`,
    record_type: collection,
    record_schema: `svc/${collection}/${version}`,
    rules: [...common, ...rules],
  };
}

function copy(member: string, from = `/${member}`): ProjectionRule {
  return { member, rule: "copy", from };
}

function number(member: string, from = `/${member}`): ProjectionRule {
  return { member, rule: "number", from };
}
