import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeReceiptBatches } from "../actors/region/activities.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { OwnReceipt, UsageAnswer, UsageLine } from "../protocol/wire/receipts.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import { removeBy, sealRemoval } from "../stories/publishing/removal.fixture.ts";
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

const uuidOf = (n: number) => `10000000-0000-4000-8000-00000000000${n}`;
let surfaces: TestSurfaces;
let business: TestBusiness;
/** Two keys of one company, and one of another. */
let company: TestCaller;
let second: TestCaller;
let other: TestCaller;
let recordId: string;

beforeAll(async () => {
  surfaces = await openSurfaces();
  const { services } = surfaces;
  const caller = (n: number) => newCaller(services.keys.grant, "retrieval", uuidOf(n));
  [company, second, other] = [await caller(1), await caller(1), await caller(2)];
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
const search = (by: TestCaller, change: object = {}) =>
  ask(by, {
    path: "/v1/products/search",
    body: JSON.stringify({ ...productSearch, ...change }),
    nonce: freshNonce(),
  });
const fetchRecord = (by: TestCaller) => ask(by, { path: `/v1/records/${recordId}` });
const receipts = (by: TestCaller, query = "") => ask(by, { path: `/v1/receipts${query}` });
const usage = async (by: TestCaller, query = "") =>
  (await ask(by, { path: `/v1/usage${query}` })).json as unknown as UsageAnswer;
const listIn = (answer: ReceivedAnswer) => answer.json["receipts"] as readonly OwnReceipt[];

async function listAll(by: TestCaller, query = "limit=3"): Promise<readonly OwnReceipt[]> {
  const found: OwnReceipt[] = [];
  for (let cursor = ""; ; ) {
    const page = await receipts(by, `?${query}${cursor}`);
    expect(page.status).toBe(200);
    found.push(...listIn(page));
    const next = page.json["next_cursor"];
    if (next === null) return found;
    cursor = `&cursor=${String(next)}`;
  }
}

/** The usage that these receipts are. */
function recount(of: readonly OwnReceipt[]): readonly UsageLine[] {
  const groups = Map.groupBy(of, ({ served_at, key_id, kind, collection, country }) =>
    [served_at.slice(0, 10), key_id, kind, collection ?? "", country ?? ""].join(" "),
  );
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, [first, ...others]]) => {
      const all = [first as OwnReceipt, ...others];
      const { served_at, key_id, kind, collection, country } = all[0] as OwnReceipt;
      return {
        day: served_at.slice(0, 10),
        key_id,
        kind,
        collection,
        country,
        requests: all.length,
        billable: all.filter((each) => each.billable).length,
        rows: all.reduce((sum, each) => sum + each.rows, 0),
      };
    });
}

