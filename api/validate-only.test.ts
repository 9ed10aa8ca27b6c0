// POST /v1/publish/products?validate_only=true: it says what the same batch comes to when it is published, and changes nothing.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PushReport } from "../actors/messages/push.ts";
import { type ActorRef, businessRef, keyRef, pushRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { PublishOutcome, PushCounts } from "../protocol/wire/push.ts";
import { openBusiness, product, seal, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  openSurfaces,
  type ReceivedAnswer,
  type SentRequest,
  send,
  signed,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;

beforeAll(async () => {
  surfaces = await openSurfaces();
});
beforeEach(async () => {
  business = await openBusiness(surfaces.services, randomUUID());
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const priced = (id: string, amount = "10.00"): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

async function batchOf(records: readonly Uint8Array[], changes: Parameters<typeof seal>[2] = {}) {
  return publishBody((await seal(business, records, changes)).batch_seal, records);
}

function post(body: Uint8Array | string, query = "", changes: Partial<SentRequest> = {}) {
  return send(
    surfaces.businessUrl,
    { key: business.signingKey, grant: "" },
    {
      path: `/v1/publish/products${query}`,
      body,
      tag: "svc-push",
      ...changes,
      headers: { "idempotency-key": freshNonce(), ...changes.headers },
    },
  );
}

const validate = (body: Uint8Array | string, changes: Partial<SentRequest> = {}): Promise<ReceivedAnswer> =>
  post(body, "?validate_only=true", changes);

const resultsOf = (answer: ReceivedAnswer) => answer.json["results"] as readonly PublishOutcome[];

/** The results as a push keeps them: without the words of the records. */
const keptOf = (answer: ReceivedAnswer): readonly PublishOutcome[] =>
  resultsOf(answer).map((each) => ({ ...each, errors: each.errors.map(({ quote: _, ...kept }) => kept) }));

/** The results of a batch that was really published, whole. */
async function publishedResults(body: Uint8Array): Promise<readonly PublishOutcome[]> {
  const answer = await post(body);
  if (answer.status === 200) return resultsOf(answer);
  expect(answer.status).toBe(202);
  const push = pushRef(business.party.uuid, String(answer.json["push_id"]));
  await surfaces.services.actors.ask(push, { type: "push.await" });
  const results: PublishOutcome[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const report: PushReport | null = await readFrom(push, from);
    results.push(...(report?.results ?? []));
    from = report?.next_leaf ?? null;
  }
  return results;
}

const readFrom = (push: ActorRef<"push">, from_leaf: number): Promise<PushReport | null> =>
  surfaces.services.actors.ask(push, { type: "push.status", outcome: null, from_leaf, limit: 100 });

/** Everything that a request of this business could have changed, once its earlier pushes are done with. */
async function state() {
  const { actors, actorStore, records } = surfaces.services;
  const { uuid } = business.party;
  const contextOf = async (ref: ActorRef) => (await actors.inspect(ref))?.context ?? null;
  const businessAt = async () => (await contextOf(businessRef(uuid))) as { pending: readonly string[] };
  await expect.poll(async () => (await businessAt()).pending).toEqual([]);
  const key = keyRef(uuid, business.key.key_id);
  // Being asked for the first time makes an actor, which changes nothing either.
  const charge = { records: 0, bytes: 0, caps: { records_per_hour: 0, bytes_per_day: 0 } };
  await actors.ask(key, { type: "seq.check", seq: 1, push_id: "", charge });
  const ofThis = (id: string) => id.startsWith(uuid);
  return {
    business: await businessAt(),
    key: await contextOf(key),
    pushes: (await actorStore.listActors("push", "", 1_000)).filter(ofThis),
    staged: (await records.stagedPushes(null, 1_000)).pushes.map((each) => each.push_id).filter(ofThis),
    catalogue: await records.listCatalogue(uuid, null, 100),
  };
}

describe("a batch that is only validated", () => {
  it("tells at most 10,000 faults, and one of each record behind them, of a batch that was accepted before as well", async () => {
    const faulty = utf8(JSON.stringify({ countries: Array.from({ length: 200 }, () => 0) }));
    const body = await batchOf(Array.from({ length: 120 }, () => faulty));
    const told = (answer: ReceivedAnswer) => resultsOf(answer).map(({ errors }) => errors.length);
    const expected = Array.from({ length: 120 }, (_, at) => (at < 100 ? 100 : 1));
    expect(told(await validate(body))).toEqual(expected);
    await publishedResults(body);
    const again = await validate(body);
    expect(again.json["known"]).toBe(true);
    expect(told(again)).toEqual(expected);
  });

  it("comes to what publishing it then comes to, record by record", async () => {
    await post(await batchOf([product("known"), product("other")], { seq: 1 }));
    const records = [
      product("new"),
      product("known"),
      product("bad", { product_name: undefined }),
      product("new"),
      product("wrong", { countries: ["QQ"] }),
      new TextEncoder().encode("not JSON"),
    ];
    const body = await batchOf(records, { seq: 2 });
    const before = await state();
    const answer = await validate(body);
    expect(answer).toMatchObject({
      status: 200,
      json: { validate_only: true, known: false, held: false, held_reasons: [], mode: "inline", seq: 2 },
    });
    expect(resultsOf(answer).map(({ outcome, version }) => [outcome, version])).toEqual([
      ["accepted", 1],
      ["updated", 2],
      ["rejected", null],
      ["rejected", null],
      ["rejected", null],
      ["rejected", null],
    ]);
    expect(answer.json["counts"]).toEqual({ accepted: 1, updated: 1, rejected: 4, held: 0, pending: 0 });
    expect(await state()).toEqual(before);
    expect(await publishedResults(body)).toEqual(keptOf(answer));
  });

  it("of more records than a push works on at a time has a result for each of them", async () => {
    const records = Array.from({ length: 450 }, (_, index) => priced(`item-${index % 440}`));
    const body = await batchOf(records);
    const before = await state();
    const answer = await validate(body);
    expect(answer.json).toMatchObject({ mode: "queued", records: 450 });
    expect(answer.json["counts"] as PushCounts).toMatchObject({ accepted: 440, rejected: 10 });
    expect(await state()).toEqual(before);
    expect(await publishedResults(body)).toEqual(keptOf(answer));
  });

  it("is told whether it would be held, and comes to what publishing it then comes to", async () => {
    const catalogue = Array.from({ length: 20 }, (_, index) => priced(`item-${index}`));
    await post(await batchOf(catalogue, { seq: 1 }));
    const shock = await batchOf([priced("item-0", "99.00"), product("bad", { product_name: undefined })], {
      seq: 2,
    });
    const before = await state();
    const answer = await validate(shock);
    expect(answer.json).toMatchObject({ held: true, held_reasons: [{ code: "price_jump" }] });
    expect(resultsOf(answer).map(({ outcome, version }) => [outcome, version])).toEqual([
      ["held", null],
      ["rejected", null],
    ]);
    expect(await state()).toEqual(before);
    const published = await post(shock);
    expect(published.json).toMatchObject({ held: true });
    expect(resultsOf(published)).toEqual(keptOf(answer));
    expect(published.json["held_reasons"]).toEqual(answer.json["held_reasons"]);
  });

  it("that was accepted before is answered with the results of its push, however many", async () => {
    const body = await batchOf(Array.from({ length: 450 }, (_, index) => priced(`item-${index}`)));
    const published = await publishedResults(body);
    const before = await state();
    const answer = await validate(body);
    expect(answer.json).toMatchObject({ known: true });
    expect(keptOf(answer)).toEqual(published);
    expect(await state()).toEqual(before);
  });

  it("leaves its Idempotency-Key and its seq to the real request, and uses its nonce", async () => {
    const body = await batchOf([product("a")]);
    const headers = { "idempotency-key": "one key for both" };
    const nonce = freshNonce();
    expect(await validate(body, { headers, nonce })).toMatchObject({ status: 200 });
    expect(await validate(body, { headers, nonce })).toMatchObject({
      status: 401,
      json: { code: "nonce_reused" },
    });
    expect(await validate(body, { headers })).toMatchObject({ status: 200, json: { known: false } });
    const real = await post(body, "", { headers });
    expect(real).toMatchObject({ status: 200, json: { results: [{ outcome: "accepted", version: 1 }] } });
    expect(real.json["validate_only"]).toBeUndefined();
    expect(await validate(body, { headers })).toMatchObject({ json: { validate_only: true, known: true } });
    const replayed = await post(body, "", { headers });
    expect(replayed.text).toBe(real.text);
  });
});

describe("a validation is refused as publishing is", () => {
  const refusals: readonly (readonly [string, () => Promise<Uint8Array>, number, string])[] = [
    [
      "for a seq that was used",
      async () => {
        await post(await batchOf([product("a")], { seq: 5 }));
        return batchOf([product("b")], { seq: 5 });
      },
      409,
      "seq_not_increasing",
    ],
    [
      "for a seal of ten minutes ago",
      () => batchOf([product("a")], { sealedAtMs: Date.now() - 600_000 }),
      422,
      "seal_invalid",
    ],
    [
      "for another AI policy version",
      () => batchOf([product("a")], { aiPolicyVersion: 7 }),
      422,
      "seal_invalid",
    ],
    [
      "for records that the seal does not cover",
      async () => publishBody((await seal(business, [product("a")])).batch_seal, [product("b")]),
      422,
      "seal_invalid",
    ],
    ["for a body that is no batch", async () => new TextEncoder().encode("{}"), 400, "request_invalid"],
  ];
  it.each(refusals)("%s", async (_name, makeBody, status, code) => {
    const body = await makeBody();
    const before = await state();
    const validated = await validate(body);
    expect(validated).toMatchObject({ status, json: { code } });
    expect(await state()).toEqual(before);
    const published = await post(body);
    expect(published.json).toEqual(validated.json);
  });

  it("without an Idempotency-Key, and for a value that is neither true nor false", async () => {
    const body = await batchOf([product("a")]);
    expect(await validate(body, { headers: { "idempotency-key": null } })).toMatchObject({
      status: 400,
      json: { pointer: "/headers/idempotency-key" },
    });
    expect(await post(body, "?validate_only=yes")).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/query/validate_only" },
    });
    expect(await post(body, "?validate_only=false")).toMatchObject({
      status: 200,
      json: { batch_id: expect.any(String) },
    });
  });

  it("for the query that was not signed", async () => {
    const body = await batchOf([product("a")]);
    const caller = { key: business.signingKey, grant: "" };
    const { headers } = await signed(surfaces.businessUrl, caller, {
      path: "/v1/publish/products",
      body,
      tag: "svc-push",
    });
    const answer = await fetch(new URL("/v1/publish/products?validate_only=true", surfaces.businessUrl), {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "idempotency-key": "k" },
      body: new Uint8Array(body),
    });
    expect([answer.status, await answer.json()]).toMatchObject([401, { code: "signature_invalid" }]);
  });
});
