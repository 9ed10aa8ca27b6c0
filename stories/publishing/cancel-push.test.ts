// POST /v1/pushes/{push_id}/cancel over HTTP.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { type ReceivedAnswer, send } from "../../api/surfaces.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import type { PushAttempt } from "../../protocol/wire/catalogue.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  publishOver,
  readOver,
  successorOf,
} from "../retrieval/attack.fixture.ts";
import { decideOver } from "./hold-decisions.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
let seq = 0;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const priced = (id: string, amount = "10.00"): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

async function push(business: TestBusiness, records: readonly Uint8Array[]) {
  seq += 1;
  const { body, pushId } = await batchBody(business, records, { seq });
  return { answer: await publishOver(node, business, body), body, pushId };
}

/** A push that is held, of a business with 20 listings. */
async function heldPush() {
  const business = await newBusiness(node);
  await push(
    business,
    Array.from({ length: 20 }, (_, index) => priced(`item-${index}`)),
  );
  const held = await push(business, [priced("item-0", "99.00")]);
  expect(held.answer.json).toMatchObject({ held: true });
  return { business, ...held };
}

function cancel(by: Pick<TestBusiness, "signingKey">, pushId: string): Promise<ReceivedAnswer> {
  return send(
    node.running.urls.business_url,
    { key: by.signingKey, grant: "" },
    {
      path: `/v1/pushes/${pushId}/cancel`,
      method: "POST",
      tag: "svc-push",
      headers: { "svc-sandbox-key": null },
    },
  );
}

const staged = async (business: TestBusiness, pushId: string) => {
  const { records } = node.running.services;
  return records.loadLeaves(pushRef(business.party.uuid, pushId).id, 0, 1);
};

const versionOf = async (business: TestBusiness, id: string) => {
  const { records, recordIdOf } = node.running.services;
  return (await records.readHead(recordIdOf(business.party.uuid, "products", id)))?.generation ?? 0;
};