describe("the receipts of a company", () => {
  it("are none before anything was answered", async () => {
    const none = await receipts(company);
    expect(none).toMatchObject({ status: 200, json: { receipts: [], next_cursor: null } });
    expect(none.headers.get("cache-control")).toBe("no-store");
    expect(await usage(company)).toMatchObject({ usage: [], total: { requests: 0, billable: 0, rows: 0 } });
  });

  it("are there as soon as they were given, with all keys of the company and none of another", async () => {
    const given = [await search(company), await fetchRecord(second), await search(company, { limit: 1 })];
    await search(other);
    expect((await search(company, { sort_by: "x:asc" })).status).toBe(400);
    const { region } = surfaces.services.config;
    const answer = await receipts(company);
    const sorted = listIn(answer).toSorted((a, b) => (a.kind < b.kind ? -1 : a.rows - b.rows));
    expect(sorted).toMatchObject([
      { kind: "fetch", key_id: second.key.keyId, collection: null, country: null, rows: 1, region },
      { kind: "search", key_id: company.key.keyId, collection: "products", country: "US", rows: 1, region },
      { kind: "search", key_id: company.key.keyId, collection: "products", country: "US", rows: 2, region },
    ]);
    const texts = given.map(({ text }) => /"receipt":(\{.*\})\}$/.exec(text)?.[1] ?? "none");
    for (const text of texts) expect(answer.text).toContain(`"receipt":${text}}`);
    await endMinute();
    expect(await receipts(second)).toMatchObject({ text: answer.text });
    expect(listIn(await receipts(other))).toHaveLength(1);
  });

  it("are those of a window and a key, and every page goes on where the last one ended", async () => {
    const before = Date.now() + skippedMs;
    await endMinute();
    for (let n = 0; n < 5; n += 1) await search(n % 2 === 0 ? company : second, { limit: 1 });
    const all = await listAll(company);
    expect(all.map((each) => each.retrieval_id)).toEqual(all.map((each) => each.retrieval_id).toSorted());
    expect(all).toHaveLength(8);
    expect(await listAll(company, "limit=200")).toEqual(all);
    const from = new Date(before).toISOString();
    expect(await listAll(company, `limit=2&from=${from}`)).toEqual(all.slice(3));
    expect(await listAll(company, `limit=2&to=${from}`)).toEqual(all.slice(0, 3));
    const at = all[5]?.served_at ?? "";
    expect((await listAll(company, `from=${at}`))[0]).toEqual(all.find((each) => each.served_at === at));
    expect(await listAll(company, `to=${at}`)).toEqual(all.filter((each) => each.served_at < at));
    expect(await listAll(company, `limit=1&key_id=${second.key.keyId}`)).toEqual(
      all.filter((each) => each.key_id === second.key.keyId),
    );
    expect(await listAll(company, `key_id=${other.key.keyId}`)).toEqual([]);
    expect(await listAll(company, "to=2026-01-01")).toEqual([]);
  });

  it("are answered one by one, checked, and those of others like those that never existed", async () => {
    const [first] = await listAll(company);
    const one = await receipts(second, `?retrieval_id=${first?.retrieval_id}`);
    expect(one.json).toEqual({
      region: first?.region,
      receipts: [first],
      next_cursor: null,
      checked: { valid: true, reason: null, log: null },
    });
    const [theirs] = await listAll(other);
    const unknown = await receipts(company, `?retrieval_id=ret_${"0".repeat(32)}`);
    expect(unknown).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect((await receipts(company, `?retrieval_id=${theirs?.retrieval_id}`)).text).toBe(unknown.text);
  });

  it.each([
    ["?from=x", "/query/from"],
    ["?from=2026-02-30", "/query/from"],
    ["?to=2026-03-04T00:00:00Z", "/query/to"],
    ["?from=2026-03-04&to=2026-03-04", "/query/to"],
    ["?key_id=x", "/query/key_id"],
    ["?cursor=x", "/query/cursor"],
    ["?limit=0", "/query/limit"],
    ["?limit=201", "/query/limit"],
    ["?retrieval_id=ret_0", "/query/retrieval_id"],
    [`?retrieval_id=ret_${"0".repeat(32)}&limit=1`, "/query/limit"],
    ["?after=1", "/query"],
  ])("are refused with %s", async (query, pointer) => {
    expect(await receipts(company, query)).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer },
    });
  });

  it("are refused to a business's key, and to nobody", async () => {
    const own = { key: business.signingKey, grant: "" };
    for (const path of ["/v1/receipts", "/v1/usage"]) {
      expect((await ask(own, { path })).json).toMatchObject({ code: "role_not_allowed" });
      expect((await send(surfaces.retrievalUrl, null, { path })).status).toBe(401);
    }
  });
});

