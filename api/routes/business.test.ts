import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import { publishBody } from "../../client/batch.ts";
import {
  openBusiness,
  product,
  seal,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  type ReceivedAnswer,
  type SentRequest,
  send,
  type TestCaller,
  type TestSurfaces,
} from "../surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let caller: TestCaller;
let seq = 0;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
  caller = { key: business.signingKey, grant: "" };
});
afterAll(() => surfaces[Symbol.asyncDispose]());

async function batchOf(ids: readonly string[]): Promise<Uint8Array> {
  seq += 1;
  const records = ids.map((id) => product(id));
  return publishBody((await seal(business, records, { seq })).batch_seal, records);
}

function publish(body: Uint8Array | string, changes: Partial<SentRequest> = {}): Promise<ReceivedAnswer> {
  const headers = { "idempotency-key": freshNonce(), ...changes.headers };
  return send(surfaces.businessUrl, caller, {
    path: "/v1/publish/products",
    body,
    tag: "svc-push",
    ...changes,
    headers,
  });
}

const read = (path: string, by: TestCaller = caller): Promise<ReceivedAnswer> =>
  send(surfaces.businessUrl, by, { path, tag: "svc-business-read" });

describe("publishing", () => {
  it("of a small batch is answered with an outcome a record", async () => {
    const answer = await publish(await batchOf(["a", "b"]));
    expect(answer).toMatchObject({
      status: 200,
      json: {
        held: false,
        seq,
        results: [
          { outcome: "accepted", leaf_index: 0 },
          { outcome: "accepted", leaf_index: 1 },
        ],
      },
    });
  });

  it("replays the answer to the same Idempotency-Key, and refuses another request under it", async () => {
    const body = await batchOf(["c"]);
    const headers = { "idempotency-key": "an idempotency key" };
    const first = await publish(body, { headers });
    const second = await publish(body, { headers });
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(await publish(await batchOf(["d"]), { headers })).toMatchObject({
      status: 422,
      json: { code: "idempotency_key_reused" },
    });
  });

  it.each([
    ["is missing", null],
    ["has 256 characters", "k".repeat(256)],
    ["is not ASCII", "sch\u00f6n"],
  ])("is refused when its Idempotency-Key %s, its nonce used", async (_name, key) => {
    const body = await batchOf(["e"]);
    const nonce = freshNonce();
    const answer = await publish(body, { nonce, headers: { "idempotency-key": key } });
    expect(answer).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/headers/idempotency-key" },
    });
    expect(await publish(body, { nonce })).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
  });

  it.each(["business-files", "events", "jobs", "updates"])("of %s is not done here", async (type) => {
    const answer = await publish(await batchOf(["f"]), { path: `/v1/publish/${type}` });
    expect(answer).toMatchObject({ status: 422, json: { code: "type_not_publishable" } });
  });

  it("needs its own tag and a key of a business", async () => {
    const body = await batchOf(["g"]);
    expect(await publish(body, { tag: "svc-business-read" })).toMatchObject({
      status: 401,
      json: { code: "signature_invalid" },
    });
    const company = await newCaller(
      surfaces.services.keys.grant,
      "retrieval",
      "10000000-0000-4000-8000-000000000001",
    );
    const answer = await send(surfaces.businessUrl, company, {
      path: "/v1/publish/products",
      body,
      tag: "svc-push",
    });
    expect(answer).toMatchObject({ status: 403, json: { code: "role_not_allowed" } });
  });

  it("by a bare DELETE is refused", async () => {
    const path = `/v1/catalogue/svc_${"a".repeat(26)}`;
    expect(
      await send(surfaces.businessUrl, caller, { path, method: "DELETE", tag: "svc-push" }),
    ).toMatchObject({ status: 405 });
  });
});

it("the document of the surface says what is answered: no push of a type that is not published, and no source that a push cannot have", async () => {
  const document = (await send(surfaces.businessUrl, null, { path: "/openapi.json" })).json as {
    readonly paths: Readonly<Record<string, { readonly post: { readonly responses: object } }>>;
    readonly components: { readonly schemas: Readonly<Record<string, { readonly properties: object }>> };
  };
  const statusesOf = (type: string) =>
    Object.keys(document.paths[`/v1/publish/${type}`]?.post.responses ?? {}).filter((each) => each < "300");
  expect(statusesOf("products")).toEqual(["200", "202"]);
  for (const type of ["business-files", "events", "jobs", "updates"]) expect(statusesOf(type)).toEqual([]);
  expect(document.components.schemas["PushStatus"]?.properties).toMatchObject({
    source: { enum: ["api", "bulk"] },
  });
});

describe("a push", () => {
  it("of 51 records is polled where its answer says, by its own business only", async () => {
    const answer = await publish(await batchOf(Array.from({ length: 51 }, (_, index) => `p${index}`)));
    expect(answer.status).toBe(202);
    const location = answer.headers.get("location") ?? "";
    expect(location).toBe(`/v1/pushes/${answer.json["push_id"]}`);
    await surfaces.services.actors.ask(pushRef(business.party.uuid, String(answer.json["push_id"])), {
      type: "push.await",
    });
    expect(await read(`${location}?outcome=accepted`)).toMatchObject({
      status: 200,
      json: { state: "complete", results: expect.arrayContaining([]) },
    });
    const other = await newCaller(
      surfaces.services.keys.grant,
      "integration",
      "00000000-0000-4000-8000-000000000002",
    );
    expect(await read(location, other)).toMatchObject({ status: 404, json: { code: "not_found" } });
  });

  it.each([
    ["outcome=lost", "/query/outcome", undefined],
    ["cursor=x", "/query/cursor", undefined],
    ["outcom=held", "/query", "outcome"],
    ["cursor=leaf-1&cursor=leaf-2", "/query/cursor", undefined],
    ["__proto__=x", "/query", undefined],
  ])("is not read with ?%s", async (query, pointer, suggestion) => {
    const answer = await read(`/v1/pushes/bat_${"0".repeat(24)}?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid", pointer } });
    expect(answer.json["suggestion"]).toBe(suggestion);
  });
});

it("the seal context names what the next seal must name", async () => {
  const context = await read("/v1/seal-context");
  const taken = await publish(
    publishBody((await seal(business, [product("z")], { seq: 0 })).batch_seal, [product("z")]),
  );
  expect(taken).toMatchObject({ status: 409, json: { last_seq: context.json["last_seq"] } });
  expect(taken.json["last_seq"]).toBeGreaterThan(0);
  expect(context).toMatchObject({
    status: 200,
    json: {
      business_uuid: business.party.uuid,
      cert_id: business.certId,
      certificate_status: "active",
      ai_policy_version: 0,
    },
  });
});
