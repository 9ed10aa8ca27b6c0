// The five collections. Adding a field takes one line here and, if the field is new on the row, a new projection version.

import type { CollectionName } from "../protocol/identifiers.ts";
import type { CollectionDefinition, FieldType, FilterField, Operator, textMatchKey } from "./definition.ts";

const exact = ["eq", "in"] as const;
const choice = ["eq", "ne", "in"] as const;
const anyChoice = ["eq", "ne", "in", "nin"] as const;
const range = ["lt", "lte", "gt", "gte"] as const;
const exactOrRange = ["eq", ...range] as const;
const only = ["eq"] as const;
const around = ["near"] as const;

const country = field(
  "country",
  "country",
  only,
  "Rows published for this country; every search names exactly one.",
);
const language = field("language", "keyword", exact, "ISO 639-1 code of the language of the record's texts.");
const publishedAt = field(
  "published_at",
  "timestamp",
  range,
  "When this version was published, to the second.",
);

const products = {
  name: "products",
  path: "products",
  title: "Products",
  textFields: ["product_name", "short_description", "tags", "brand"],
  queryByMax: 4,
  fields: [
    country,
    language,
    many("tags", exact, "Tags."),
    field("brand", "keyword", anyChoice, "Brand, as written in the record."),
    field("vertical", "keyword", anyChoice, "Vertical of the taxonomy."),
    field("category", "keyword", anyChoice, "Category of the taxonomy."),
    field("channel", "keyword", anyChoice, "How the product is obtained (taxonomy)."),
    field("availability", "keyword", anyChoice, "Whether it is in stock (taxonomy)."),
    field("on_sale", "boolean", only, "Whether the price is reduced."),
    { ...field("price_amount", "money", exactOrRange, "The country's price."), countryStem: "price_" },
    {
      ...field("price_currency", "keyword", choice, "Currency of the country's price."),
      countryStem: "price_currency_",
    },
    field("gtin", "keyword", exact, "Global trade item number."),
    { ...field("sponsored", "boolean", only, "Whether the row is a sponsored item."), isOnRows: false },
    publishedAt,
  ],
  sortKeys: ["price_amount", "published_at"],
} as const satisfies CollectionDefinition;

const businessFiles = {
  name: "business_files",
  path: "business-files",
  title: "Business & Brand Identity files",
  textFields: ["description", "brands_owned.name", "brands_sold.name", "markets_served"],
  queryByMax: 4,
  fields: [
    country,
    language,
    field("has_locations", "boolean", only, "Whether there is a place that can be visited."),
    { ...field("location_geo", "geopoint", around, "A place that can be visited is near."), multiple: true },
    many("cities", exact, "Cities with a place that can be visited."),
    many("delivery.options", exact, "Ways of delivery (taxonomy)."),
    field("ships_internationally", "boolean", only, "Whether goods are sent abroad."),
    many("payment.methods", exact, "Ways to pay (taxonomy)."),
    field("has_booking", "boolean", only, "False on every row: true matches nothing."),
    field("year_established", "integer", exactOrRange, "Year in which the business was established."),
    publishedAt,
  ],
  sortKeys: ["year_established", "published_at"],
} as const satisfies CollectionDefinition;

const events = {
  name: "events",
  path: "events",
  title: "Events",
  textFields: ["title", "description"],
  queryByMax: 2,
  fields: [
    country,
    language,
    field("region", "keyword", exact, "ISO 3166-2 subdivision."),
    field("event_type", "keyword", anyChoice, "Kind of event (taxonomy)."),
    field("attendance_mode", "keyword", choice, "Whether it is attended on site or online (taxonomy)."),
    field("start_at", "timestamp", range, "When it begins."),
    field("end_at", "timestamp", range, "When it ends."),
    field("timezone", "keyword", exact, "IANA time zone of the place."),
    field("geo", "geopoint", around, "The place is near."),
    field("city", "keyword", exact, "City."),
    field("ticketed", "boolean", only, "Whether a ticket is needed."),
    field("price_min", "money", range, "Lowest ticket price."),
    field("price_max", "money", range, "Highest ticket price."),
    field("price_currency", "keyword", exact, "Currency of the ticket prices."),
    field("age_restriction", "keyword", choice, "Who is admitted (taxonomy)."),
    publishedAt,
  ],
  sortKeys: ["start_at", "end_at", "price_min", "price_max", "published_at"],
} as const satisfies CollectionDefinition;

