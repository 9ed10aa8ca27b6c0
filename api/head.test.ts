// HEAD wherever GET is (RFC 9110 §9.1, §9.3.2): the same answer without its body, on signed addresses too.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wholeBatch } from "../storage/receipt-batch.fixture.ts";
import {
  jsonOf,
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  type ReceivedAnswer,
  type SentRequest,
  send,
  signed,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let company: TestCaller;
let recordId = "";

beforeAll(async () => {
  surfaces = await openSurfaces();
  const { services } = surfaces;
  business = await openBusiness(services);
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000001");
  const published = jsonOf(await sealAndPublish(services, business, [product("a")]));
  recordId = (published["results"] as { readonly record_id: string }[])[0]?.record_id ?? "";
  // This request registers the key.
  await send(surfaces.retrievalUrl, company, { path: "/v1/records/x" });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

/** Headers that belong to one answer and its connection: the platform's client closes that after a HEAD. */
const ownHeaders = ["date", "request-id", "connection", "keep-alive"];

function headersOf(answer: ReceivedAnswer): Readonly<Record<string, string>> {
  const all = Object.fromEntries(answer.headers);
  for (const name of ownHeaders) delete all[name];
  return all;
}

async function receiptsKept(): Promise<number> {
  const { receipts, keys } = surfaces.services;
  const batches = await receipts.openBatches(keys.region, "999912312359", 1_000);
  const rows = await Promise.all(batches.map((batch) => wholeBatch(receipts, keys.region, batch)));
  return rows.flat().length;
}

async function expectSame(base: string, caller: TestCaller | null, request: SentRequest): Promise<number> {
  const get = await send(base, caller, { ...request, method: "GET" });
  const head = await send(base, caller, { ...request, method: "HEAD" });
  expect([head.status, head.text]).toEqual([get.status, ""]);
  expect(headersOf(head)).toEqual(headersOf(get));
  if (get.text !== "") expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(get.text)));
  return get.status;
}

const publicPaths = (): readonly string[] => {
  const certificate = `/v1/certificates/${business.party.uuid}`;
  return [
    certificate,
    `${certificate}?format=html`,
    `${certificate}?format=pdf`,
    `${certificate}/keys`,
    `${certificate}/key-custody`,
    "/.well-known/keys",
    "/.well-known/svc-keys",
    "/v1/ai-policy-key",
    "/v1/projections/products/1",
    "/v1/projections/none/1",
    "/v1/vocabularies/languages",
    "/v1/vocabularies",
    "/v1/envelope-specification",
    "/v1/payloads/seal/2",
    "/v1/test-vectors/none.json",
    "/v1/log/checkpoint",
    `/v1/verify/${recordId}?origin=sha256:${"0".repeat(64)}`,
    "/openapi.json",
    "/v1/nowhere",
  ];
};

it("every public read, found or refused, has the headers of its GET", async () => {
  const statuses = new Set<number>();
  for (const path of publicPaths()) {
    for (const base of [surfaces.verifyUrl, surfaces.retrievalUrl])
      statuses.add(await expectSame(base, null, { path }));
  }
  expect([...statuses].sort()).toEqual([200, 400, 404]);
});

it("a conditional read is not changed for HEAD either", async () => {
  const path = "/v1/vocabularies/languages";
  const { headers } = await send(surfaces.verifyUrl, null, { path });
  const request = { path, headers: { "if-none-match": headers.get("etag") } };
  expect(await expectSame(surfaces.verifyUrl, null, request)).toBe(304);
});

describe("a signed read", () => {
  it.each([
    ["/v1/seal-context", 200],
    [`/v1/pushes/bat_${"0".repeat(24)}`, 404],
    ["/v1/seal-context?a=1", 400],
  ])("of a business has the headers of its GET: %s", async (path, status) => {
    const caller = { key: business.signingKey, grant: "" };
    expect(await expectSame(surfaces.businessUrl, caller, { path, tag: "svc-business-read" })).toBe(status);
  });

  it("is signed for HEAD: a signature for GET is refused", async () => {
    const path = `/v1/records/${recordId}`;
    const { headers } = await signed(surfaces.retrievalUrl, company, { path, method: "GET" });
    const answer = await send(surfaces.retrievalUrl, null, { path, method: "HEAD", headers });
    expect(answer.status).toBe(401);
    expect((await send(surfaces.retrievalUrl, null, { path, method: "GET", headers })).status).toBe(200);
  });

  it("unsigned is 401, with its challenge", async () => {
    const path = `/v1/records/${recordId}`;
    expect(await expectSame(surfaces.retrievalUrl, null, { path })).toBe(401);
  });
});

describe("HEAD of a record", () => {
  const path = (): string => `/v1/records/${recordId}`;

  it("has the headers of a fetch, its length too", async () => {
    expect(await expectSame(surfaces.retrievalUrl, company, { path: path() })).toBe(200);
    expect(
      await expectSame(surfaces.retrievalUrl, company, { path: `/v1/records/svc_${"a".repeat(26)}` }),
    ).toBe(404);
    expect(await expectSame(surfaces.retrievalUrl, company, { path: "/v1/records/x" })).toBe(400);
  });

  it("delivers nothing, so there is no receipt of it, and nothing to bill", async () => {
    const before = await receiptsKept();
    expect((await send(surfaces.retrievalUrl, company, { path: path(), method: "HEAD" })).status).toBe(200);
    expect(await receiptsKept()).toBe(before);
    expect((await send(surfaces.retrievalUrl, company, { path: path() })).status).toBe(200);
    expect(await receiptsKept()).toBe(before + 1);
  });

  it("uses its nonce", async () => {
    const nonce = freshNonce();
    const head = { path: path(), method: "HEAD", nonce };
    expect((await send(surfaces.retrievalUrl, company, head)).status).toBe(200);
    expect((await send(surfaces.retrievalUrl, company, head)).status).toBe(401);
    const get = await send(surfaces.retrievalUrl, company, { path: path(), nonce });
    expect(get).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
  });
});
