import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { publishBody } from "../../client/batch.ts";
import { utf8 } from "../../protocol/bytes.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealAndPublish,
  type TestBusiness,
} from "./publishing.fixture.ts";

let node: PublishingNode;
let business: TestBusiness;
let seq = 0;

beforeAll(async () => {
  node = await openPublishingNode();
  business = await openBusiness(node.services);
});

afterAll(() => node.close());

const push = (records: readonly Uint8Array[], changes: Parameters<typeof seal>[2] = {}) => {
  seq += 1;
  return sealAndPublish(node.services, business, records, { seq, ...changes });
};

const served = (id: string) =>
  node.services.records.readServed(node.services.recordIdOf(business.party.uuid, "products", id));

const found = async (): Promise<string[]> => {
  const hits = await node.services.index.search({
    collection: "products",
    country: "US",
    clauses: [],
    sort: [{ field: "published_at", direction: "asc" }],
    limit: 50,
    excludeBusinesses: [],
  });
  return hits.map((hit) => hit.record_id);
};

const awaitPush = (pushId: string) =>
  node.services.actors.ask(
    pushRef(business.party.uuid, pushId),
    { type: "push.await" },
    { timeoutMs: 60_000 },
  );

describe("inline pushes", () => {
  it("publish, are served with exact bytes, and are found", async () => {
    const bytes = product("inline-1");
    const answer = jsonOf(await push([bytes]));
    expect(answer).toMatchObject({
      status: 200,
      held: false,
      seq,
      results: [{ leaf_index: 0, outcome: "accepted", version: 1, errors: [] }],
    });
    const record = await served("inline-1");
    expect(record?.version.bytes).toEqual(bytes);
    expect(record?.seal.tree_size).toBe(1);
    expect(await found()).toContain(record?.head.record_id);
  });

  it("update a live record, and reject faulty ones with every fault at once", async () => {
    const faulty = product("inline-2", {
      prices: [{ country: "US", currency: "USD", amount: 9.99 }],
      brand: undefined,
      extra: 1,
    });
    const answer = jsonOf(
      await push([
        product("inline-1", { product_name: "Trail Runner 4" }),
        faulty,
        product("inline-1"),
        utf8("{"),
        utf8('{"a":1,"a":2}'),
      ]),
    );
    const results = answer["results"] as { outcome: string; errors: { code: string; pointer: string }[] }[];
    expect(results.map((result) => result.outcome)).toEqual([
      "updated",
      "rejected",
      "rejected",
      "rejected",
      "rejected",
    ]);
    expect(results[1]?.errors.map((error) => error.code)).toEqual(
      expect.arrayContaining(["money_not_string", "member_missing", "member_unknown"]),
    );
    expect(results[1]?.errors).toContainEqual(
      expect.objectContaining({ code: "money_not_string", pointer: "/prices/0/amount" }),
    );
    expect(results[2]?.errors[0]?.code).toBe("duplicate_in_batch");
    expect(results[3]?.errors[0]?.code).toBe("json_malformed");
    expect(results[4]?.errors[0]?.code).toBe("member_duplicated");
    expect((await served("inline-1"))?.version.generation).toBe(2);
  });
});

describe("a push whose process stood still after it was staged", () => {
  it("is not accepted any more, and is published when it is sent again", async () => {
    seq += 1;
    const records = [product("stood-still")];
    const { batch_seal } = await seal(business, records, { seq });
    const body = publishBody(batch_seal, records);
    let stoodStillMs = 0;
    const { services } = node;
    const standing = {
      ...services,
      // The actor that is asked to accept has seen time pass, so the request's own instant must be the early one.
      acceptWithinMs: -1,
      clock: { now: () => Date.now() + stoodStillMs },
      leaves: {
        ...services.leaves,
        put: (...args: Parameters<typeof services.leaves.put>) => {
          stoodStillMs = 7_200_000;
          services.leaves.put(...args);
        },
      },
    };
    await expect(publish(standing, business, body)).rejects.toMatchObject({ effect: "not_applied" });
    expect(await served("stood-still")).toBeNull();
    expect(jsonOf(await publish(services, business, body))).toMatchObject({
      status: 200,
      results: [{ outcome: "accepted" }],
    });
  });
});

describe("queued pushes", () => {
  it("answer 202 with PushStatus, complete, and are published once however often they are resent", async () => {
    seq += 1;
    const records = Array.from({ length: 450 }, (_, index) => product(`queued-${index}`));
    const batch = await seal(business, records, { seq });
    const body = publishBody(batch.batch_seal, records);
    const [first, second] = await Promise.all([
      publish(node.services, business, body),
      publish(node.services, business, body),
    ]);
    for (const outcome of [first, second]) {
      expect(outcome).toMatchObject({
        kind: "answer",
        status: 202,
        headers: { location: `/v1/pushes/${batch.push_id}` },
      });
      expect(jsonOf(outcome)).toMatchObject({
        push_id: batch.push_id,
        batch_id: batch.push_id,
        records: 450,
        mode: "queued",
        source: "api",
      });
    }
    const report = await awaitPush(batch.push_id);
    expect(report).toMatchObject({ state: "complete", counts: { accepted: 450, rejected: 0 } });
    expect(jsonOf(await publish(node.services, business, body))).toMatchObject({
      status: 202,
      state: "complete",
    });
    expect((await served("queued-449"))?.version).toMatchObject({ generation: 1, leaf_index: 449 });
  });

  it("go on by themselves after a restart", async () => {
    seq += 1;
    const records = Array.from({ length: 600 }, (_, index) => product(`restart-${index}`));
    const batch = await seal(business, records, { seq });
    expect(
      jsonOf(await publish(node.services, business, publishBody(batch.batch_seal, records))),
    ).toMatchObject({ status: 202 });
    await node.restart();
    expect(await awaitPush(batch.push_id)).toMatchObject({ state: "complete", counts: { accepted: 600 } });
    expect((await served("restart-599"))?.version.generation).toBe(1);
  });
});

