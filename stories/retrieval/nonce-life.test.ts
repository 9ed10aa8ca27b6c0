// How long a nonce is held, over HTTP at a whole node whose clock the test controls (specification, «Authentication», check
// 7).

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { freshNonce, newCaller, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { type AttackNode, openAttackNode } from "./attack.fixture.ts";

let node: AttackNode;
let caller: TestCaller;
let skippedMs = 0;
const now = (): number => Date.now() + skippedMs;

beforeAll(async () => {
  vi.stubEnv("SVC_SAMPLES", "no");
  node = await openAttackNode({ clock: { now } });
  const uuid = "10000000-0000-4000-8000-000000000001";
  caller = await newCaller(node.running.services.keys.grant, "retrieval", uuid);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await node.close();
});

/** Signed now, valid for a minute unless set otherwise. */
const fetchWith = (nonce: string, created: number, lifetimeSeconds = 60) =>
  send(node.running.urls.base_url, caller, {
    path: `/v1/records/svc_${"a".repeat(26)}`,
    nonce,
    created,
    lifetimeSeconds,
  });

it("a nonce is free once its signature has expired, and not before", async () => {
  const nonce = freshNonce();
  const created = Math.floor(now() / 1_000);
  const expiresMs = (created + 60) * 1_000;
  expect((await fetchWith(nonce, created)).status).toBe(404);
  skippedMs += expiresMs - 10_000 - now();
  const early = await fetchWith(nonce, created + 50);
  expect(early).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
  skippedMs += expiresMs - now();
  const replay = await fetchWith(nonce, created);
  expect(replay).toMatchObject({ status: 401, json: { code: "signature_expired" } });
  expect((await fetchWith(nonce, created + 60)).status).toBe(404);
  const again = await fetchWith(nonce, created + 60, 61);
  expect(again).toMatchObject({ status: 401, json: { code: "nonce_reused" } });
});
