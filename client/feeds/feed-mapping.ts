// The mapping file (format 1, docs/schemas/feed-mapping-1.json): how the columns of a table, or the attributes of a merchant
// feed, become the members of a product.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { products } from "../../protocol/records/products.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { currencies } from "../../protocol/records/vocabularies/currencies.ts";
import { categoryCodes } from "../../protocol/records/vocabularies/taxonomy.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import {
  anyText,
  described,
  dictionary,
  distinct,
  either,
  firstFault,
  flag,
  list,
  literal,
  nearestName,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  type Shape,
  text,
} from "../../protocol/shape.ts";

/** Members that a column or a constant can fill. Prices have rules of their own; `schema` is always the current one. */
export const mappedMembers = Object.keys(products.members).filter(
  (name) => name !== "prices" && name !== "schema",
);

const nameMax = 256;
const column = described(text(nameMax), "A column of the file, as its header spells it.");
const member = oneOf(mappedMembers);
const words = described(
  distinct(text(64), { min: 1, max: 50 }),
  "Cells that mean this, in any case of letters.",
);
const separator = described(text(8), "What stands between the items of a list; `|` if it is not given.");
const values = described(
  dictionary(anyText),
  "Cell → value, for example a shop's own words for `availability`. Other cells are taken as they are.",
);

const columnRule = object({
  to: described(member, "The member that the column fills."),
  values: optional(values),
  separator: optional(separator),
});

const priceRule = object({
  amount: described(column, "Column of the amount."),
  currency: described(
    either(oneOf([...currencies.codes]), object({ column })),
    "Currency of every amount in the column, or the column that names it.",
  ),
  countries: described(
    optional(list(oneOf([...countries.codes]), { min: 1, max: countries.codes.size })),
    "Countries in which this is the price; without it, every country of the product that has no price by another rule.",
  ),
  sale: described(
    optional(column),
    "Column of a price that is lower for now: where it has one, that is the price, and the product is on sale.",
  ),
  before: described(
    optional(column),
    "Column of the price before: where it is higher, the product is on sale.",
  ),
  decimal_comma: described(
    optional(flag),
    "Whether amounts are written like 19,99; then points, spaces and apostrophes separate thousands.",
  ),
});

const template = described(text(2_000), "Text with columns in braces: https://shop.example/p/{Handle}.");
const templates = object(
  Object.fromEntries(mappedMembers.map((name) => [name, optional(template)])),
) as Shape<Readonly<Record<string, string>>>;

const fillDown = object({
  by: described(column, "Column that is the same in all rows of one product."),
  columns: described(
    list(column, { min: 1, max: 100 }),
    "Columns in which an empty cell means what the first row of the product says.",
  ),
});

export type MemberValue = boolean | string | readonly string[];
const memberValue = either(flag, list(text(500), { min: 0, max: 300 }), text(500));
const memberValues: Shape<Readonly<Record<string, MemberValue>>> = object(
  Object.fromEntries(mappedMembers.map((name) => [name, optional(memberValue)])),
) as Shape<Readonly<Record<string, MemberValue>>>;

export const feedMapping = object({
  v: literal(1),
  columns: described(
    optional(dictionary(nullable(either(columnRule, member)))),
    "Column → member, or a rule; null leaves the column out. Columns that are not named here keep their names. An attribute of a merchant feed keeps its member: `values` translates it, null leaves it out.",
  ),
  prices: optional(described(list(priceRule, { min: 1, max: 300 }), "Where prices are.")),
  templates: described(
    optional(templates),
    "Members that are made of columns. In an address the columns are encoded. Where one of them is empty, the row does not say the member.",
  ),
  fill_down: optional(described(fillDown, "What variants leave empty.")),
  constants: described(
    optional(memberValues),
    "Members that are the same in every product, whatever the file says.",
  ),
  defaults: optional(described(memberValues, "Members of products for which the file says nothing else.")),
  separator: optional(separator),
  booleans: described(
    optional(object({ true: words, false: words })),
    "Words for yes and no, in place of true, yes, 1 and false, no, 0.",
  ),
  categories: described(
    optional(dictionary(oneOf([...categoryCodes.codes]))),
    "Category of a merchant feed → category here: a number or path of google_product_category, or a path of product_type. A path covers what is below it.",
  ),
});
export type FeedMapping = Of<typeof feedMapping>;

export const emptyMapping: FeedMapping = { v: 1 };

/** Whether a mapping says what columns of a table mean. */
export function mapsColumns({ columns = {}, prices = [], templates = {}, fill_down }: FeedMapping): boolean {
  const count = Object.keys(columns).length + prices.length + Object.keys(templates).length;
  return count > 0 || fill_down !== undefined;
}

/** The published JSON Schema of the file. */
export function feedMappingSchema(): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:svc:feed-mapping:1",
    title: "Feed mapping",
    ...feedMapping.schema,
  };
}

/**
 * Reads a mapping that was parsed as JSON, by {@link feedMappingSchema}. `mapping_invalid` has the pointer (RFC 6901) of
 * the first member that is wrong, and the nearest name for one that does not exist.
 */
export function parseFeedMapping(value: JsonValue): Result<FeedMapping, "mapping_invalid"> {
  const fault = firstFault(feedMapping, value);
  if (fault === null) return ok(value as unknown as FeedMapping);
  const wrong = fault.pointer.split("/").at(-1) ?? "";
  const nearest = fault.suggestion ?? nearestName(wrong, mappedMembers);
  const hint = nearest === null || nearest === wrong ? "" : ` Is it ${nearest}?`;
  return refuse("mapping_invalid", `${fault.detail}${hint}`, fault.pointer);
}
