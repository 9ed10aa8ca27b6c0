// Background processing that is switched off: up to 500 records are processed in the request, larger batches wait.

import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import { publishBody } from "../../client/batch.ts";
import { cancelPush } from "../../service/publishing/decide-hold.ts";
import { validateBatch } from "../../service/publishing/validate-batch.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";
import type { NodeServices } from "../composition/services.ts";
import { chunksWaitingMax, createBackground } from "./config.ts";

let node: PublishingNode | null = null;
afterEach(async () => {
  await node?.close();
  node = null;
});

async function batchOf(business: TestBusiness, count: number, seq: number) {
  const records = Array.from({ length: count }, (_, index) => product(`${seq}-${index}`));
  const batch = await seal(business, records, { seq });
  return { pushId: batch.push_id, body: publishBody(batch.batch_seal, records) };
}

const statusOf = (services: NodeServices, business: TestBusiness, pushId: string) =>
  services.actors.ask(pushRef(business.party.uuid, pushId), {
    type: "push.status",
    outcome: null,
    from_leaf: 0,
    limit: 1,
  } as const);

const unavailable = {
  status: 503,
  code: "unavailable",
  reason: "background_unavailable",
  retry_after_seconds: 60,
};

describe("while background processing is switched off", () => {
  it("up to 500 records are processed in the request, and more are accepted, refused and wait", async () => {
    node = await openPublishingNode({ SVC_BACKGROUND: "off" });
    const { services } = node;
    const business = await openBusiness(services);
    const small = await batchOf(business, 500, 1);
    const answer = jsonOf(await publish(services, business, small.body));
    expect(answer).toMatchObject({ status: 200, held: false });
    expect(answer["results"]).toHaveLength(500);
    expect(new Set((answer["results"] as { outcome: string }[]).map(({ outcome }) => outcome))).toEqual(
      new Set(["accepted"]),
    );
    const large = await batchOf(business, 501, 2);
    const refused = await publish(services, business, large.body);
    expect(jsonOf(refused)).toMatchObject(unavailable);
    expect(refused.headers["retry-after"]).toBe("60");
    expect(await statusOf(services, business, large.pushId)).toMatchObject({ state: "queued", settled: 0 });
    // Sent again, it is refused again, and charged once.
    expect(jsonOf(await publish(services, business, large.body))).toMatchObject(unavailable);
    expect(jsonOf(await publish(services, business, (await batchOf(business, 501, 2)).body))).toMatchObject({
      status: 409,
    });
    const again = jsonOf(await publish(services, business, small.body));
    expect(again).toMatchObject({ status: 200, results: expect.arrayContaining([]) });
    expect(again["results"]).toEqual(answer["results"]);
  });

  it("a push that waits is cancelled whole, and publishes nothing once it is on again", async () => {
    node = await openPublishingNode({ SVC_BACKGROUND: "off" });
    const business = await openBusiness(node.services);
    const { pushId, body } = await batchOf(business, 501, 1);
    await publish(node.services, business, body);
    const caller = {
      key: business.key,
      party: business.party,
      nonce: "n",
      expiresMs: Date.now() + 60_000,
      requestHash: "",
      tag: "svc-push" as const,
    };
    const cancelled = await cancelPush(node.services, { caller, pushId, sourceIp: "127.0.0.1" });
    expect(jsonOf(cancelled)).toMatchObject({
      status: 200,
      state: "failed",
      error: { code: "cancelled" },
      counts: { rejected: 501, pending: 0 },
    });
    const stagedIs = () => node?.services.records.loadLeaves(pushRef(business.party.uuid, pushId).id, 0, 1);
    await expect.poll(stagedIs).toEqual([]);
    expect(jsonOf(await publish(node.services, business, body))).toMatchObject({
      status: 202,
      state: "failed",
    });
    const page = await node.services.records.listCatalogue(business.party.uuid, null, 10);
    expect(page.heads).toEqual([]);
  });

  it("a validation says that the batch would be processed in the request", async () => {
    node = await openPublishingNode({ SVC_BACKGROUND: "off" });
    const business = await openBusiness(node.services, randomUUID());
    const { body } = await batchOf(business, 51, 1);
    const caller = {
      key: business.key,
      party: business.party,
      nonce: "n",
      expiresMs: Date.now() + 60_000,
      requestHash: "",
      tag: "svc-push" as const,
    };
    const request = { caller, collection: "products", idempotencyKey: "k", contentDigest: "", body };
    const validated = await validateBatch(node.services, { ...request, sourceIp: "127.0.0.1" });
    expect(jsonOf(validated)).toMatchObject({ status: 200, mode: "inline" });
  });
});

it("a batch that was refused for it continues when it is sent again, once it is on", async () => {
  node = await openPublishingNode();
  const { services } = node;
  const business = await openBusiness(services);
  const { pushId, body } = await batchOf(business, 501, 1);
  const off = { ...services, background: { isOn: false, isAvailable: () => false } };
  expect(jsonOf(await publish(off, business, body))).toMatchObject(unavailable);
  const resumed = jsonOf(await publish(services, business, body));
  expect(resumed).toMatchObject({ status: 202, push_id: pushId, mode: "queued" });
  await services.actors.ask(pushRef(business.party.uuid, pushId), { type: "push.await" });
  expect(await statusOf(services, business, pushId)).toMatchObject({ counts: { accepted: 501 } });
  // What is settled is only reported, whatever is available then.
  expect(jsonOf(await publish(off, business, body))).toMatchObject({ status: 202, records: 501 });
});

it("is unavailable while it is off, or more chunks wait than anybody should wait for", () => {
  const at = (isOn: boolean, activitiesWaiting: number) =>
    createBackground(isOn, () => ({ activitiesWaiting })).isAvailable();
  expect([at(true, 0), at(true, chunksWaitingMax), at(true, chunksWaitingMax + 1), at(false, 0)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
