// svc/products/1 (specification, «Product record»). The members are those listed there; `gtin`, `display_domain` and
// `destination_url`, which the specification names only where it filters and checks, are optional.

import { isObject } from "../../std/json-pointer.ts";
import { noteWork } from "../../std/work.ts";
import type { JsonObject, JsonValue } from "../json/canonical-json.ts";
import {
  array,
  boolean,
  code,
  coreMembers,
  displayDomainIsDestination,
  type FaultList,
  form,
  gtinForm,
  hostForm,
  httpsUrlForm,
  longText,
  money,
  object,
  optional,
  type RecordType,
  tags,
  text,
  type ValuesOf,
} from "./fields.ts";
import { isArray } from "./record-validator.ts";
import { countries } from "./vocabularies/countries.ts";
import { currencies } from "./vocabularies/currencies.ts";
import { categoryCodes, taxonomyList, verticalCodes, verticalOf } from "./vocabularies/taxonomy.ts";

const price = object(
  {
    country: code(countries, "Country of this price, one of the record's countries."),
    currency: code(currencies, "Currency of the amount."),
    amount: money("Price as a decimal string."),
  },
  "Price in one country.",
);

export const products = {
  collection: "products",
  version: 1,
  title: "Product",
  members: {
    ...coreMembers("svc/products/1"),
    product_name: text(200, "Name of the product as customers know it."),
    vertical: code(verticalCodes, "Vertical of the taxonomy."),
    category: code(categoryCodes, "Category of the taxonomy, one of the vertical's."),
    channel: code(taxonomyList("channels"), "How the product is obtained."),
    brand: text(100, "Brand of the product.", "name"),
    tags: tags("Terms by which the product is also found."),
    short_description: longText(500, "What the product is, in a sentence or two."),
    prices: array(
      price,
      { min: 0, max: countries.codes.size },
      "Exactly one price for each of the record's countries.",
    ),
    on_sale: boolean("Whether the price is reduced now."),
    availability: code(taxonomyList("availability"), "Whether it can be had now."),
    product_url: form(httpsUrlForm, "Page of the product."),
    gtin: optional(form(gtinForm, "Global trade item number.")),
    display_domain: optional(form(hostForm, "Host that readers are shown; the host of destination_url.")),
    destination_url: optional(form(httpsUrlForm, "Address that a reader is sent to.")),
  },
  rules: [categoryOfVertical, onePriceForEachCountry, destinationOfDomain, displayDomainIsDestination],
} satisfies RecordType;

export type ProductRecord = ValuesOf<typeof products.members>;

function categoryOfVertical(record: JsonObject, faults: FaultList): void {
  const { category, vertical } = record;
  if (typeof category !== "string" || typeof vertical !== "string") return;
  const wanted = verticalOf(category);
  if (wanted === undefined || wanted === vertical || !verticalCodes.codes.has(vertical)) return;
  faults.add("value_invalid", "/category", `This is a category of the vertical ${wanted}.`);
}

/** How many countries without a price one fault lists by name; the others are counted. */
const namedCountriesMax = 10;

/** A product's row has a price for each country that the product is published for (specification, «Search row»). */
function onePriceForEachCountry({ countries: published, prices }: JsonObject, faults: FaultList): void {
  if (!isArray(published) || !isArray(prices)) return;
  noteWork("comparison", published.length + prices.length);
  const publishedIn = new Set(published);
  const priced = new Set<string>();
  for (let index = 0; index < prices.length; index += 1) {
    const item = prices[index];
    if (!isObject(item) || typeof item["country"] !== "string") continue;
    const country = item["country"];
    const pointer = `/prices/${index}/country`;
    if (priced.has(country))
      faults.add("value_invalid", pointer, "The record already has a price for this country.");
    else if (!publishedIn.has(country) && countries.codes.has(country)) {
      faults.add("value_invalid", pointer, `The record is not published for ${country}.`);
    }
    priced.add(country);
  }
  // A value that is not a country has already been reported by the vocabulary check.
  const isMissing = (each: JsonValue): boolean =>
    typeof each === "string" && !priced.has(each) && countries.codes.has(each);
  if (!published.some(isMissing)) return;
  const unpriced = [...new Set(published.filter(isMissing))];
  const others = unpriced.length - namedCountriesMax;
  const named = `${unpriced.slice(0, namedCountriesMax).join(", ")}${others > 0 ? ` and ${others} others` : ""}`;
  const detail = `A price is missing for ${named}: a product needs one for each of its countries.`;
  faults.add("member_missing", "/prices", detail);
}

/** A domain that is shown needs the address that it is the host of. */
function destinationOfDomain(record: JsonObject, faults: FaultList): void {
  const { display_domain: domain, destination_url: destination } = record;
  if (typeof domain === "string" && destination === undefined) {
    const detail = "display_domain needs the destination_url whose host it shows.";
    faults.add("member_missing", "/destination_url", detail);
  }
}
