// A file of records: asked for, uploaded, imported and searched, over HTTP on a real node.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyRef } from "../../actors/messages/refs.ts";
import { freshNonce, send } from "../../api/surfaces.fixture.ts";
import { hashOf } from "../../protocol/bytes.ts";
import type { PushAttempt } from "../../protocol/wire/catalogue.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
  readOver,
} from "../retrieval/attack.fixture.ts";
import { askUpload, fileOf, newUpload, requestImport, sendFile, stageRecords } from "./bulk.fixture.ts";
import { decideOver } from "./hold-decisions.fixture.ts";
import { product, seal, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
let seq = 0;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const urls = () => node.running.urls;
const stagedOf = async ({ upload_id }: { readonly upload_id: string }): Promise<readonly string[]> =>
  (await readdir(join(node.running.config.home, "bulk"))).filter((name) => name.includes(upload_id));
const records = (count: number, changes: Readonly<Record<string, unknown>> = {}): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`item-${index}`, changes));
const priced = (amount: string) => ({
  countries: ["US"],
  prices: [{ country: "US", currency: "USD", amount }],
});

async function importOf(business: TestBusiness, of: readonly Uint8Array[]) {
  seq += 1;
  const { body, pushId } = await stageRecords(node, business, of, { seq });
  return { body, pushId, answer: await requestImport(urls(), business, body) };
}

describe("an upload", () => {
  it("says where and how, and is answered with the same words again", async () => {
    const business = await newBusiness(node);
    const headers = { "idempotency-key": freshNonce() };
    const first = await askUpload(urls(), business, { headers });
    expect(first).toMatchObject({
      status: 201,
      json: {
        upload_id: expect.stringMatching(/^bup_[0-9a-f]{24}$/),
        record_type: "products",
        content_type: "application/x-ndjson",
        max_bytes: 268_435_456,
        max_records: 100_000,
      },
    });
    const { upload_id, upload_url, expires_at } = first.json as Record<string, string>;
    expect(upload_url).toBe(`${urls().business_url}/v1/bulk-uploads/${upload_id}/file`);
    expect(Date.parse(expires_at ?? "") - Date.now()).toBeGreaterThan(3_590_000);
    expect((await askUpload(urls(), business, { headers })).text).toBe(first.text);
  });

  it("is for products only, and only for a body of its form", async () => {
    const business = await newBusiness(node);
    const ask = (body: unknown) => askUpload(urls(), business, { body: JSON.stringify(body) });
    expect(await ask({ record_type: "jobs" })).toMatchObject({ json: { code: "type_not_publishable" } });
    for (const body of [{}, { record_type: "things" }, { record_type: "products", more: 1 }, []])
      expect(await ask(body)).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  });

  it("takes a file, and says what it has taken", async () => {
    const business = await newBusiness(node);
    const upload = await newUpload(urls(), business);
    const file = fileOf(records(3));
    expect(await sendFile(upload, file)).toMatchObject({
      status: 201,
      json: { upload_id: upload.upload_id, bytes: file.length, records: 3, sha256: hashOf(file) },
    });
  });
});