const jobs = {
  name: "jobs",
  path: "jobs",
  title: "Jobs",
  textFields: ["title", "description"],
  queryByMax: 2,
  fields: [
    country,
    language,
    field("salary_disclosed", "boolean", only, "Whether the salary is disclosed."),
    field("employment_type", "keyword", anyChoice, "Kind of employment (taxonomy)."),
    field("category", "keyword", anyChoice, "Field of work (taxonomy)."),
    field("work_arrangement", "keyword", choice, "Where the work is done (taxonomy)."),
    field("geo", "geopoint", around, "The work place is near."),
    field("city", "keyword", exact, "City."),
    field("region", "keyword", exact, "ISO 3166-2 subdivision."),
    field("salary_min", "money", range, "Lowest salary offered."),
    field("salary_max", "money", range, "Highest salary offered."),
    field("salary_currency", "keyword", exact, "Currency of the salary."),
    field("salary_period", "keyword", exact, "What the salary is paid for (taxonomy)."),
    field("closing_date", "timestamp", range, "When applications close."),
    publishedAt,
  ],
  sortKeys: ["salary_min", "salary_max", "closing_date", "published_at"],
} as const satisfies CollectionDefinition;

const updates = {
  name: "updates",
  path: "updates",
  title: "Updates",
  textFields: ["headline", "body"],
  queryByMax: 2,
  fields: [
    country,
    language,
    field("update_type", "keyword", anyChoice, "Kind of update (taxonomy)."),
    publishedAt,
    field("relevant_until", "timestamp", range, "When it stops being news."),
  ],
  sortKeys: ["published_at", "relevant_until"],
} as const satisfies CollectionDefinition;

const definitions = { products, business_files: businessFiles, events, jobs, updates } as const;

export const collections: Readonly<Record<CollectionName, CollectionDefinition>> = definitions;

function field<const N extends string, const T extends FieldType, const O extends readonly Operator[]>(
  name: N,
  type: T,
  operators: O,
  description: string,
) {
  return { name, type, operators, multiple: false, countryStem: null, isOnRows: true, description };
}

function many<const N extends string, const O extends readonly Operator[]>(
  name: N,
  operators: O,
  description: string,
) {
  return { ...field(name, "keyword", operators, description), multiple: true };
}

// The same as types, for those who write searches.

type Definition<C extends CollectionName> = (typeof definitions)[C];
type FieldOf<C extends CollectionName> = Definition<C>["fields"][number];

/** A name for `query_by`. */
export type TextFieldOf<C extends CollectionName> = Definition<C>["textFields"][number];

type Order<C extends CollectionName> =
  `${typeof textMatchKey | Definition<C>["sortKeys"][number]}:${"asc" | "desc"}`;

/** One to three sort keys, each with its direction. */
export type SortBy<C extends CollectionName> =
  | Order<C>
  | `${Order<C>},${Order<C>}`
  | `${Order<C>},${Order<C>},${Order<C>}`;

/** One condition of a filter: an object with one member, the field, with its value or with operators. */
export type Clause<C extends CollectionName> = ClauseOn<FieldOf<C>, FieldOf<C>["name"]>;

type ClauseOn<
  F extends Pick<FilterField, "name" | "type" | "operators">,
  Names extends string,
> = F extends unknown
  ? { readonly [N in F["name"]]: Condition<F["type"], F["operators"][number]> } & {
      readonly [N in Exclude<Names, F["name"]>]?: never;
    }
  : never;

type Condition<T extends FieldType, O extends Operator> =
  | { readonly [K in O]?: K extends "in" | "nin" ? readonly Operands[T][] : Operands[T] }
  | ("eq" extends O ? Operands[T] : never);

interface Operands {
  readonly country: string;
  readonly keyword: string;
  readonly boolean: boolean;
  readonly integer: number;
  /** A number or a decimal string. */
  readonly money: number | string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly geopoint: { readonly lat: number; readonly lng: number; readonly radius_km: number };
}
