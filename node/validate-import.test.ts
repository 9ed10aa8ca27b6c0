// POST /v1/bulk-imports?validate_only=true: it says what the import of the same file comes to, line by line, and changes
// nothing.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef, keyRef } from "../actors/messages/refs.ts";
import { freshNonce, type ReceivedAnswer } from "../api/surfaces.fixture.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { PublishOutcome } from "../protocol/wire/push.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
  readOver,
} from "./attack.fixture.ts";
import { newUpload, requestImport, stageRecords } from "./bulk.fixture.ts";
import { product, seal, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
let seq = 0;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

type ImportBody = Parameters<typeof requestImport>[2];

const urls = () => node.running.urls;
const validate = (
  business: TestBusiness,
  body: ImportBody,
  query = "",
  headers: Record<string, string> = {},
): Promise<ReceivedAnswer> =>
  requestImport(urls(), business, body, {
    path: `/v1/bulk-imports?validate_only=true${query}`,
    headers: { "idempotency-key": freshNonce(), ...headers },
  });
const records = (count: number, changes: Readonly<Record<string, unknown>> = {}): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`item-${index}`, changes));
const priced = (amount: string) => ({
  countries: ["US"],
  prices: [{ country: "US", currency: "USD", amount }],
});
const resultsOf = (answer: ReceivedAnswer) => answer.json["results"] as readonly PublishOutcome[];

async function staged(business: TestBusiness, of: readonly Uint8Array[]) {
  seq += 1;
  return stageRecords(node, business, of, { seq });
}

async function imported(business: TestBusiness, of: readonly Uint8Array[]) {
  const { body, pushId } = await staged(business, of);
  expect(await requestImport(urls(), business, body)).toMatchObject({ status: 202 });
  return { body, pushId, report: await awaitPush(node, business, pushId) };
}

async function allResults(business: TestBusiness, pushId: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let cursor: string | null = "leaf-0"; cursor !== null; ) {
    const page: ReceivedAnswer = await readOver(node, business, `/v1/pushes/${pushId}?cursor=${cursor}`);
    found.push(...outcomesOf(page));
    cursor = page.json["next_cursor"] as string | null;
  }
  return found;
}

/** What a validation could have changed, once earlier pushes are done with. */
async function state(business: TestBusiness, upload: string) {
  const { actors, actorStore, config } = node.running.services;
  const { uuid } = business.party;
  const contextOf = async () => (await actors.inspect(businessRef(uuid)))?.context as { pending: string[] };
  await expect.poll(async () => (await contextOf()).pending).toEqual([]);
  const key = keyRef(uuid, business.key.key_id);
  await actors.ask(key, { type: "seq.check", seq: 1, push_id: "" });
  const bulk = join(config.home, "bulk");
  const names = (await readdir(bulk, { recursive: true })).filter((name) => name.includes(upload));
  return {
    business: await contextOf(),
    key: (await actors.inspect(key))?.context,
    pushes: (await actorStore.listActors("push", "", 1_000)).filter((id) => id.startsWith(uuid)),
    files: names.sort(),
  };
}