describe("an import", () => {
  it("publishes every record, in order, with the state of a queued push, and removes the file", async () => {
    const business = await newBusiness(node);
    const { answer, pushId, body } = await importOf(business, [
      ...records(450),
      product("bad", { prices: 1 }),
    ]);
    expect(answer).toMatchObject({
      status: 202,
      json: {
        push_id: pushId,
        source: "bulk",
        mode: "queued",
        state: "queued",
        records: 451,
        type: "products",
      },
    });
    expect(answer.headers.get("location")).toBe(`/v1/pushes/${pushId}`);
    const report = await awaitPush(node, business, pushId);
    expect(report).toMatchObject({ state: "complete", counts: { accepted: 450, rejected: 1, pending: 0 } });
    const page = await readOver(node, business, `/v1/pushes/${pushId}?cursor=leaf-400`);
    expect(outcomesOf(page).map(({ outcome }) => outcome)).toEqual([
      ...Array(50).fill("accepted"),
      "rejected",
    ]);
    const rejected = await readOver(node, business, `/v1/pushes/${pushId}?outcome=rejected`);
    expect(rejected.json).toMatchObject({ results: [{ leaf_index: 450 }], next_cursor: null });
    await expect.poll(() => stagedOf(body)).toEqual([]);
    const { json } = await readOver(node, business, "/v1/catalogue");
    const entries = json["entries"] as readonly { readonly source: string }[];
    expect(new Set(entries.map(({ source }) => source))).toEqual(new Set(["import"]));
  });

  it("is answered with the state now when it is requested again, with any Idempotency-Key", async () => {
    const business = await newBusiness(node);
    seq += 1;
    const { body, pushId } = await stageRecords(node, business, records(3), { seq });
    const headers = { "idempotency-key": freshNonce() };
    const first = await requestImport(urls(), business, body, { headers });
    expect(first).toMatchObject({ status: 202, json: { state: "queued", progress: { settled: 0 } } });
    await awaitPush(node, business, pushId);
    for (const again of [headers, { "idempotency-key": freshNonce() }]) {
      expect(await requestImport(urls(), business, body, { headers: again })).toMatchObject({
        status: 202,
        json: { push_id: pushId, state: "complete", counts: { accepted: 3 } },
      });
    }
    const other = { ...body, upload_id: `bup_${"0".repeat(24)}` };
    expect(await requestImport(urls(), business, other, { headers })).toMatchObject({
      json: { code: "idempotency_key_reused" },
    });
  });

  it("of a file that is not exactly what the seal names is refused before any record is checked", async () => {
    const business = await newBusiness(node);
    seq += 1;
    const { body } = await stageRecords(node, business, records(3), { seq });
    const sealOver = async (of: readonly Uint8Array[]) =>
      requestImport(urls(), business, {
        ...body,
        batch_seal: (await seal(business, of, { seq })).batch_seal,
      });
    const [one, two, three] = records(3) as [Uint8Array, Uint8Array, Uint8Array];
    for (const over of [
      [one, three, two],
      [one, two, product("other")],
    ])
      expect(await sealOver(over)).toMatchObject({
        status: 422,
        json: { code: "seal_invalid", reason: "hash_mismatch" },
      });
    for (const over of [
      [one, two],
      [one, two, three, three],
    ])
      expect(await sealOver(over)).toMatchObject({
        json: { code: "seal_invalid", reason: "inclusion_invalid" },
      });
    const { json } = await send(
      urls().business_url,
      { key: business.signingKey, grant: "" },
      { path: "/v1/push-attempts", tag: "svc-business-read", headers: { "svc-sandbox-key": null } },
    );
    expect(json["attempts"]).toMatchObject(
      ["hash_mismatch", "hash_mismatch", "inclusion_invalid", "inclusion_invalid"].map((reason) => ({
        source: "bulk",
        category: "seal",
        status: "rejected",
        leaf_index: null,
        seq,
        errors: [{ code: "seal_invalid", reason }],
      })),
    );
    // Nothing was used up: the right seal under the same seq is taken.
    expect(await sealOver([one, two, three])).toMatchObject({ status: 202 });
  });

  it("of an unknown upload, of another business's, or without a file is refused by name", async () => {
    const [business, other] = [await newBusiness(node), await newBusiness(node)];
    seq += 1;
    const { batch_seal } = await seal(business, records(1), { seq });
    const theirs = await newUpload(urls(), other);
    await sendFile(theirs, fileOf(records(1)));
    for (const upload_id of [`bup_${"0".repeat(24)}`, theirs.upload_id])
      expect(await requestImport(urls(), business, { upload_id, batch_seal })).toMatchObject({
        status: 404,
        json: { code: "not_found", pointer: "/upload_id" },
      });
    const { upload_id } = await newUpload(urls(), business);
    expect(await requestImport(urls(), business, { upload_id, batch_seal })).toMatchObject({
      status: 409,
      json: { code: "upload_conflict", reason: "no_file" },
    });
    expect(await requestImport(urls(), business, { upload_id, batch_seal: {} })).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", pointer: "/batch_seal" },
    });
  });

  it("of a file that was imported under another seal is refused", async () => {
    const business = await newBusiness(node);
    const { body, pushId } = await importOf(business, records(2));
    await awaitPush(node, business, pushId);
    seq += 1;
    const { batch_seal } = await seal(business, records(2), { seq });
    await expect
      .poll(async () => (await requestImport(urls(), business, { ...body, batch_seal })).json)
      .toMatchObject({ code: "upload_conflict", reason: "imported_otherwise" });
  });

  it("that is refused for what became of its upload is an attempt, as a refused batch is", async () => {
    const business = await newBusiness(node);
    const first = await stageRecords(node, business, records(2), { seq: 1 });
    const unknown = { ...first.body, upload_id: `bup_${"0".repeat(24)}` };
    expect(await requestImport(urls(), business, unknown)).toMatchObject({ status: 404 });
    const empty = await newUpload(urls(), business);
    const early = { ...first.body, upload_id: empty.upload_id };
    expect(await requestImport(urls(), business, early)).toMatchObject({ status: 409 });
    const { attempts } = (await readOver(node, business, "/v1/push-attempts")).json as {
      readonly attempts: readonly PushAttempt[];
    };
    const batch = { status: "rejected", category: "validation", source: "bulk", records: 2, seq: 1 };
    expect(attempts).toMatchObject([
      { ...batch, push_id: first.pushId, errors: [{ code: "not_found" }] },
      { ...batch, push_id: first.pushId, errors: [{ code: "upload_conflict", reason: "no_file" }] },
    ]);
    // The id is that of the push that the seal would make; there is none yet.
    expect(await readOver(node, business, `/v1/pushes/${first.pushId}`)).toMatchObject({ status: 404 });
  });

  it("of one file under two seals at the same moment is accepted once, and the other one is charged nothing", async () => {
    const business = await newBusiness(node);
    const many = records(400);
    seq += 2;
    const one = await stageRecords(node, business, many, { seq: seq - 1 });
    const two = await seal(business, many, { seq });
    const { upload_id } = one.body;
    const answers = await Promise.all([
      requestImport(urls(), business, one.body),
      requestImport(urls(), business, { upload_id, batch_seal: two.batch_seal }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
    expect(answers.find(({ status }) => status === 409)).toMatchObject({
      json: { code: "upload_conflict", reason: "imported_otherwise" },
    });
    const accepted = answers.findIndex(({ status }) => status === 202);
    const [kept, refused] = accepted === 0 ? [one.pushId, two.push_id] : [two.push_id, one.pushId];
    expect(await awaitPush(node, business, kept)).toMatchObject({ state: "complete" });
    expect(await readOver(node, business, `/v1/pushes/${refused}`)).toMatchObject({ status: 404 });
    const key = keyRef(business.party.uuid, business.key.key_id);
    expect(await node.running.services.actors.inspect(key)).toMatchObject({
      context: { recordsThisHour: { used: 400 } },
    });
  });

  it("uses up its seq as a batch does", async () => {
    const business = await newBusiness(node);
    const { answer, pushId } = await importOf(business, records(2));
    expect(answer.status).toBe(202);
    await awaitPush(node, business, pushId);
    const { body } = await batchBody(business, records(1), { seq });
    expect(await publishOver(node, business, body)).toMatchObject({ json: { code: "seq_not_increasing" } });
  });

  it("is held as a whole when it shocks the catalogue, and the file stays until that is decided", async () => {
    const business = await newBusiness(node);
    const first = await importOf(business, records(300, priced("10.00")));
    expect(await awaitPush(node, business, first.pushId)).toMatchObject({ state: "complete" });
    const second = await importOf(business, records(300, priced("20.00")));
    expect(second.answer).toMatchObject({ status: 202, json: { state: "queued", held: false } });
    const report = await awaitPush(node, business, second.pushId);
    expect(report).toMatchObject({ state: "held", counts: { held: 300 } });
    expect(report.held_reasons.map(({ code, count, of }) => [code, count, of])).toEqual([
      ["price_changes", 300, 300],
      ["price_jump", 300, 300],
    ]);
    expect(report.held_reasons[0]?.largest).toHaveLength(10);
    expect(await stagedOf(second.body)).toHaveLength(1);
    expect(await decideOver(node, business, second.pushId, "confirm")).toMatchObject({ status: 200 });
    expect(await awaitPush(node, business, second.pushId)).toMatchObject({ state: "complete" });
    await expect.poll(() => stagedOf(second.body), { timeout: 60_000 }).toEqual([]);
  });

  it("keeps no other push of the business waiting, and counts in nobody's comparison", async () => {
    const business = await newBusiness(node);
    const first = await importOf(business, records(300, priced("10.00")));
    await awaitPush(node, business, first.pushId);
    const second = await importOf(business, records(300, priced("20.00")));
    seq += 1;
    const { body } = await batchBody(business, [product("extra", priced("5.00"))], { seq });
    expect(await publishOver(node, business, body)).toMatchObject({ status: 200, json: { held: false } });
    expect(await awaitPush(node, business, second.pushId)).toMatchObject({ state: "held" });
  });
});
