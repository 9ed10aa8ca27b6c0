import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isRecordId } from "../../protocol/identifiers.ts";
import { canonicalize, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";
import { verifyFetchAnswer } from "../../verifier/fetch-answer.ts";
import { verifySearchAnswer } from "../../verifier/search-answer.ts";
import type { Trust } from "../../verifier/trust.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  productSearch,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "../surfaces.fixture.ts";

let surfaces: TestSurfaces;
let company: TestCaller;
let blocked: TestCaller;
let business: TestBusiness;
let trust: Trust;
let recordIds: readonly string[];
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
/** Not canonical, with white space around it: it must be served as it was sealed, or its hash would differ. */
const oddBytes = utf8(
  ` {"schema" : "svc/products/1",\n${new TextDecoder().decode(product("odd")).slice(1).replace('"schema":"svc/products/1",', "")} \n`,
);

beforeAll(async () => {
  surfaces = await openSurfaces();
  const { services } = surfaces;
  trust = services.trust();
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000001");
  blocked = await newCaller(
    services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-000000000002",
    "ES256",
  );
  business = await openBusiness(services);
  const outcome = await sealAndPublish(services, business, [product("a"), product("b"), oddBytes]);
  const { results } = JSON.parse(String("body" in outcome ? outcome.body : "{}")) as {
    results: { record_id: string }[];
  };
  recordIds = results.map((result) => result.record_id);
  await services.parties.setBlocked({
    uuid: business.party.uuid,
    group: "10000000-0000-4000-8000-000000000002",
    blocked: true,
  });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const search = (
  caller: TestCaller,
  body: object,
  path = "/v1/products/search",
  nonce = freshNonce(),
): Promise<ReceivedAnswer> =>
  send(surfaces.retrievalUrl, caller, { path, body: JSON.stringify(body), nonce });
/** What an inclusion read is asked about: the SHA-256 of the seal's canonical text. */
const sealLeaf = ({ json }: ReceivedAnswer): string => {
  const { batch_seal: seal } = json["seal"] as { readonly batch_seal: JsonValue };
  return `sha256:${createHash("sha256").update(canonicalize(seal)).digest("hex")}`;
};
const fetchRecord = (caller: TestCaller, id: string): Promise<ReceivedAnswer> =>
  send(surfaces.retrievalUrl, caller, { path: `/v1/records/${id}` });

describe("a search", () => {
  it("answers rows that verify, with a receipt for exactly them", async () => {
    const answer = await search(company, productSearch);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.json).toMatchObject({
      collection: "products",
      country: "US",
      retrieval_id: expect.stringMatching(/^ret_[0-9a-f]{32}$/),
    });
    const report = verifySearchAnswer(trust, utf8(answer.text), { callerKeyId: company.key.keyId });
    expect(report.checks.filter(({ state }) => state !== "ok" && state !== "unsigned")).toEqual([]);
    expect((answer.json["rows"] as { record_id: string }[]).map((row) => row.record_id).sort()).toEqual(
      [...recordIds].sort(),
    );
  });

  it("is the same on /v1/search with its collection named", async () => {
    const answer = await search(
      company,
      { ...productSearch, collection: "products", limit: 1 },
      "/v1/search",
    );
    expect(answer.json["rows"]).toHaveLength(1);
  });

  it.each([
    ["/v1/products/search", "products"],
    ["/v1/business-files/search", "business_files"],
    ["/v1/events/search", "events"],
    ["/v1/jobs/search", "jobs"],
    ["/v1/updates/search", "updates"],
  ])("at %s is of %s, named or not, and of no other collection", async (path, collection) => {
    for (const members of [{}, { collection }]) {
      const answer = await search(company, { ...productSearch, ...members }, path);
      expect(answer).toMatchObject({ status: 200, json: { collection, country: "US" } });
      const report = verifySearchAnswer(trust, utf8(answer.text), { callerKeyId: company.key.keyId });
      expect(report).toMatchObject({ valid: true, complete: true });
    }
    const other = collection === "jobs" ? "events" : "jobs";
    const refused = await search(company, { ...productSearch, collection: other }, path);
    expect(refused).toMatchObject({ status: 400, json: { pointer: "/collection" } });
  });

  it("keeps its receipt before it answers", async () => {
    const answer = await search(company, productSearch);
    const id = String(answer.json["retrieval_id"]);
    const kept = await surfaces.services.receipts.readReceipt(surfaces.services.keys.region, id);
    expect(kept).toMatchObject({
      key_id: company.key.keyId,
      billable: false,
      envelope: JSON.stringify(answer.json["receipt"]),
    });
    expect(kept?.batch).toMatch(/^\d{12}-[A-Za-z0-9_-]{1,64}$/);
  });

  it("leaves out the rows of a business that blocked the caller's group, without a word", async () => {
    const answer = await search(blocked, productSearch);
    expect(answer).toMatchObject({ status: 200, json: { rows: [] } });
    expect(Object.keys(answer.json).sort()).toEqual([
      "collection",
      "country",
      "receipt",
      "retrieval_id",
      "rows",
    ]);
  });

  const filter = productSearch.filter;
  it.each<readonly [string, object, number, string, object]>([
    ["no sort", { filter }, 400, "sort_required", { pointer: "/sort_by" }],
    [
      "a sort that does not exist",
      { filter, sort_by: "prise_amount:asc" },
      400,
      "sort_not_allowed",
      { suggestion: "price_amount" },
    ],
    [
      "an unknown field",
      { ...productSearch, filter: { all: [{ country: "US" }, { brnad: "x" }] } },
      400,
      "unknown_field",
      { suggestion: "brand" },
    ],
    [
      "an operator that the field has not",
      { ...productSearch, filter: { all: [{ country: "US" }, { on_sale: { gt: true } }] } },
      400,
      "operator_not_allowed",
      {},
    ],
    [
      "an unknown member",
      { ...productSearch, limitt: 5 },
      400,
      "request_invalid",
      { suggestion: "limit", pointer: "/limitt" },
    ],
    ["a limit of 51", { ...productSearch, limit: 51 }, 400, "request_invalid", { pointer: "/limit" }],
    ["no country", { ...productSearch, filter: { all: [] } }, 400, "request_invalid", {}],
    [
      "another collection than the address's",
      { ...productSearch, collection: "jobs" },
      400,
      "request_invalid",
      { pointer: "/collection" },
    ],
  ])("is refused with %s", async (_name, body, status, code, members) => {
    const answer = await search(company, body);
    expect(answer).toMatchObject({ status, json: { code, status, ...members } });
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  });

  it.each(['{"a":1,"a":2}', "{", "[]", '{"filter":', "\u00ff"])(
    "is refused as malformed JSON: %s",
    async (body) => {
      const answer = await send(surfaces.retrievalUrl, company, { path: "/v1/search", body });
      expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    },
  );

  it("of another media type is refused after its nonce was claimed", async () => {
    const request = {
      path: "/v1/search",
      body: "a=1",
      nonce: freshNonce(),
      headers: { "content-type": "text/plain" },
    };
    expect(await send(surfaces.retrievalUrl, company, request)).toMatchObject({
      status: 415,
      json: { code: "media_type_unsupported" },
    });
    expect(await send(surfaces.retrievalUrl, company, request)).toMatchObject({
      json: { code: "nonce_reused" },
    });
  });

  it("in a content coding is refused, whatever its bytes are", async () => {
    const sent = (coding: string) =>
      send(surfaces.retrievalUrl, company, {
        path: "/v1/products/search",
        body: JSON.stringify(productSearch),
        headers: { "content-encoding": coding },
      });
    const refusal = await sent("gzip");
    expect(refusal).toMatchObject({
      status: 415,
      json: { code: "media_type_unsupported", pointer: "/headers/content-encoding" },
    });
    expect(refusal.headers.get("accept-encoding")).toBe("identity");
    expect((await sent("identity")).status).toBe(200);
  });

  it("replayed is nonce_reused, even when its body is wrong too", async () => {
    const nonce = freshNonce();
    expect((await search(company, productSearch, "/v1/search", nonce)).status).toBe(400);
    expect(await search(company, productSearch, "/v1/search", nonce)).toMatchObject({
      status: 401,
      json: { code: "nonce_reused" },
    });
  });
});

describe("a fetch", () => {
  it("answers what verifies from end to end", async () => {
    const answer = await fetchRecord(company, recordIds[0] ?? "");
    expect(answer.status).toBe(200);
    const report = verifyFetchAnswer(trust, utf8(answer.text), { callerKeyId: company.key.keyId });
    expect(report.checks.filter((check) => check.state === "failed")).toEqual([]);
    expect(Object.keys(answer.json)).toEqual([
      "record_id",
      "business_uuid",
      "type",
      "published_at",
      "record",
      "seal",
      "sidecar",
      "ai_policy",
      "provenance",
      "receipt",
    ]);
    expect(answer.json["provenance"]).toMatchObject({
      log_leaf: sealLeaf(answer),
      source_line: expect.stringMatching(/^svc-source\/1 record=svc_/),
    });
  });

  it("gives the sealed bytes back, whatever they look like", async () => {
    const answer = await fetchRecord(company, recordIds[2] ?? "");
    expect(exactMember(answer.text, "record")).toBe(new TextDecoder().decode(oddBytes));
    const hash = createHash("sha256")
      .update(exactMember(answer.text, "record") ?? "")
      .digest("hex");
    expect(String((answer.json["provenance"] as Record<string, unknown>)["source_line"])).toContain(
      `origin=sha256:${hash} `,
    );
  });

  it("is the same the second time but for what names the moment", async () => {
    const [first, second] = [
      await fetchRecord(company, recordIds[1] ?? ""),
      await fetchRecord(company, recordIds[1] ?? ""),
    ];
    const { receipt: one, provenance: p1, ...firstRest } = first.json;
    const { receipt: two, provenance: p2, ...secondRest } = second.json;
    expect(firstRest).toEqual(secondRest);
    expect(one).not.toEqual(two);
    expect(p1).toMatchObject({ projection_version: "products/1" });
    expect(p2).toMatchObject({ projection_version: "products/1" });
  });

  it("serves a new version as soon as it is published", async () => {
    // Fetched often enough to be cached.
    for (let turn = 0; turn < 2; turn += 1) await fetchRecord(company, recordIds[1] ?? "");
    const before = await fetchRecord(company, recordIds[1] ?? "");
    expect(before.json["record"]).toMatchObject({ product_name: "Trail Runner 3" });
    await sealAndPublish(surfaces.services, business, [product("b", { product_name: "Trail Runner 4" })], {
      seq: 2,
    });
    const after = await fetchRecord(company, recordIds[1] ?? "");
    expect(after.json["record"]).toMatchObject({ product_name: "Trail Runner 4" });
    expect(after.json["provenance"]).toMatchObject({ log_leaf: sealLeaf(after) });
    expect(sealLeaf(after)).not.toBe(sealLeaf(before));
  });

  it("answers one and the same 404, no sooner than 20 ms after arrival, for what is not there and what is blocked", async () => {
    expect(await fetchRecord(blocked, `svc_${"a".repeat(26)}`)).toMatchObject({ status: 404 });
    surfaces.delays.length = 0;
    const before = Date.now();
    const answers = [
      await fetchRecord(company, `svc_${"a".repeat(26)}`),
      await fetchRecord(company, `ad_${"a".repeat(26)}`),
      await fetchRecord(company, `aip_${"a".repeat(26)}`),
      await fetchRecord(blocked, recordIds[0] ?? ""),
    ];
    const known = (answer: ReceivedAnswer) => {
      const headers = [...answer.headers].filter(([name]) => !["date", "request-id"].includes(name));
      return { status: answer.status, text: answer.text, headers };
    };
    expect(answers.map(known)).toEqual(answers.map(() => known(answers[0] as ReceivedAnswer)));
    expect(answers[0]).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect(surfaces.delays).toHaveLength(answers.length);
    for (const { atMs } of surfaces.delays) expect(atMs).toBeGreaterThanOrEqual(before + 20);
  });

  it("of something that is no record id is refused", async () => {
    expect(isRecordId(recordIds[0] ?? "")).toBe(true);
    for (const id of ["svc_short", `xyz_${"a".repeat(26)}`, `svc_${"A".repeat(26)}`]) {
      expect(await fetchRecord(company, id)).toMatchObject({
        status: 400,
        json: { code: "request_invalid" },
      });
    }
  });

  it("that is replayed is refused, whether the record is there or not", async () => {
    for (const id of [recordIds[0], `svc_${"a".repeat(26)}`]) {
      const request = { path: `/v1/records/${id}`, nonce: freshNonce() };
      await send(surfaces.retrievalUrl, company, request);
      expect(await send(surfaces.retrievalUrl, company, request)).toMatchObject({
        status: 401,
        json: { code: "nonce_reused" },
      });
    }
  });
});
