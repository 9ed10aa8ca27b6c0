import Ajv2020 from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { collections } from "./collections.ts";
import { type Operator, operators } from "./definition.ts";
import { parseSearchRequest, toRowQuery } from "./search-request.ts";
import { searchRequestSchema } from "./search-schema.ts";

type Body = Record<string, unknown>;
const us = { country: "US" };

function body(changes: Body = {}): Body {
  const { clauses = [], ...rest } = changes;
  return {
    collection: "products",
    filter: { all: [us, ...(clauses as unknown[])] },
    sort_by: "published_at:desc",
    ...rest,
  };
}

/** Returns `code pointer`, plus the suggestion if there is one; `ok` for a request that is accepted. */
function outcome(request: unknown, implied: CollectionName | null = null): string {
  const result = parseSearchRequest(request, implied);
  if (result.ok) return "ok";
  return [result.code, result.pointer, result.suggestion].filter((part) => part !== undefined).join(" ");
}

describe("a search request", () => {
  it("is read into what the index is asked", () => {
    const result = parseSearchRequest(
      body({
        q: "Running Shoes, running",
        query_by: ["tags", "product_name"],
        clauses: [
          { brand: "Harrier" },
          { price_amount: { gte: "10.50", lt: 100 } },
          { price_currency: { in: ["USD", "CAD"] } },
          { published_at: { gte: "2026-01-01" } },
          { on_sale: { eq: false } },
          { category: { nin: ["tyres"] } },
        ],
        sort_by: "_text_match:desc,price_amount:asc",
        limit: 7,
        client_query_id: "q-1",
        session_ref: "s-1",
        topic_keywords: ["shoes"],
      }),
    );
    if (!result.ok) throw new Error(result.detail);
    expect(toRowQuery(result.value, ["b1"])).toEqual({
      collection: "products",
      country: "US",
      text: {
        words: [
          { exact: "running", forms: ["runnings"] },
          { exact: "shoes", forms: ["shoe"] },
        ],
        fields: ["tags", "product_name"],
      },
      clauses: [
        { field: "brand", op: "eq", value: "Harrier" },
        { field: "price_US", op: "gte", value: 10.5 },
        { field: "price_US", op: "lt", value: 100 },
        { field: "price_currency_US", op: "in", values: ["USD", "CAD"] },
        { field: "published_at", op: "gte", value: 1767225600000 },
        { field: "on_sale", op: "eq", value: false },
        { field: "category", op: "nin", values: ["tyres"] },
      ],
      sort: [
        { field: "_text_match", direction: "desc" },
        { field: "price_US", direction: "asc" },
      ],
      limit: 7,
      excludeBusinesses: ["b1"],
    });
    expect(result.value).toMatchObject({ clientQueryId: "q-1", sessionRef: "s-1", topicKeywords: ["shoes"] });
  });

  it("searches all text fields of the collection, and answers 50 rows, unless told otherwise", () => {
    const result = parseSearchRequest(body({ q: "x" }));
    expect(result.ok && result.value.text?.fields).toEqual(collections.products.textFields);
    expect(result.ok && result.value.limit).toBe(50);
  });

  it.each<readonly [string, unknown, string]>([
    ["no object", [], "request_invalid "],
    ["null", null, "request_invalid "],
    ["an unknown member", body({ sortby: "x" }), "request_invalid /sortby sort_by"],
    ["no collection", { ...body(), collection: undefined }, "request_invalid /collection"],
    ["an unknown collection", body({ collection: "product" }), "request_invalid /collection products"],
    ["no sort", body({ sort_by: undefined }), "sort_required /sort_by"],
    ["an empty sort", body({ sort_by: "" }), "sort_required /sort_by"],
    ["a sort that is no string", body({ sort_by: ["published_at:desc"] }), "request_invalid /sort_by"],
    ["an unknown sort key", body({ sort_by: "price:asc" }), "sort_not_allowed /sort_by"],
    ["a misspelt sort key", body({ sort_by: "publishd_at:asc" }), "sort_not_allowed /sort_by published_at"],
    ["a filter field as sort key", body({ sort_by: "brand:asc" }), "sort_not_allowed /sort_by"],
    ["a sort without direction", body({ sort_by: "published_at" }), "sort_not_allowed /sort_by"],
    ["a sort with a third part", body({ sort_by: "published_at:asc:x" }), "sort_not_allowed /sort_by"],
    [
      "white space in the sort",
      body({ sort_by: "published_at:asc, price_amount:asc" }),
      "sort_not_allowed /sort_by price_amount",
    ],
    ["four sort keys", body({ sort_by: "a:asc,b:asc,c:asc,d:asc" }), "request_invalid /sort_by"],
    ["a sort key twice", body({ sort_by: "published_at:asc,published_at:desc" }), "request_invalid /sort_by"],
    ["relevance without q", body({ sort_by: "_text_match:desc" }), "sort_not_allowed /sort_by"],
    ["no filter", body({ filter: undefined }), "request_invalid /filter"],
    ["another member in the filter", body({ filter: { any: [] } }), "request_invalid /filter/any"],
    ["no clauses", body({ filter: {} }), "request_invalid /filter/all"],
    ["no country", body({ filter: { all: [] } }), "request_invalid /filter/all"],
    [
      "a country that there is not",
      body({ filter: { all: [{ country: "UK" }] } }),
      "request_invalid /filter/all/0/country",
    ],
    ["two countries", body({ clauses: [{ country: "CA" }] }), "request_invalid /filter/all"],
    ["the same country twice", body({ clauses: [{ country: { eq: "US" } }] }), "ok"],
    [
      "a set of countries",
      body({ filter: { all: [{ country: { in: ["US"] } }] } }),
      "operator_not_allowed /filter/all/0/country/in",
    ],
    [
      "a lower-case country",
      body({ filter: { all: [{ country: "us" }] } }),
      "request_invalid /filter/all/0/country",
    ],
    ["a clause that is no object", body({ clauses: ["brand"] }), "request_invalid /filter/all/1"],
    [
      "a clause of two fields",
      body({ clauses: [{ brand: "a", gtin: "b" }] }),
      "request_invalid /filter/all/1",
    ],
    ["an unknown field", body({ clauses: [{ brnad: "a" }] }), "unknown_field /filter/all/1/brnad brand"],
    [
      "a field of another collection",
      body({ clauses: [{ ticketed: true }] }),
      "unknown_field /filter/all/1/ticketed",
    ],
    [
      "an inherited name as field",
      body({ clauses: [{ constructor: 1 }] }),
      "unknown_field /filter/all/1/constructor",
    ],
    [
      "an unknown operator",
      body({ clauses: [{ brand: { equals: "a" } }] }),
      "operator_not_allowed /filter/all/1/brand/equals",
    ],
    [
      "a misspelt operator",
      body({ clauses: [{ brand: { inn: ["a"] } }] }),
      "operator_not_allowed /filter/all/1/brand/inn in",
    ],
    ["no operator", body({ clauses: [{ brand: {} }] }), "request_invalid /filter/all/1/brand"],
    [
      "eq on a timestamp",
      body({ clauses: [{ published_at: "2026-01-01" }] }),
      "operator_not_allowed /filter/all/1/published_at",
    ],
    ["a number for a keyword", body({ clauses: [{ brand: 1 }] }), "request_invalid /filter/all/1/brand"],
    ["an empty string", body({ clauses: [{ brand: "" }] }), "request_invalid /filter/all/1/brand"],
    ["256 characters", body({ clauses: [{ brand: "\u{1f45f}".repeat(256) }] }), "ok"],
    [
      "257 characters",
      body({ clauses: [{ brand: "x".repeat(257) }] }),
      "request_invalid /filter/all/1/brand",
    ],
    [
      "a string for a boolean",
      body({ clauses: [{ on_sale: "true" }] }),
      "request_invalid /filter/all/1/on_sale",
    ],
    ["money as text", body({ clauses: [{ price_amount: "9.99" }] }), "ok"],
    [
      "money with a comma",
      body({ clauses: [{ price_amount: { lt: "9,99" } }] }),
      "request_invalid /filter/all/1/price_amount/lt",
    ],
    [
      "a time that does not exist",
      body({ clauses: [{ published_at: { lt: "2026-02-30T00:00:00Z" } }] }),
      "request_invalid /filter/all/1/published_at/lt",
    ],
    [
      "a time with an offset",
      body({ clauses: [{ published_at: { lt: "2026-02-01T00:00:00+01:00" } }] }),
      "ok",
    ],
    [
      "a time without an offset",
      body({ clauses: [{ published_at: { lt: "2026-02-01T00:00:00" } }] }),
      "request_invalid /filter/all/1/published_at/lt",
    ],
    ["an empty in", body({ clauses: [{ brand: { in: [] } }] }), "request_invalid /filter/all/1/brand/in"],
    ["ten values", body({ clauses: [{ brand: { in: Array(10).fill("a") } }] }), "ok"],
    [
      "eleven values",
      body({ clauses: [{ brand: { in: Array(11).fill("a") } }] }),
      "request_invalid /filter/all/1/brand/in",
    ],
    [
      "a wrong value among them",
      body({ clauses: [{ brand: { in: ["a", 1] } }] }),
      "request_invalid /filter/all/1/brand/in/1",
    ],
    ["the same clause twice", body({ clauses: [{ brand: "a" }, { brand: "a" }] }), "ok"],
    ["20 clauses", body({ clauses: Array(19).fill({ brand: "a" }) }), "ok"],
    ["21 clauses", body({ clauses: Array(20).fill({ brand: "a" }) }), "request_invalid /filter/all"],
    ["an empty q", body({ q: "" }), "request_invalid /q"],
    ["512 characters", body({ q: "x".repeat(512) }), "ok"],
    ["513 characters", body({ q: "x".repeat(513) }), "request_invalid /q"],
    ["q without a term", body({ q: "!? *" }), "request_invalid /q"],
    ["query_by without q", body({ query_by: ["brand"] }), "request_invalid /query_by"],
    ["an unknown text field", body({ q: "x", query_by: ["name"] }), "unknown_field /query_by/0"],
    [
      "a filter field as text field",
      body({ q: "x", query_by: ["brand", "category"] }),
      "unknown_field /query_by/1",
    ],
    ["no text field", body({ q: "x", query_by: [] }), "request_invalid /query_by"],
    ["a text field twice", body({ q: "x", query_by: ["brand", "brand"] }), "request_invalid /query_by/1"],
    ["limit 0", body({ limit: 0 }), "request_invalid /limit"],
    ["limit 51", body({ limit: 51 }), "request_invalid /limit"],
    ["limit as text", body({ limit: "10" }), "request_invalid /limit"],
    ["a session_ref with a space", body({ session_ref: "a b" }), "request_invalid /session_ref"],
    [
      "a client_query_id of 129",
      body({ client_query_id: "x".repeat(129) }),
      "request_invalid /client_query_id",
    ],
    ["no topic keyword", body({ topic_keywords: [] }), "request_invalid /topic_keywords"],
    [
      "eleven topic keywords",
      body({ topic_keywords: Array.from({ length: 11 }, (_, i) => `${i}`) }),
      "request_invalid /topic_keywords",
    ],
    ["a topic keyword twice", body({ topic_keywords: ["a", "a"] }), "request_invalid /topic_keywords/1"],
    [
      "a topic keyword of 65",
      body({ topic_keywords: ["x".repeat(65)] }),
      "request_invalid /topic_keywords/0",
    ],
  ])("with %s", (_, request, expected) => {
    expect(outcome(JSON.parse(JSON.stringify(request)))).toBe(expected);
  });

  it("names what would have been valid", () => {
    const refusal = parseSearchRequest(body({ sort_by: undefined }));
    expect(refusal).toMatchObject({ allowed: ["_text_match", "price_amount", "published_at"] });
    expect(parseSearchRequest(body({ clauses: [{ tags: { ne: "a" } }] }))).toMatchObject({
      allowed: ["eq", "in"],
    });
  });

  it("at a typed address implies the collection and refuses another", () => {
    const { collection: _, ...request } = body();
    expect(outcome(request, "products")).toBe("ok");
    expect(outcome(body(), "products")).toBe("ok");
    expect(outcome(body(), "events")).toBe("request_invalid /collection");
  });

  it("reads near with its three members", () => {
    const near = (point: unknown) => ({
      ...body({ clauses: [{ geo: { near: point } }] }),
      collection: "events",
    });
    expect(outcome(near({ lat: 1, lng: 2, radius_km: 3 }))).toBe("ok");
    for (const point of [
      { lat: 1, lng: 2 },
      { lat: 91, lng: 2, radius_km: 3 },
      { lat: 1, lng: 2, radius_km: 0 },
      { lat: 1, lng: 2, radius_km: 3, unit: "km" },
      null,
      "1,2,3",
    ]) {
      expect(outcome(near(point))).toBe("request_invalid /filter/all/1/geo/near");
    }
  });
});

