// Products as web pages describe them: JSON-LD with the types of schema.org (Product, Offer), alone, in a graph or in a list of
// items. Each becomes an item of a merchant feed, whose attributes mean the same.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { isObject } from "../../std/json-pointer.ts";
import { type MerchantItem, MerchantItemBuilder } from "./merchant-item.ts";

export type Node = Readonly<Record<string, JsonValue>>;

/** The products of a value that was parsed as JSON; null if it is no JSON-LD. */
export function jsonLdItems(place: number, value: JsonValue): readonly MerchantItem[] | null {
  if (!isObject(value) || !("@type" in value || "@graph" in value)) return null;
  return productsIn(value).map((product) => itemOf(place, product));
}

const lists = ["@graph", "itemListElement", "item"];
/** What a group of products says of each of its variants. */
const shared = ["name", "description", "brand", "category", "itemCondition", "inLanguage", "url"];

function productsIn(node: JsonValue): readonly Node[] {
  if (!isObject(node)) return [];
  const ofAll = Object.fromEntries(Object.entries(node).filter(([name]) => shared.includes(name)));
  const variants = nodesOf(node["hasVariant"]).map((variant) => ({ ...ofAll, ...variant }));
  const within = [...lists.flatMap((name) => all(node[name])), ...variants].flatMap(productsIn);
  return isOf(node, "Product") ? [node, ...within] : within;
}

function isOf(node: Node, type: string): boolean {
  return all(node["@type"]).some(
    (each) => typeof each === "string" && each.replace(/^(?:https?:\/\/schema\.org\/|schema:)/, "") === type,
  );
}

/** A value of JSON-LD is one, several, or none. */
export function all(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [value as JsonValue];
}

/** What a value says as a text: itself, a literal with its language, or a thing with a name. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return all(value).flatMap((each) => {
    if (typeof each === "string" || typeof each === "number") return [String(each)];
    return isObject(each) ? textsOf(each["@value"] ?? each["name"] ?? each["@id"]) : [];
  });
}

/** Properties of a product that are attributes of a merchant feed. */
const attributes: Readonly<Record<string, string>> = {
  sku: "id",
  name: "title",
  description: "description",
  brand: "brand",
  category: "product_type",
  gtin: "gtin",
  gtin8: "gtin",
  gtin12: "gtin",
  gtin13: "gtin",
  gtin14: "gtin",
  itemCondition: "condition",
  inLanguage: "content_language",
};

function itemOf(place: number, product: Node): MerchantItem {
  const builder = new MerchantItemBuilder(place);
  for (const [name, value] of Object.entries(product)) {
    const attribute = attributes[name];
    if (attribute !== undefined) put(builder, attribute, value);
    else if (typeof value === "string" && !name.startsWith("@") && !["url", "productID"].includes(name))
      builder.attribute(name, value);
  }
  for (const text of textsOf(product["productID"])) builder.fallback("id", text);
  for (const offer of nodesOf(product["offers"])) addOffer(builder, offer);
  for (const text of textsOf(product["url"])) builder.fallback("link", text);
  return builder.item();
}

/** Of these a price depends, such as one for 100 g, for members or from ten on, or a former one. */
const conditions = ["referenceQuantity", "validForMemberTier", "eligibleQuantity", "priceType"];

function addOffer(builder: MerchantItemBuilder, offer: Node): void {
  for (const each of "price" in offer ? [offer] : nodesOf(offer["priceSpecification"])) {
    const condition = conditions.find((name) => name in each);
    if (condition !== undefined)
      builder.unreadable(
        "price",
        condition,
        "Is only a price under a condition: write the price of one product.",
      );
    const currency = [...new Set(textsOf(each["priceCurrency"]))].join(" ");
    put(builder, "price", each["price"], (price) => `${price} ${currency}`);
  }
  put(builder, "availability", offer["availability"], termOf);
  put(builder, "condition", offer["itemCondition"], termOf);
  put(builder, "link", offer["url"]);
  // A price that no longer holds is none.
  put(builder, "expiration_date", offer["priceValidUntil"]);
  for (const details of nodesOf(offer["shippingDetails"]))
    for (const destination of nodesOf(details["shippingDestination"]))
      for (const country of textsOf(destination["addressCountry"]))
        builder.group("shipping", new Map([["country", country]]));
}

/** What has no text that can be read is there all the same: no default replaces it. */
function put(
  builder: MerchantItemBuilder,
  attribute: string,
  value: JsonValue | undefined,
  as: (text: string) => string = (text) => text,
): void {
  for (const each of all(value)) {
    const texts = textsOf(each);
    for (const text of texts) if (text !== "") builder.attribute(attribute, as(text));
    if (texts.length === 0)
      builder.unreadable(
        attribute,
        JSON.stringify(each),
        "Must be a text, a number, or something with a name.",
      );
  }
}

/** The objects among the values of a property, which may be one value or several. */
export function nodesOf(value: JsonValue | undefined): readonly Node[] {
  return all(value).filter((each): each is JsonObject => isObject(each));
}

/** `InStock` is `https://schema.org/InStock`. */
function termOf(text: string): string {
  return /^[A-Z][A-Za-z]+$/.test(text) ? `https://schema.org/${text}` : text;
}