describe("a file that is only validated", () => {
  it("comes to what its import then comes to, line by line, and nothing changes", async () => {
    const business = await newBusiness(node);
    await imported(business, records(30, priced("10.00")));
    const mixed = [
      ...records(220, priced("10.50")).slice(27),
      product("bad", { product_name: undefined, prices: 1 }),
      product("new", priced("1.00")),
      product("new", priced("2.00")),
      utf8("not JSON"),
      ...records(230, priced("10.00")).slice(220),
    ];
    const { body, pushId } = await staged(business, mixed);
    const before = await state(business, body.upload_id);
    const answer = await validate(business, body);
    expect(answer).toMatchObject({
      status: 200,
      json: {
        ...{ validate_only: true, batch_id: pushId, known: false, mode: "queued", held: false },
        counts: { accepted: 201, updated: 3, rejected: 3, held: 0, pending: 0 },
        ...{ records: mixed.length, next_cursor: null, seq },
      },
    });
    expect(resultsOf(answer)[2]).toMatchObject({ outcome: "updated", version: 2 });
    expect(resultsOf(answer)[193]?.errors.length).toBeGreaterThan(1);
    expect(await state(business, body.upload_id)).toEqual(before);
    expect(await requestImport(urls(), business, body)).toMatchObject({ status: 202 });
    expect(await awaitPush(node, business, pushId)).toMatchObject({ state: "complete" });
    const forecast = resultsOf(answer).map(({ leaf_index, outcome, record_id, version, errors }) => ({
      ...{ leaf_index, outcome, record_id, version, errors },
    }));
    expect(await allResults(business, pushId)).toMatchObject(forecast);
  });

  it("is held as its import would be, for the same reasons", async () => {
    const business = await newBusiness(node);
    await imported(business, records(25, priced("10.00")));
    const { body, pushId } = await staged(business, [...records(25, priced("20.00")), utf8("{}")]);
    const answer = await validate(business, body);
    expect(answer).toMatchObject({
      status: 200,
      json: { held: true, counts: { held: 25, rejected: 1, accepted: 0, updated: 0 } },
    });
    expect(resultsOf(answer)[0]).toMatchObject({ outcome: "held", version: 2 });
    const of = async (outcome: string) =>
      resultsOf(await validate(business, body, `&outcome=${outcome}`)).length;
    expect([await of("held"), await of("rejected"), await of("updated")]).toEqual([25, 1, 0]);
    await requestImport(urls(), business, body);
    const { held_reasons } = await awaitPush(node, business, pushId);
    expect(held_reasons.length).toBe(2);
    expect(answer.json["held_reasons"]).toEqual(held_reasons);
    // Held, it is known; its results are those of the push.
    const known = await validate(business, body, "&outcome=held");
    expect(known.json).toMatchObject({ known: true, held: true, held_reasons, next_cursor: null });
    // A held push has judged none of its records yet.
    expect(resultsOf(known)).toHaveLength(26);
  });

  it("is compared with the catalogue as pushes that are not applied yet will leave it", async () => {
    const business = await newBusiness(node);
    await imported(business, records(25, priced("10.00")));
    // From now on no queued push is processed.
    await node.restart(() => {
      process.env["SVC_BACKGROUND"] = "off";
    });
    delete process.env["SVC_BACKGROUND"];
    seq += 1;
    // More than are processed in the request.
    const others = records(700, priced("1.00")).slice(100);
    const raised = [product("item-0", priced("14.00")), ...others];
    const count = raised.length;
    const { body, pushId } = await batchBody(business, raised, { seq });
    expect(await publishOver(node, business, body)).toMatchObject({
      ...{ status: 503, json: { reason: "background_unavailable" } },
    });
    // From 10.00 it would be a jump.
    const file = [product("item-0", priced("20.00")), ...others];
    const answer = await validate(business, (await staged(business, file)).body);
    expect(answer).toMatchObject({ json: { held: false, counts: { updated: count, accepted: 0 } } });
    expect(resultsOf(answer).map(({ version }) => version)).toEqual([3, ...Array(count - 1).fill(2)]);
    const status = await readOver(node, business, `/v1/pushes/${pushId}`);
    expect(status.json).toMatchObject({ state: "queued", counts: { pending: count } });
    await node.restart();
    expect(await awaitPush(node, business, pushId)).toMatchObject({ state: "complete" });
  });

  it("is answered in pages, with the counts of the whole file", async () => {
    const business = await newBusiness(node);
    const lines = Array.from({ length: 10_050 }, (_, index) =>
      index % 2_000 === 0 ? product(`item-${index}`) : utf8("{}"),
    );
    const { body } = await staged(business, lines);
    const first = await validate(business, body);
    expect(first.json).toMatchObject({
      ...{ counts: { accepted: 6, rejected: 10_044 }, next_cursor: "leaf-10000", records: 10_050 },
    });
    expect(resultsOf(first)).toHaveLength(10_000);
    // All faults of the first lines, and one of each further line.
    expect(resultsOf(first)[1]?.errors.length).toBeGreaterThan(1);
    expect(resultsOf(first)[9_999]?.errors).toHaveLength(1);
    const second = await validate(business, body, "&cursor=leaf-10000");
    expect(second.json).toMatchObject({ counts: { accepted: 6, rejected: 10_044 }, next_cursor: null });
    expect(resultsOf(second).map(({ leaf_index }) => leaf_index)).toEqual(
      Array.from({ length: 50 }, (_, index) => 10_000 + index),
    );
    const accepted = await validate(business, body, "&outcome=accepted");
    expect(accepted.json["next_cursor"]).toBe(null);
    expect(resultsOf(accepted).map(({ leaf_index }) => leaf_index)).toEqual([
      ...[0, 2_000, 4_000, 6_000, 8_000, 10_000],
    ]);
  });

  it("is judged as often as asked for, under an Idempotency-Key that stays free", async () => {
    const business = await newBusiness(node);
    const { body } = await staged(business, records(2));
    const headers = { "idempotency-key": freshNonce() };
    for (let time = 0; time < 2; time += 1)
      expect(await validate(business, body, "", headers)).toMatchObject({ status: 200 });
    expect(await requestImport(urls(), business, body, { headers })).toMatchObject({ status: 202 });
    expect(await validate(business, body, "", { "idempotency-key": "" })).toMatchObject({ status: 400 });
  });

  it("is refused as its import would be", async () => {
    const business = await newBusiness(node);
    const { body } = await staged(business, records(3));
    const { upload_id } = await newUpload(urls(), business);
    expect(await validate(business, { ...body, upload_id })).toMatchObject({
      json: { code: "upload_conflict", reason: "no_file" },
    });
    expect(await validate(business, { ...body, upload_id: `bup_${"0".repeat(24)}` })).toMatchObject({
      json: { code: "not_found" },
    });
    expect(await validate(business, { ...body, batch_seal: {} })).toMatchObject({
      json: { code: "seal_invalid", pointer: "/batch_seal" },
    });
    const other = (await seal(business, records(4).slice(1), { seq })).batch_seal;
    expect(await validate(business, { ...body, batch_seal: other })).toMatchObject({
      json: { code: "seal_invalid", reason: "hash_mismatch" },
    });
    await imported(business, records(1));
    const { batch_seal } = await seal(business, records(3), { seq });
    expect(await validate(business, { ...body, batch_seal })).toMatchObject({
      json: { code: "seq_not_increasing" },
    });
  });

  it("is refused by name for a page that is none, and for a page of an import", async () => {
    const business = await newBusiness(node);
    const { body } = await staged(business, records(1));
    const ask = (query: string) =>
      requestImport(urls(), business, body, { path: `/v1/bulk-imports?${query}` });
    for (const [query, pointer] of [
      ["validate_only=maybe", "/query/validate_only"],
      ["validate_only=true&outcome=fine", "/query/outcome"],
      ["validate_only=true&cursor=2", "/query/cursor"],
      ["outcome=rejected", "/query/outcome"],
      ["cursor=leaf-1", "/query/cursor"],
    ] as const)
      expect(await ask(query)).toMatchObject({ status: 400, json: { code: "request_invalid", pointer } });
  });

  it("is refused once a byte of the file has changed", async () => {
    const business = await newBusiness(node);
    const { body } = await staged(business, records(3));
    const bulk = join(node.running.services.config.home, "bulk");
    const names = (await readdir(bulk)).filter((name) => name.includes(body.upload_id));
    for (const name of names) {
      const bytes = await readFile(join(bulk, name));
      bytes[bytes.indexOf("item-1") + 5] = 0x37;
      await writeFile(join(bulk, name), bytes);
    }
    expect(await validate(business, body)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", reason: "hash_mismatch" },
    });
  });

  it("is validated once at a time for each business", async () => {
    const business = await newBusiness(node);
    const { body } = await staged(business, records(1_000));
    const answers = await Promise.all([1, 2, 3].map(() => validate(business, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
    expect(answers.find(({ status }) => status === 429)).toMatchObject({
      json: { code: "rate_limited", reason: "validation_in_progress", retry_after_seconds: 2 },
    });
    expect(await validate(business, body)).toMatchObject({ status: 200 });
  });
});