// Written out independently from the specification, not derived from the definitions.
const table: Readonly<Record<CollectionName, string>> = {
  products: `language:eq,in tags:eq,in brand:eq,ne,in,nin vertical:eq,ne,in,nin category:eq,ne,in,nin channel:eq,ne,in,nin
    availability:eq,ne,in,nin on_sale:eq price_amount:eq,lt,lte,gt,gte price_currency:eq,ne,in gtin:eq,in sponsored:eq
    published_at:lt,lte,gt,gte country:eq`,
  business_files: `country:eq language:eq,in has_locations:eq location_geo:near cities:eq,in delivery.options:eq,in
    ships_internationally:eq payment.methods:eq,in has_booking:eq year_established:eq,lt,lte,gt,gte published_at:lt,lte,gt,gte`,
  events: `country:eq language:eq,in region:eq,in event_type:eq,ne,in,nin attendance_mode:eq,ne,in start_at:lt,lte,gt,gte
    end_at:lt,lte,gt,gte timezone:eq,in geo:near city:eq,in ticketed:eq price_min:lt,lte,gt,gte price_max:lt,lte,gt,gte
    price_currency:eq,in age_restriction:eq,ne,in published_at:lt,lte,gt,gte`,
  jobs: `country:eq language:eq,in salary_disclosed:eq employment_type:eq,ne,in,nin category:eq,ne,in,nin
    work_arrangement:eq,ne,in geo:near city:eq,in region:eq,in salary_min:lt,lte,gt,gte salary_max:lt,lte,gt,gte
    salary_currency:eq,in salary_period:eq,in closing_date:lt,lte,gt,gte published_at:lt,lte,gt,gte`,
  updates: `country:eq language:eq,in update_type:eq,ne,in,nin published_at:lt,lte,gt,gte relevant_until:lt,lte,gt,gte`,
};

