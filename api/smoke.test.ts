import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBusiness, product, sealAndPublish } from "../node/publishing.fixture.ts";
import {
  newCaller,
  openSurfaces,
  productSearch,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let company: TestCaller;

beforeAll(async () => {
  surfaces = await openSurfaces();
  company = await newCaller(
    surfaces.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-000000000001",
  );
  const business = await openBusiness(surfaces.services);
  const outcome = await sealAndPublish(surfaces.services, business, [product("a"), product("b")]);
  console.log(JSON.stringify(outcome).slice(0, 500));
});
afterAll(() => surfaces[Symbol.asyncDispose]());

describe("smoke", () => {
  it("searches and fetches", async () => {
    const found = await send(surfaces.retrievalUrl, company, {
      path: "/v1/products/search",
      body: JSON.stringify(productSearch),
    });
    console.log(found.status, found.text, [...found.headers]);
    const rows = found.json["rows"] as { record_id: string }[];
    const fetched = await send(surfaces.retrievalUrl, company, { path: `/v1/records/${rows[0]?.record_id}` });
    console.log(fetched.status, fetched.text);
    expect(fetched.status).toBe(200);
  });
});
