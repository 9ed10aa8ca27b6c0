// What a program that searches is told by the types: `tsc` judges this file, and tools/packages.full.test.ts the packed declarations.

import { describe, expectTypeOf, it } from "vitest";
import type { FetchedRecord, SearchAnswer, SearchRequest } from "./service-client.ts";

describe("the types of a search", () => {
  type Products = SearchRequest<"products">;
  type Jobs = SearchRequest<"jobs">;
  type ClauseOf<R extends SearchRequest> = R["filter"]["all"][number];

  it("know the fields, operators and operands of a collection", () => {
    expectTypeOf<{ country: "GB" }>().toExtend<ClauseOf<Products>>();
    expectTypeOf<{ brand: { in: string[] } }>().toExtend<ClauseOf<Products>>();
    expectTypeOf<{ price_amount: { gte: 1; lt: "9.90" } }>().toExtend<ClauseOf<Products>>();
    expectTypeOf<{ geo: { near: { lat: 1; lng: 2; radius_km: 3 } } }>().toExtend<ClauseOf<Jobs>>();
    expectTypeOf<{ geo: { near: { lat: 1; lng: 2; radius_km: 3 } } }>().not.toExtend<ClauseOf<Products>>();
    expectTypeOf<{ brand: { lt: "x" } }>().not.toExtend<ClauseOf<Products>>();
    expectTypeOf<{ published_at: "2026-01-01" }>().not.toExtend<ClauseOf<Products>>();
    expectTypeOf<{ on_sale: "yes" }>().not.toExtend<ClauseOf<Products>>();
    expectTypeOf<{ country: "GB"; brand: "x" }>().not.toExtend<ClauseOf<Products>>();
  });

  it("know the text fields and sort keys of a collection", () => {
    expectTypeOf<"_text_match:desc" | "price_amount:asc,published_at:desc">().toExtend<Products["sort_by"]>();
    expectTypeOf<"salary_min:asc">().toExtend<Jobs["sort_by"]>();
    expectTypeOf<"salary_min:asc">().not.toExtend<Products["sort_by"]>();
    expectTypeOf<"price_amount">().not.toExtend<Products["sort_by"]>();
    expectTypeOf<Jobs["query_by"]>().toEqualTypeOf<readonly ("title" | "description")[] | undefined>();
  });

  it("know the rows of a collection", () => {
    type Product = SearchAnswer<"products">["rows"][number];
    type Job = SearchAnswer<"jobs">["rows"][number];
    type Place = SearchAnswer<"business_files">["rows"][number];
    expectTypeOf<Product["type"]>().toEqualTypeOf<"products">();
    expectTypeOf<Product["tags"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Product["gtin"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Product["price_GB"]>().toEqualTypeOf<number>();
    expectTypeOf<Product["price_currency_GB"]>().toEqualTypeOf<string>();
    expectTypeOf<Job["salary_min"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Place["brands_owned.name"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Place["delivery.options"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Place["has_booking"]>().toEqualTypeOf<false>();
    expectTypeOf<keyof Job & ("price_GB" | "brand" | "apply_url")>().toBeNever();
  });

  it("know a fetched record by its type", () => {
    type RecordOf<T> = Extract<FetchedRecord, { type: T }>["record"];
    expectTypeOf<RecordOf<"products">["prices"][number]["amount"]>().toEqualTypeOf<string>();
    expectTypeOf<RecordOf<"products">["schema"]>().toEqualTypeOf<"svc/products/1">();
    expectTypeOf<NonNullable<RecordOf<"jobs">["salary"]>["currency"]>().toEqualTypeOf<string>();
    expectTypeOf<RecordOf<"events">["ticketed"]>().toEqualTypeOf<boolean>();
    expectTypeOf<keyof RecordOf<"updates"> & "prices">().toBeNever();
  });
});