describe("the receipt of a pool of ads", () => {
  it("is listed, checked and counted as those of searches and fetches are, and is not billable", async () => {
    const body = JSON.stringify({ country: "CA", keywords: ["kayaks"], sort_by: "random:asc" });
    const third = await newCaller(surfaces.services.keys.grant, "retrieval", uuidOf(3));
    const { json } = await ask(third, { path: "/v1/ads/pool", body });
    const [listed] = await listAll(third);
    expect(listed).toMatchObject({
      retrieval_id: json["retrieval_id"],
      kind: "ad_pool",
      collection: null,
      country: "CA",
      rows: 0,
      key_id: third.key.keyId,
      billable: false,
      receipt: json["receipt"],
    });
    const one = await receipts(third, `?retrieval_id=${String(json["retrieval_id"])}`);
    expect(one.json).toMatchObject({ receipts: [listed], checked: { valid: true, reason: null } });
    const kinds = async (query: string) => (await usage(third, query)).usage;
    expect(await kinds("?group_by=kind")).toEqual([{ kind: "ad_pool", requests: 1, billable: 0, rows: 0 }]);
    expect(await kinds("")).toEqual(recount(await listAll(third)));
  });
});

describe("the usage of a company", () => {
  it("is what its receipts are, to the last one, closed or not", async () => {
    for (const by of [company, other]) {
      const listed = await listAll(by);
      const counted = await usage(by);
      expect(counted.usage).toEqual(recount(listed));
      expect(counted.total.requests).toBe(listed.length);
    }
    await search(company, { filter: { all: [{ country: "GB" }] } });
    expect((await usage(company)).usage).toEqual(recount(await listAll(company)));
    await endMinute();
    await search(company);
    const { usage: lines, total } = await usage(company);
    expect(lines).toEqual(recount(await listAll(company)));
    expect(total).toEqual({
      requests: 10,
      billable: 0,
      rows: lines.reduce((sum, each) => sum + each.rows, 0),
    });
  });

  it("is told apart by what is asked for", async () => {
    const all = await listAll(company);
    const byKey = await usage(company, "?group_by=key");
    const keys = [company, second].map(({ key }) => key.keyId).toSorted();
    expect(byKey.usage.map((line) => [line.key_id, line.requests])).toEqual(
      keys.map((id) => [id, all.filter((each) => each.key_id === id).length]),
    );
    const byTwo = await usage(company, "?group_by=country,kind");
    expect(byTwo.usage.map(({ kind, country, day }) => [kind, country, day])).toEqual([
      ["fetch", null, undefined],
      ["search", "GB", undefined],
      ["search", "US", undefined],
    ]);
    expect((await usage(company, "?from=2026-01-01&to=2026-01-02")).usage).toEqual([]);
    expect(await usage(company, "?from=2026-01-01&to=2026-04-03")).toMatchObject({ to: "2026-04-03" });
  });

  it.each([
    ["?from=x", "/query/from"],
    ["?from=2026-01-01&to=2026-04-04", "/query/from"],
    ["?to=2026-1-1", "/query/to"],
    ["?group_by=", "/query/group_by"],
    ["?group_by=day,day", "/query/group_by"],
    ["?group_by=week", "/query/group_by"],
    ["?key_id=x", "/query"],
  ])("is refused with %s", async (query, pointer) => {
    expect(await ask(company, { path: `/v1/usage${query}` })).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer },
    });
  });
});

it("a receipt is given as it was after its record was purged", async () => {
  const all = "?limit=200";
  const before = (await receipts(company, all)).text;
  expect(before.match(/"receipt":/g)?.length).toBeGreaterThan(5);
  const { services } = surfaces;
  const at = formatTimestamp(services.clock.now());
  const removal = { record_id: recordId, action: "delete", at } as const;
  const sealed = await sealRemoval(business, removal, business.signingKey, { sealed_at: at });
  const outcome = await removeBy(services, business, "delete", sealed, 100);
  expect(outcome).toMatchObject({ status: 200 });
  const [version] = await services.records.listVersions(recordId, null, 1);
  if (version === undefined) throw new Error("The record was published.");
  const rowNow = async () => (await services.records.readRows([{ record_id: recordId, ...version }]))[0]?.row;
  await expect.poll(rowNow, { timeout: 20_000 }).toBe("");
  expect((await receipts(company, all)).text).toBe(before);
});