describe("refusals, in the specification's order", () => {
  const code = async (records: readonly Uint8Array[], changes: Parameters<typeof seal>[2]) =>
    jsonOf(await push(records, changes));

  it("seal_invalid for another certificate, AI policy version or moment", async () => {
    expect(await code([product("r")], { certId: `sha256:${"0".repeat(64)}` })).toMatchObject({
      status: 422,
      code: "seal_invalid",
      reason: "certificate_unknown",
    });
    expect(await code([product("r")], { aiPolicyVersion: 3 })).toMatchObject({
      code: "seal_invalid",
      ai_policy_version: 0,
    });
    expect(await code([product("r")], { sealedAtMs: Date.now() - 301_000 })).toMatchObject({
      code: "seal_invalid",
      reason: "sealed_at_skew",
    });
    expect(await code([product("r")], { sealedAtMs: Date.now() + 301_000 })).toMatchObject({
      code: "seal_invalid",
      reason: "sealed_at_skew",
    });
    expect(await code([product("r")], { recordType: "events" })).toMatchObject({
      code: "seal_invalid",
      reason: "record_type_mismatch",
    });
  });

  it("seal_invalid for a flipped bit, another order, a record less", async () => {
    seq += 1;
    const records = [product("a"), product("b")];
    const batch = await seal(business, records, { seq });
    const send = async (list: readonly Uint8Array[]) =>
      jsonOf(await publish(node.services, business, publishBody(batch.batch_seal, list)));
    const flipped = new Uint8Array(records[0] as Uint8Array);
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    expect(await send([flipped, records[1] as Uint8Array])).toMatchObject({
      code: "seal_invalid",
      reason: "hash_mismatch",
    });
    expect(await send([...records].reverse())).toMatchObject({
      code: "seal_invalid",
      reason: "hash_mismatch",
    });
    expect(await send(records.slice(1))).toMatchObject({ code: "seal_invalid", reason: "inclusion_invalid" });
    expect(await send(records)).toMatchObject({ status: 200 });
  });

  it("seq_not_increasing for another batch under a used seq", async () => {
    expect(await code([product("other")], { seq: 1 })).toMatchObject({
      status: 409,
      code: "seq_not_increasing",
      last_seq: expect.any(Number),
    });
  });

  it("request_invalid for a body that is none, with a pointer", async () => {
    const send = async (text: string) => jsonOf(await publish(node.services, business, utf8(text)));
    expect(await send("{")).toMatchObject({ status: 400, code: "request_invalid" });
    expect(await send('{"records":[],"record":1}')).toMatchObject({
      code: "request_invalid",
      pointer: "/record",
      suggestion: "records",
    });
    expect(await send('{"batch_seal":{},"batch_seal":{}}')).toMatchObject({ code: "request_invalid" });
    expect(await send(`${"[".repeat(10_000)}${"]".repeat(10_000)}`)).toMatchObject({
      code: "request_invalid",
    });
  });

  it("type_not_publishable for other types, request_invalid without an Idempotency-Key", async () => {
    const body = utf8("{}");
    expect(jsonOf(await publish(node.services, business, body, { collection: "events" }))).toMatchObject({
      status: 422,
      code: "type_not_publishable",
    });
    expect(jsonOf(await publish(node.services, business, body, { idempotencyKey: null }))).toMatchObject({
      status: 400,
      code: "request_invalid",
    });
  });

  it("idempotency_key_reused for another request under the same key; a replay for the same", async () => {
    seq += 1;
    const records = [product("idem")];
    const batch = await seal(business, records, { seq });
    const body = publishBody(batch.batch_seal, records);
    const first = await publish(node.services, business, body, { idempotencyKey: "mine" });
    const replay = await publish(node.services, business, body, { idempotencyKey: "mine" });
    expect(replay).toEqual(first);
    expect(
      jsonOf(await publish(node.services, business, utf8("{}"), { idempotencyKey: "mine" })),
    ).toMatchObject({ status: 422, code: "idempotency_key_reused" });
  });
});

describe("a business that is not verified any more", () => {
  it("is told so before anything is said of its batch, and after its mandate was looked at", async () => {
    const { services } = node;
    const uuid = "00000000-0000-4000-8000-000000000002";
    const closed = await openBusiness(services, uuid);
    await services.parties.issueCertificate({
      uuid,
      kind: "business",
      legal_name: "Diamonds Ltd",
      country: "GB",
      verified_since: closed.key.valid_from,
      status: "closed",
      status_effective_from: new Date().toISOString(),
      status_reason: "business_closed",
    });
    const records = [product("closed-1")];
    const { batch_seal } = await seal(closed, records);
    for (const body of [
      publishBody(batch_seal, records),
      publishBody({ ...batch_seal, signatures: [] }, records),
      utf8("{"),
    ]) {
      expect(jsonOf(await publish(services, closed, body))).toMatchObject({
        status: 403,
        code: "business_not_verified",
      });
    }
    const { mandates } = await services.parties.facts(uuid, closed.key.key_id);
    for (const { mandate_id } of mandates) {
      const command = { type: "mandate.revoke", mandate_id, revoked_at: new Date().toISOString() } as const;
      await services.actors.ask(businessRef(uuid), command);
    }
    expect(jsonOf(await publish(services, closed, utf8("{")))).toMatchObject({ code: "mandate_missing" });
  });
});
