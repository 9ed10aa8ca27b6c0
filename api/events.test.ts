import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeReceiptBatches } from "../actors/region/activities.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { CompanyEvent } from "../protocol/wire/retrieval.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  productSearch,
  type ReceivedAnswer,
  type SentRequest,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let company: TestCaller;
let other: TestCaller;
let recordId: string;

beforeAll(async () => {
  surfaces = await openSurfaces();
  const { services } = surfaces;
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000001");
  other = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000002");
  business = await openBusiness(services);
  const outcome = await sealAndPublish(services, business, [product("a"), product("b")]);
  const { results } = JSON.parse(String("body" in outcome ? outcome.body : "{}")) as {
    results: { record_id: string }[];
  };
  recordId = results[0]?.record_id ?? "";
});
afterAll(() => surfaces[Symbol.asyncDispose]());

let skippedMs = 0;

/** Two minutes pass, and the region closes what was served before, as it does each minute. */
async function endMinute(): Promise<void> {
  surfaces.skipMs(120_000);
  skippedMs += 120_000;
  const { receipts, eventStore, config } = surfaces.services;
  const ports = { receipts, events: eventStore, sha256: nativeCrypto.sha256 };
  await closeReceiptBatches({ ...ports, append: async () => {} }, config.region, Date.now() + skippedMs);
}

const ask = (by: TestCaller, request: SentRequest) =>
  send(surfaces.retrievalUrl, by, { created: Math.floor((Date.now() + skippedMs) / 1_000), ...request });
const search = (by: TestCaller, change: object, nonce = freshNonce()) =>
  ask(by, { path: "/v1/products/search", body: JSON.stringify({ ...productSearch, ...change }), nonce });
const fetchRecord = (by: TestCaller) => ask(by, { path: `/v1/records/${recordId}` });
const events = (by: TestCaller, query = "", headers = {}): Promise<ReceivedAnswer> =>
  ask(by, { path: `/v1/events${query}`, headers });
const eventsIn = (answer: ReceivedAnswer) => answer.json["events"] as readonly CompanyEvent[];

describe("the event stream of a company", () => {
  it("is empty before anything was answered", async () => {
    expect(await events(company)).toMatchObject({ status: 200, json: { events: [], next_cursor: null } });
  });

  it("has one event for every search and fetch that was answered, and none for anything else", async () => {
    const nonce = freshNonce();
    const found = await search(company, { client_query_id: "q-1" }, nonce);
    const fetched = await fetchRecord(company);
    const plain = await search(company, { filter: { all: [{ country: "GB" }] } });
    expect((await search(company, { client_query_id: "q-1" }, nonce)).status).toBe(401);
    expect((await search(company, { client_query_id: "q-2", sort_by: "x:asc" })).status).toBe(400);
    expect((await ask(company, { path: `/v1/records/svc_${"a".repeat(26)}` })).status).toBe(404);
    const head = await ask(company, { path: `/v1/records/${recordId}`, method: "HEAD" });
    expect(head.status).toBe(200);
    await search(other, { client_query_id: "q-3" });
    expect(eventsIn(await events(company))).toEqual([]);
    await endMinute();
    const answer = await events(company);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const common = { key_id: company.key.keyId, billable: false, region: surfaces.services.config.region };
    const retrieval = (of: ReceivedAnswer) => {
      const { payload } = of.json["receipt"] as { payload: string };
      const receipt = JSON.parse(Buffer.from(payload, "base64").toString()) as Record<string, string>;
      const { retrieval_id: id = "", served_at } = receipt;
      return { event_id: id.replace("ret_", "event_"), retrieval_id: id, at: served_at };
    };
    const expected = [
      { ...retrieval(found), type: "search", client_query_id: "q-1", country: "US", rows: 2 },
      { ...retrieval(fetched), type: "fetch", client_query_id: null, country: null, rows: 1 },
      { ...retrieval(plain), type: "search", client_query_id: null, country: "GB" },
    ];
    const byId = (a: { readonly retrieval_id?: string }, b: { readonly retrieval_id?: string }) =>
      (a.retrieval_id ?? "") < (b.retrieval_id ?? "") ? -1 : 1;
    expect(eventsIn(answer).toSorted(byId)).toMatchObject(
      expected.map((each) => ({ ...common, ...each, collection: each.type === "fetch" ? null : "products" })),
    );
    expect(eventsIn(await events(other)).map((each) => each.client_query_id)).toEqual(["q-3"]);
  });

  it("goes on from any cursor, and ends with nothing twice and nothing missing", async () => {
    for (let n = 0; n < 7; n += 1) await search(company, { client_query_id: `page-${n}`, limit: 1 });
    await endMinute();
    const all = eventsIn(await events(company, "?limit=1000"));
    const seen: CompanyEvent[] = [];
    let after = "";
    for (;;) {
      const page = await events(company, `?limit=3${after}`);
      if (eventsIn(page).length === 0) {
        expect(page.json["next_cursor"]).toBe(seen.at(-1)?.cursor);
        break;
      }
      seen.push(...eventsIn(page));
      expect(page.json["next_cursor"]).toBe(seen.at(-1)?.cursor);
      after = `&after=${seen.at(-1)?.cursor}`;
    }
    expect(seen).toEqual(all);
    expect(new Set(seen.map((each) => each.event_id)).size).toBe(10);
    await search(company, { client_query_id: "later" });
    await endMinute();
    await endMinute();
    const later = eventsIn(await events(company, `?limit=3${after}`));
    expect(later.map((each) => each.client_query_id)).toEqual(["later"]);
  });

  it("is one event per line for who prefers that", async () => {
    const lines = await events(company, "?limit=2", { accept: "application/x-ndjson" });
    expect(lines.headers.get("content-type")).toBe("application/x-ndjson");
    expect(lines.headers.get("vary")).toContain("accept");
    expect(lines.text.endsWith("\n")).toBe(true);
    const parsed = lines.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as CompanyEvent);
    expect(parsed).toEqual(eventsIn(await events(company, "?limit=2", { accept: "*/*" })));
  });

  it.each([
    ["?after=x", "/query/after"],
    ["?after=", "/query/after"],
    ["?after=1-ret_0", "/query/after"],
    [`?after=-1-ret_${"0".repeat(32)}`, "/query/after"],
    ["?limit=0", "/query/limit"],
    ["?limit=1001", "/query/limit"],
    ["?limit=1e2", "/query/limit"],
    ["?from=2026-03-04", "/query"],
  ])("refuses %s", async (query, pointer) => {
    expect(await events(company, query)).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer },
    });
  });

  it("is refused to a business's key", async () => {
    const own = { key: business.signingKey, grant: "" };
    expect((await events(own)).json).toMatchObject({ code: "role_not_allowed" });
    expect((await send(surfaces.retrievalUrl, null, { path: "/v1/events" })).status).toBe(401);
  });
});