const operands: Readonly<Record<string, unknown>> = {
  country: "US",
  keyword: "x",
  boolean: true,
  integer: 1,
  money: "1.00",
  timestamp: "2026-01-01T00:00:00.000Z",
  geopoint: { lat: 0, lng: 0, radius_km: 1 },
};

describe("every field of every collection", () => {
  it.each(collectionNames)("of %s has exactly the specified operators", (collection) => {
    const specified = new Map(
      table[collection]
        .trim()
        .split(/\s+/)
        .map((entry) => entry.split(":") as [string, string]),
    );
    expect(collections[collection].fields.map((field) => field.name).sort()).toEqual(
      [...specified.keys()].sort(),
    );
    for (const field of collections[collection].fields) {
      for (const operator of operators) {
        const operand =
          operator === "in" || operator === "nin" ? [operands[field.type]] : operands[field.type];
        const clause = { [field.name]: { [operator]: operand } };
        const all = field.name === "country" ? [clause] : [us, clause];
        const isSpecified = (specified.get(field.name) ?? "")
          .split(",")
          .includes(operator satisfies Operator);
        const at = `/filter/all/${all.length - 1}/${field.name}/${operator}`;
        expect(outcome({ ...body(), collection, filter: { all } })).toBe(
          isSpecified ? "ok" : `operator_not_allowed ${at}`,
        );
      }
    }
  });
});

