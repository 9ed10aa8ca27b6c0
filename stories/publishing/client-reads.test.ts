// What the client reads of holds, analytics and events, and what it hands in about a hold, on a node.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeReceiptBatches } from "../../actors/region/activities.ts";
import { newCaller, productSearch } from "../../api/surfaces.fixture.ts";
import { type Business, createBusiness } from "../../client/business.ts";
import { createSvcClient, type SvcClient } from "../../client/service-client.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { confirmation, heldPush, priced, rejection } from "./hold-decisions.fixture.ts";
import type { TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const clientOf = ({ signingKey: key }: Pick<TestBusiness, "signingKey">): Business =>
  createBusiness({ businessUrl: node.running.urls.business_url, key });

async function listed(client: Business): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { push_id } of client.holds()) found.push(push_id);
  return found;
}

describe("the client", () => {
  it("lists what is held, and hands in decisions that end it", async () => {
    const held = await heldPush(node);
    const { business, pushId: push_id } = held;
    const client = clientOf(business);
    const second = await batchBody(business, [priced("item-4", "77.00")], { seq: 3 });
    await publishOver(node, business, second.body);
    await awaitPush(node, business, second.pushId);
    const page = await client.client.holdsPage();
    expect(page).toMatchObject({ status: 200, body: { next_cursor: null } });
    expect(page.body.holds).toMatchObject([
      {
        push_id,
        seq: 2,
        records: 1,
        hold_expires_at: expect.stringMatching(/Z$/),
        held_reasons: [{ largest: [{ business_product_id: "item-3", after: { amount: "99.00" } }] }],
      },
      { push_id: second.pushId, seq: 3 },
    ]);
    expect(await listed(client)).toEqual([push_id, second.pushId]);
    expect((await client.client.holdsPage({ cursor: "hold-1000000" })).body.holds).toEqual([]);
    expect(await client.decideHold(push_id, await confirmation(held))).toMatchObject({ error: null });
    const rejected = await client.decideHold(
      second.pushId,
      await rejection({ ...held, pushId: second.pushId }),
    );
    expect(rejected).toMatchObject({ state: "failed", error: { code: "hold_rejected" } });
    expect(await listed(client)).toEqual([]);
    await expect(client.decideHold(push_id, await rejection(held))).rejects.toMatchObject({
      status: 409,
      code: "push_not_held",
    });
  });

  it("lists holds of several pages once each, in their order", async () => {
    const held = await heldPush(node);
    const pushes = [held.pushId];
    for (let seq = 3; seq < 25; seq += 1) {
      const { body, pushId } = await batchBody(held.business, [priced("item-3", `${seq}00.00`)], { seq });
      await publishOver(node, held.business, body);
      pushes.push(pushId);
    }
    for (const pushId of pushes) await awaitPush(node, held.business, pushId);
    expect(await listed(clientOf(held.business))).toEqual(pushes);
  });

  it("reads no demand once nothing of a catalogue is live", async () => {
    const business = await newBusiness(node);
    const client = clientOf(business);
    const { body } = await batchBody(business, [priced("only", "5.00")], { seq: 1 });
    await publishOver(node, business, body);
    const demand = () => client.demand({ country: "US", type: "products" });
    expect(await demand()).toMatchObject({ subjects: [] });
    await client.withdraw((await client.record("only")).record_id);
    await expect(demand()).rejects.toMatchObject({ status: 404, code: "not_found" });
  });

  it("reads the analytics of a business, and the events of the company that asked", async () => {
    const { services, urls } = node.running;
    const business = await newBusiness(node);
    const client = clientOf(business);
    const today = formatTimestamp(Date.now()).slice(0, 10);
    await expect(client.demand({ country: "US", type: "products" })).rejects.toMatchObject({
      status: 404,
      code: "not_found",
    });
    await publishOver(node, business, (await batchBody(business, [priced("one", "5.00")], { seq: 1 })).body);
    const { key, grant } = await newCaller(services.keys.grant, "retrieval", randomUUID());
    const company: SvcClient = createSvcClient({
      fetch,
      key,
      grant,
      baseUrl: urls.base_url,
      businessUrl: null,
      verifyUrl: null,
    });
    const { record_id } = await client.record("one");
    const { body: found } = await company.search({
      collection: "products",
      ...productSearch,
      client_query_id: "mine",
    });
    expect(found.rows.length).toBeGreaterThan(0);
    await company.fetchRecord(record_id);
    await expect
      .poll(async () => {
        await services.insight.flush();
        return (await client.dailyAnalytics({ type: "products" })).totals.fetches;
      })
      .toBe(1);
    expect(await client.dailyAnalytics({ to: today })).toMatchObject({ to: today, figures: [] });
    expect(await client.whoIsAsking()).toMatchObject({ companies: [{ fetches: 1 }] });
    expect(await client.demand({ country: "US", type: "products" })).toMatchObject({
      country: "US",
      type: "products",
      subjects: [],
    });
    // The minute is closed, as the region does it a while later.
    const { receipts, eventStore: events, config } = services;
    const ports = { receipts, events, sha256: nativeCrypto.sha256, append: async () => {} };
    await closeReceiptBatches(ports, config.region, Date.now() + 120_000);
    expect((await company.eventsPage()).body.events).toHaveLength(2);
    const { body: first } = await company.eventsPage({ limit: 1 });
    expect(first.events).toHaveLength(1);
    const { body: rest } = await company.eventsPage({ after: first.next_cursor ?? "" });
    expect([...first.events, ...rest.events].map((each) => [each.type, each.client_query_id]).sort()).toEqual(
      [
        ["fetch", null],
        ["search", "mine"],
      ],
    );
    expect((await company.eventsPage({ after: rest.next_cursor ?? "" })).body.events).toEqual([]);
    expect((await company.chooseListing({ listed: true })).body).toMatchObject({ listed: true });
  });
});