describe("a held push", () => {
  it("that an operator cancels is told so to its business, with who and why in the journal alone", async () => {
    const { business, pushId } = await heldPush();
    const { urls, config } = node.running;
    const actor = pushRef(business.party.uuid, pushId);
    const token = (await readFile(join(config.home, "ops-token"), "utf8")).trim();
    const asked = { expected: { status: "active", states: ["held"] }, reason: "Ticket 7." };
    const answer = await contractFetch(`${urls.ops_url}/ops/actors/push/${actor.id}/cancel`, {
      method: "POST",
      headers: { authorization: signedIn(token, "Olga"), "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    expect(await answer.json()).toEqual({ outcome: "cancelled" });
    const detail = "An operator of the service cancelled the push before anything of it was published.";
    await vi.waitFor(async () => {
      const { json, text } = await readOver(node, business, `/v1/pushes/${pushId}`);
      expect(json).toMatchObject({ state: "failed", error: { code: "cancelled", detail } });
      expect(text).not.toMatch(/Olga|Ticket 7/);
    });
    const read = async (path: string) => (await contractFetch(`${urls.ops_url}${path}`)).json();
    expect((await read(`/ops/actors/push/${actor.id}`)).waits[0].words).toContain(detail);
    const { lastEvents } = await read(`/ops/actors/business/${business.party.uuid}`);
    const act = { by: "Olga", reason: "Ticket 7." };
    expect(lastEvents).toContainEqual({ type: "push.cancelled", push_id: pushId, act });
  });

  it("is cancelled, again and again with the same answer, and nothing of it is ever published", async () => {
    const { business, pushId, body } = await heldPush();
    const first = await cancel(business, pushId);
    expect(first).toMatchObject({
      status: 200,
      json: { state: "failed", held: false, error: { code: "cancelled" }, counts: { rejected: 1, held: 0 } },
    });
    const again = await cancel(business, pushId);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(await decideOver(node, business, pushId, "confirm")).toMatchObject({
      status: 409,
      json: { code: "push_not_held", reason: "cancelled" },
    });
    expect((await publishOver(node, business, body)).json).toMatchObject({
      results: [{ outcome: "rejected", errors: [{ code: "cancelled" }] }],
    });
    expect(await versionOf(business, "item-0")).toBe(1);
    await expect.poll(() => staged(business, pushId)).toEqual([]);
    const report = await node.running.services.actors.inspect(businessRef(business.party.uuid));
    expect(report?.context).toMatchObject({ pending: [], held: [] });
  });

  it("has its attempts held, and then as its hold ended: nobody's fault, or published", async () => {
    const attempts = async (business: TestBusiness, pushId: string) => {
      const { json } = await readOver(node, business, "/v1/push-attempts");
      const all = json["attempts"] as readonly PushAttempt[];
      return all
        .filter(({ push_id }) => push_id === pushId)
        .map(({ status, category, errors, version }) => [status, category, errors[0]?.code, version]);
    };
    const [first, second] = [await heldPush(), await heldPush()];
    for (const { business, pushId } of [first, second])
      expect(await attempts(business, pushId)).toEqual([["held", null, undefined, null]]);
    await cancel(first.business, first.pushId);
    expect(await attempts(first.business, first.pushId)).toEqual([["rejected", null, "cancelled", null]]);
    expect((await decideOver(node, second.business, second.pushId, "confirm")).status).toBe(200);
    await awaitPush(node, second.business, second.pushId);
    expect(await attempts(second.business, second.pushId)).toEqual([["updated", null, undefined, 2]]);
  });

  it("is cancelled under another key of the business as well, and not without a mandate", async () => {
    const { business, pushId } = await heldPush();
    const other = await successorOf(node, business);
    await giveMandate(node, business, { scope: { source_ip_allow_list: ["192.0.2.1/32"] } });
    expect(await cancel(business, pushId)).toMatchObject({
      status: 403,
      json: { code: "source_not_allowed" },
    });
    expect(await cancel(other, pushId)).toMatchObject({ status: 200, json: { state: "failed" } });
  });

  it("is judged by the address first, so that from elsewhere nobody learns which pushes exist, and by its type last", async () => {
    const { business, pushId } = await heldPush();
    const unknown = `bat_${"0".repeat(24)}`;
    const fromMs = Date.now();
    await giveMandate(node, business, { fromMs, scope: { source_ip_allow_list: ["192.0.2.1/32"] } });
    for (const id of [pushId, unknown])
      expect(await cancel(business, id)).toMatchObject({ status: 403, json: { code: "source_not_allowed" } });
    await giveMandate(node, business, { fromMs: fromMs + 1, scope: { record_types: ["events"] } });
    expect(await cancel(business, pushId)).toMatchObject({ status: 403, json: { code: "out_of_scope" } });
    expect(await cancel(business, unknown)).toMatchObject({ status: 404, json: { code: "not_found" } });
    expect((await readOver(node, business, `/v1/pushes/${pushId}`)).json).toMatchObject({ state: "held" });
  });

  it("of another business does not exist, nor one that was never accepted", async () => {
    const { business, pushId } = await heldPush();
    expect(await cancel(await newBusiness(node), pushId)).toMatchObject({ status: 404 });
    expect(await cancel(business, `bat_${"0".repeat(24)}`)).toMatchObject({ status: 404 });
    expect(await cancel(business, "bat_1")).toMatchObject({ status: 404 });
    expect((await readOver(node, business, `/v1/pushes/${pushId}`)).json).toMatchObject({ state: "held" });
  });

  it("that was confirmed is published and cannot be cancelled", async () => {
    const { business, pushId } = await heldPush();
    expect((await decideOver(node, business, pushId, "confirm")).status).toBe(200);
    await expect.poll(() => versionOf(business, "item-0")).toBe(2);
    expect(await cancel(business, pushId)).toMatchObject({
      status: 409,
      json: { code: "push_not_cancellable" },
    });
  });
});

describe("a queued push", () => {
  it("is either cancelled whole or published whole, however the two meet", async () => {
    const business = await newBusiness(node);
    const ends: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const ids = Array.from({ length: 51 }, (_, index) => `round-${round}-${index}`);
      seq += 1;
      const { body, pushId } = await batchBody(
        business,
        ids.map((id) => product(id)),
        { seq },
      );
      const publishing = publishOver(node, business, body);
      let answer = await cancel(business, pushId);
      for (let tries = 0; answer.status === 404 && tries < 100; tries += 1)
        answer = await cancel(business, pushId);
      expect((await publishing).status).toBe(202);
      const report = await awaitPush(node, business, pushId);
      const versions = await Promise.all(ids.map((id) => versionOf(business, id)));
      ends.push(report.state);
      if (answer.status === 200) {
        expect([report.state, report.error?.code, Math.max(...versions)]).toEqual(["failed", "cancelled", 0]);
      } else {
        expect([answer.status, report.state, Math.min(...versions)]).toEqual([409, "complete", 1]);
      }
    }
    // Which of the two wins is a matter of luck; each round ends one way or the other.
    expect(new Set([...ends, "complete", "failed"]).size).toBe(2);
  });
});
