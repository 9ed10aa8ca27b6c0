// The rate limits of one key, over HTTP at a whole node whose time the test controls.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  freshNonce,
  newCaller,
  productSearch,
  type ReceivedAnswer,
  send,
  type TestCaller,
} from "../../api/surfaces.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  publishOver,
} from "./attack.fixture.ts";

const perSecond = 3;
const burst = 2 * perSecond;
const perMinute = 12;

let node: AttackNode;
let nowMs = 0;

beforeAll(async () => {
  vi.stubEnv("SVC_SAMPLES", "no");
  vi.stubEnv("SVC_KEY_REQUESTS_PER_SECOND", String(perSecond));
  vi.stubEnv("SVC_KEY_QUERY_COST_PER_MINUTE", String(perMinute));
  node = await openAttackNode({ elapsedMs: () => nowMs });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await node.close();
});

let parties = 0;
const newCompany = (): Promise<TestCaller> => {
  parties += 1;
  const uuid = `00000000-0000-4000-8000-0000000001${String(parties).padStart(2, "0")}`;
  return newCaller(node.running.services.keys.grant, "retrieval", uuid);
};

const search = (caller: TestCaller, nonce = freshNonce(), body = JSON.stringify(productSearch)) =>
  send(node.running.urls.base_url, caller, { path: "/v1/products/search", body, nonce });
/** Costs 1; if the id is malformed, only the request itself counts. */
const fetchOne = (caller: TestCaller, recordId = `svc_${"a".repeat(26)}`, nonce = freshNonce()) =>
  send(node.running.urls.base_url, caller, { path: `/v1/records/${recordId}`, nonce });

function expectLimited(answer: ReceivedAnswer, reason: string, seconds: number): void {
  expect(answer).toMatchObject({
    status: 429,
    json: { code: "rate_limited", status: 429, reason, retry_after_seconds: seconds },
  });
  expect(answer.headers.get("retry-after")).toBe(String(seconds));
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
}

/** The RateLimit and RateLimit-Policy headers. */
const fieldsOf = ({ headers }: ReceivedAnswer) => [headers.get("ratelimit"), headers.get("ratelimit-policy")];

describe("with every answer to a key that proved itself", () => {
  const ratePolicy = `"request_rate";q=${burst};w=2`;
  const bothPolicies = `${ratePolicy}, "query_cost";q=${perMinute};qu="query-cost";w=60`;

  it("it is told what is left", async () => {
    const caller = await newCompany();
    const whole = `"query_cost";r=${perMinute};t=60`;
    expect(fieldsOf(await fetchOne(caller, "none"))).toEqual([
      `"request_rate";r=5;t=1, ${whole}`,
      bothPolicies,
    ]);
    expect(fieldsOf(await search(caller))).toEqual([
      `"request_rate";r=4;t=1, "query_cost";r=${perMinute - 6};t=60`,
      bothPolicies,
    ]);
    nowMs += 500;
    await repeat(5, () => fetchOne(caller, "none"));
    const limited = await search(caller);
    expect([limited.status, ...fieldsOf(limited)]).toEqual([
      429,
      `"request_rate";r=0;t=1, "query_cost";r=${perMinute - 6};t=60`,
      bothPolicies,
    ]);
  });

  it("a business is told of its rate alone", async () => {
    const business = await newBusiness(node);
    const caller = { key: business.signingKey, grant: "" };
    const request = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
    const answer = await send(node.running.urls.business_url, caller, request);
    expect(fieldsOf(answer)).toEqual([`"request_rate";r=5;t=1`, ratePolicy]);
  });

  it("nobody else is told anything", async () => {
    const unsigned = await send(node.running.urls.base_url, null, { path: "/v1/search", body: "{}" });
    const other = await newCompany();
    const forged = { signature: `sig1=:${Buffer.alloc(64).toString("base64")}:` };
    const answer = await send(node.running.urls.base_url, other, {
      path: "/v1/search",
      body: "{}",
      headers: forged,
    });
    expect([unsigned.status, answer.status]).toEqual([401, 401]);
    expect([...fieldsOf(unsigned), ...fieldsOf(answer)]).toEqual([null, null, null, null]);
  });
});

async function repeat<T>(count: number, run: () => Promise<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for (let index = 0; index < count; index += 1) all.push(await run());
  return all;
}

