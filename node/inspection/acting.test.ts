// Acts of operators at a running node.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { product, type TestBusiness } from "../../stories/publishing/publishing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../../stories/retrieval/attack.fixture.ts";

type Json = ReturnType<typeof JSON.parse>;

let node: AttackNode;
let business: TestBusiness;
let drained = 0;
let push = "";
const noteDrain = (): void => {
  drained += 1;
};

beforeAll(async () => {
  node = await openAttackNode({ drain: noteDrain });
  business = await newBusiness(node);
  const { body, pushId } = await batchBody(business, [product("one")], { seq: 1 });
  await publishOver(node, business, body);
  await awaitPush(node, business, pushId);
  push = `/ops/actors/push/${business.party.uuid}.${pushId}`;
});
afterAll(() => node.close());

async function read(path: string): Promise<Json> {
  return (await contractFetch(`${node.running.urls.ops_url}${path}`)).json();
}

async function act(path: string, expected: object): Promise<readonly unknown[]> {
  const token = (await readFile(`${node.running.config.home}/ops-token`, "utf8")).trim();
  const response = await contractFetch(`${node.running.urls.ops_url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: signedIn(token) },
    body: JSON.stringify({ expected, reason: "A test." }),
  });
  const { outcome, code, reason } = (await response.json()) as Json;
  return [response.status, outcome ?? code, ...(reason === undefined ? [] : [reason])];
}

describe("an operator", () => {
  it("lets an actor leave memory only if it is as it was seen", async () => {
    const { head, states, status } = await read(push);
    expect(status).toBe("active");
    expect(await act(`${push}/passivate`, { status: "passive" })).toEqual([409, "state_changed"]);
    expect(await act(`${push}/passivate`, { status, states: ["held"] })).toEqual([409, "state_changed"]);
    expect(await act(`${push}/passivate`, { status, head: head + 1_000 })).toEqual([409, "state_changed"]);
    expect((await read(push)).status).toBe("active");
    expect(await act(`${push}/passivate`, { status, states })).toEqual([200, "leaving"]);
    await expect.poll(async () => (await read(push)).status, { timeout: 20_000 }).toBe("passive");
    // It is as it was, from the store.
    expect(await read(push)).toMatchObject({ states, place: { at: "here" } });
  });

  it("retries what is in memory, and is told what nothing can be done about", async () => {
    const { uuid } = business.party;
    await node.running.services.actors.ask(businessRef(uuid), { type: "acts.read", after: 0, limit: 1 });
    expect(await act(`/ops/actors/business/${uuid}/retry`, { status: "active" })).toEqual([200, "retried"]);
    expect(await act(`${push}/retry`, { status: "passive" })).toEqual([
      400,
      "request_invalid",
      "not_possible",
    ]);
    expect(await act(`${push}/release`, { status: "passive" })).toEqual([
      400,
      "request_invalid",
      "not_possible",
    ]);
    expect(await act(`${push}/cancel`, { status: "passive" })).toEqual([
      400,
      "request_invalid",
      "not_possible",
    ]);
    const cancelled = await act(`/ops/actors/business/${uuid}/cancel`, { status: "active" });
    expect(cancelled).toEqual([400, "request_invalid", "not_possible"]);
    expect(await act("/ops/actors/push/x.y/retry", { status: "passive" })).toEqual([404, "not_found"]);
  });

  it("drains a node that is in the state that was seen", async () => {
    const path = `/ops/nodes/${node.running.services.incarnation}/drain`;
    expect(await act(path, { state: "active" })).toEqual([409, "state_changed"]);
    expect(await act("/ops/nodes/nothing/drain", { state: "standalone" })).toEqual([404, "not_found"]);
    expect(drained).toBe(0);
    expect(await act(path, { state: "standalone" })).toEqual([200, "draining"]);
    expect(drained).toBe(1);
  });
});
