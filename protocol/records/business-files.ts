// svc/business_files/1: the Business & Brand Identity file. Its members follow from what the specification filters, sorts
// and shows («Filter fields», «Fetched record»); the names are this service's own.

import { isObject } from "../../std/json-pointer.ts";
import type { JsonObject, JsonValue } from "../json/canonical-json.ts";
import {
  array,
  boolean,
  code,
  coreMembers,
  emailForm,
  form,
  geopoint,
  httpsUrlForm,
  integer,
  longText,
  object,
  optional,
  phoneForm,
  type RecordType,
  subdivisionForm,
  text,
} from "./fields.ts";
import { isArray } from "./record-validator.ts";
import { countries } from "./vocabularies/countries.ts";
import { taxonomyList } from "./vocabularies/taxonomy.ts";

/**
 * The five texts that say how the business wants to be represented; they are fetched with the record and never appear on a
 * search row.
 */
export const representUsNames = [
  "who_we_are",
  "what_we_offer",
  "who_we_serve",
  "what_sets_us_apart",
  "how_to_describe_us",
] as const;

const representUsLengthMax = 2_000;

const ownedBrand = object({ name: text(100, "Name of the brand.", "name") }, "A brand.");
const soldBrand = object({ name: text(100, "Name of the brand.", "sold_name") }, "A brand.");

const location = object(
  {
    name: optional(text(100, "Name of the place.")),
    address: optional(text(200, "Street address.", "place")),
    city: text(100, "City.", "place"),
    region: optional(form(subdivisionForm, "ISO 3166-2 subdivision.")),
    postal_code: optional(text(16, "Postal code.", "identifier")),
    country: code(countries, "Country."),
    geo: optional(geopoint("Where it is.")),
  },
  "A place where the business can be visited.",
);

const endpoint = object(
  {
    kind: code(taxonomyList("endpoint_kinds"), "What the address is for."),
    url: form(httpsUrlForm, "The address."),
    description: optional(text(200, "What a caller should know.")),
  },
  "An address that the business authorises.",
);

const contact = object(
  {
    email: optional(form(emailForm, "E-mail address for customers.")),
    phone: optional(form(phoneForm, "Telephone number for customers.")),
    url: optional(form(httpsUrlForm, "Contact page.")),
  },
  "How customers reach the business.",
);

/** The parts of a business file that a fetch shows in addition to the record. */
export const businessFileMembers = {
  represent_us: object(
    {
      who_we_are: longText(representUsLengthMax, "Who the business is."),
      what_we_offer: longText(representUsLengthMax, "What it offers."),
      who_we_serve: longText(representUsLengthMax, "Whom it serves."),
      what_sets_us_apart: longText(representUsLengthMax, "What is particular to it."),
      how_to_describe_us: longText(representUsLengthMax, "Words that it uses and does not use of itself."),
    },
    "How the business wants to be represented.",
  ),
  endpoints: array(
    endpoint,
    { min: 0, max: 20 },
    "Checkout, order, booking and API addresses that the business authorises.",
  ),
};

export const businessFiles = {
  collection: "business_files",
  version: 1,
  title: "Business & Brand Identity file",
  members: {
    ...coreMembers("svc/business_files/1"),
    business_name: text(200, "Name that customers know.", "name"),
    description: longText(2_000, "What the business is and does."),
    website: form(httpsUrlForm, "Home page."),
    brands_owned: array(ownedBrand, { min: 0, max: 50 }, "Brands that belong to the business."),
    brands_sold: array(soldBrand, { min: 0, max: 200 }, "Brands of others that the business sells."),
    markets_served: array(
      text(100, "One market."),
      { min: 0, max: 50 },
      "Markets and kinds of customer served.",
    ),
    locations: array(location, { min: 0, max: 200 }, "Places that can be visited."),
    delivery: object(
      {
        options: array(
          code(taxonomyList("delivery_options"), "Delivery option."),
          { min: 0, max: 20 },
          "Ways of delivery offered.",
        ),
      },
      "Delivery.",
    ),
    ships_internationally: boolean("Whether goods are sent abroad."),
    payment: object(
      {
        methods: array(
          code(taxonomyList("payment_methods"), "Payment method."),
          { min: 0, max: 20 },
          "Ways to pay that are taken.",
        ),
      },
      "Payment.",
    ),
    year_established: optional(
      integer({ min: 1000, max: 2100 }, "Year in which the business was established."),
    ),
    contact: optional(contact),
    ...businessFileMembers,
  },
  rules: [],
} satisfies RecordType;

/** The brands that a business file declares, as it writes them. */
export interface DeclaredBrands {
  readonly owned: readonly string[];
  readonly sold: readonly string[];
}

/** The brands in a business file that passed `parseRecord`. */
export function declaredBrands(file: JsonObject): DeclaredBrands {
  return { owned: namesIn(file["brands_owned"]), sold: namesIn(file["brands_sold"]) };
}

function namesIn(brands: JsonValue | undefined): readonly string[] {
  if (!isArray(brands)) return [];
  return brands.flatMap((each) => (isObject(each) && typeof each["name"] === "string" ? [each["name"]] : []));
}