describe("the request rate of a key", () => {
  it("is refused beyond it with Retry-After, its nonce used, and passes after that", async () => {
    const caller = await newCompany();
    const statuses = (await repeat(burst, () => fetchOne(caller, "none"))).map((answer) => answer.status);
    expect(statuses).toEqual(Array(burst).fill(400));
    const nonce = freshNonce();
    expectLimited(await search(caller, nonce), "request_rate", 1);
    expect(await search(caller, nonce)).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
    expect((await search(await newCompany())).status).toBe(200);
    nowMs += 1_000;
    expect(await search(caller, nonce)).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
    expect((await search(caller)).status).toBe(200);
  });

  it("is judged before the body is parsed, and after its size", async () => {
    const caller = await newCompany();
    await repeat(burst, () => fetchOne(caller, "none"));
    expectLimited(await search(caller, freshNonce(), "{"), "request_rate", 1);
    const nonce = freshNonce();
    const tooLarge = await search(caller, nonce, " ".repeat(16_385));
    expect(tooLarge).toMatchObject({ status: 413, json: { code: "record_too_large" } });
    nowMs += 1_000;
    expect((await search(caller, nonce)).status).toBe(200);
  });

  it("is of publishing and of a business's reads together", async () => {
    const business = await newBusiness(node);
    const caller = { key: business.signingKey, grant: "" };
    const read = (nonce = freshNonce()) =>
      send(node.running.urls.business_url, caller, {
        path: "/v1/seal-context",
        tag: "svc-business-read",
        nonce,
        headers: { "svc-sandbox-key": null },
      });
    const { body } = await batchBody(business, [product("limited")], { seq: 1 });
    expect((await repeat(burst, read)).map((answer) => answer.status)).toEqual(Array(burst).fill(200));
    const nonce = freshNonce();
    expectLimited(await publishOver(node, business, body, { nonce }), "request_rate", 1);
    nowMs += 1_000;
    const replay = await publishOver(node, business, body, { nonce });
    expect(replay).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
    // The refused batch had no effect: its seq is unused.
    expect(await publishOver(node, business, body)).toMatchObject({ status: 200, json: { seq: 1 } });
    expect((await read()).status).toBe(200);
  });
});

/** Not the caps: a validation leaves them unused. */
it("the request rate of a key bounds its validations, which have no other bound on their number", async () => {
  const business = await newBusiness(node);
  await giveMandate(node, business, {
    scope: { caps: { records_per_hour: 2, bytes_per_day: 1_000_000 } },
  });
  const { body } = await batchBody(business, [product("a"), product("b")], { seq: 1 });
  const validate = () =>
    publishOver(node, business, body, { path: "/v1/publish/products?validate_only=true" });
  const answers = await repeat(burst, validate);
  expect(answers.map((answer) => answer.status)).toEqual(Array(burst).fill(200));
  expectLimited(await validate(), "request_rate", 1);
  nowMs += 1_000;
  expect((await validate()).status).toBe(200);
  expect(await publishOver(node, business, body)).toMatchObject({ status: 200, json: { seq: 1 } });
  // The cap is used up now, for a validation as for a batch.
  const next = await batchBody(business, [product("c")], { seq: 2 });
  const path = "/v1/publish/products?validate_only=true";
  expect(await publishOver(node, business, next.body, { path })).toMatchObject({
    status: 429,
    json: { code: "rate_limited", reason: "records_per_hour" },
  });
});

describe("the query-cost budget of a key", () => {
  /** Spends the whole budget, at 6 per search of 50 rows. */
  const spent = async (): Promise<TestCaller> => {
    const caller = await newCompany();
    const answers = await repeat(2, () => search(caller));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    nowMs += 2_000;
    return caller;
  };

  it("refuses searches and fetches beyond it with Retry-After, their nonces used, until the minute ends", async () => {
    const caller = await spent();
    const nonce = freshNonce();
    expectLimited(await search(caller, nonce), "query_cost", 58);
    expect(await search(caller, nonce)).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
    const fetchNonce = freshNonce();
    expectLimited(await fetchOne(caller, undefined, fetchNonce), "query_cost", 58);
    nowMs += 57_000;
    expect(await fetchOne(caller, undefined, fetchNonce)).toMatchObject({ json: { code: "nonce_reused" } });
    expectLimited(await fetchOne(caller), "query_cost", 1);
    nowMs += 1_000;
    expect((await fetchOne(caller)).status).toBe(404);
    expect((await search(caller)).status).toBe(200);
  });

  it("is spent by pools of ads as well, at 3 each", async () => {
    const caller = await newCompany();
    const body = JSON.stringify({ country: "US", keywords: ["shoes"], sort_by: "random:asc" });
    const pool = (of = body) => send(node.running.urls.base_url, caller, { path: "/v1/ads/pool", body: of });
    expect(await pool("{}")).toMatchObject({ status: 400 });
    for (let pools = 0; pools < perMinute / 3; pools += 1) {
      expect((await pool()).status).toBe(200);
      nowMs += 500;
    }
    expectLimited(await pool(), "query_cost", 58);
  });

  it("is of that key alone, and says of a wrong request what is wrong with it", async () => {
    const caller = await spent();
    expect((await search(await newCompany())).status).toBe(200);
    expect(await search(caller, freshNonce(), "{")).toMatchObject({ json: { code: "request_invalid" } });
    expect(await fetchOne(caller, "none")).toMatchObject({ json: { code: "request_invalid" } });
  });

  it("leaves no receipt of what it refused", async () => {
    const caller = await spent();
    const kept = vi.spyOn(node.running.services.receipts, "append");
    expectLimited(await search(caller), "query_cost", 58);
    expect(kept).not.toHaveBeenCalled();
    nowMs += 58_000;
    expect((await search(caller)).status).toBe(200);
    expect(kept).toHaveBeenCalledTimes(1);
  });
});
