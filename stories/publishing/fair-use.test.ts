// Fair use as a business's system meets it.

import { afterAll, beforeAll, expect, it } from "vitest";
import { repeatsPerDay } from "../../actors/business/admit.ts";
import { publishBody } from "../../client/batch.ts";
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
let nowMs = Date.UTC(2026, 0, 1, 23, 50);

beforeAll(async () => {
  node = await openPublishingNode({}, { clock: { now: () => nowMs } });
  business = await openBusiness(node.services);
});

afterAll(() => node.close());

it("the same records are refused until the next day once they were published often enough, and are taken then", async () => {
  const records = [product("same")];
  for (let seq = 1; seq <= repeatsPerDay; seq += 1)
    expect(
      jsonOf(await sealAndPublish(node.services, business, records, { seq, sealedAtMs: nowMs }))["seq"],
    ).toBe(seq);
  const batch = await seal(business, records, { seq: repeatsPerDay + 1, sealedAtMs: nowMs });
  const body = publishBody(batch.batch_seal, records);
  const refused = await publish(node.services, business, body);
  expect(refused).toMatchObject({ headers: { "retry-after": "600" } });
  expect(jsonOf(refused)).toMatchObject({
    status: 429,
    code: "rate_limited",
    reason: "records_unchanged",
    retry_after_seconds: 600,
  });
  const validated = await publish(node.services, business, body, { isOnlyValidated: true });
  expect(jsonOf(validated)).toEqual(jsonOf(refused));
  nowMs += 600_000;
  const next = { seq: repeatsPerDay + 1, sealedAtMs: nowMs };
  expect(await sealAndPublish(node.services, business, records, next)).toMatchObject({ status: 200 });
});

it("a batch that fair use refused has not used its seq, which another batch takes", async () => {
  const records = [product("again")];
  const send = (of: readonly Uint8Array[], seq: number) =>
    sealAndPublish(node.services, business, of, { seq, sealedAtMs: nowMs });
  for (let seq = 101; seq <= 100 + repeatsPerDay; seq += 1) await send(records, seq);
  for (let again = 0; again < 3; again += 1)
    expect(jsonOf(await send(records, 200))).toMatchObject({ reason: "records_unchanged" });
  expect(await send([product("other")], 150)).toMatchObject({ status: 200 });
  expect(jsonOf(await send([product("more")], 150))).toMatchObject({ code: "seq_not_increasing" });
});