describe("the JSON Schema of a search", () => {
  const ajv = new Ajv2020.default({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    formats: { "date-time": true, date: true },
  });

  it.each(collectionNames)("of %s accepts what is accepted and refuses what no body may be", (collection) => {
    const validate = ajv.compile(searchRequestSchema(collection));
    const general = ajv.compile(searchRequestSchema(null));
    const key = collections[collection].sortKeys[0];
    const accepted = collections[collection].fields.flatMap((field) =>
      field.operators.map((operator) => ({
        collection,
        filter: {
          all: [
            us,
            {
              [field.name]: {
                [operator]: operator.endsWith("in") ? [operands[field.type]] : operands[field.type],
              },
            },
          ],
        },
        sort_by: `${key}:asc`,
      })),
    );
    for (const request of accepted) {
      expect(outcome(request)).toBe("ok");
      expect(validate(request)).toBe(true);
      expect(general(request)).toBe(true);
    }
    const { collection: _, ...untyped } = accepted[0] as Body;
    expect(validate(untyped)).toBe(true);
    expect(general(untyped)).toBe(false);
    for (const wrong of [
      { sort_by: "brand:asc" },
      { limit: 51 },
      { filter: { all: [] } },
      { x: 1 },
      { query_by: ["brand"] },
    ]) {
      expect(validate({ ...accepted[0], ...wrong })).toBe(false);
    }
  });
});
