// A batch with many listings is compared with the catalogue in pieces, and comes to the same as one that is compared at once.

import { afterAll, beforeAll, expect, it } from "vitest";
import { publishBody } from "../../client/batch.ts";
import type { HeldReason } from "../../protocol/wire/push.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  type TestBusiness,
} from "./publishing.fixture.ts";

let node: PublishingNode;

beforeAll(async () => {
  node = await openPublishingNode();
});
afterAll(() => node.close());

const priced = (index: number, amount: string): Uint8Array =>
  product(`p${index}`, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

async function batchOf(business: TestBusiness, amounts: readonly string[], seq: number): Promise<Uint8Array> {
  const records = amounts.map((amount, index) => priced(index, amount));
  return publishBody((await seal(business, records, { seq })).batch_seal, records);
}

/** Publishes a catalogue, and then other prices, which are validated first. */
async function held(uuid: string, count: number): Promise<readonly (readonly HeldReason[])[]> {
  const business = await openBusiness(node.services, uuid);
  const first = Array.from({ length: count }, (_, index) => String(100 + index));
  expect(jsonOf(await publish(node.services, business, await batchOf(business, first, 1))).status).toBe(202);
  // The second one is sent while the first is still pending.
  const other = first.map((amount, index) => (index % 2 === 0 ? amount : String(3 * Number(amount) + index)));
  const body = await batchOf(business, other, 2);
  const validated = jsonOf(await publish(node.services, business, body, { isOnlyValidated: true }));
  const published = jsonOf(await publish(node.services, business, body));
  expect([validated.status, published.status]).toEqual([200, 202]);
  return [validated, published].map((each) => each["held_reasons"] as readonly HeldReason[]);
}

/** The own id of a listing is known once its first version is published, which may be between the two. */
const withoutOwnIds = (reasons: unknown): unknown =>
  JSON.parse(JSON.stringify(reasons, (name, value) => (name === "business_product_id" ? undefined : value)));

it("is held for the same reasons, validated and published", async () => {
  const [validated, published] = await held("00000000-0000-4000-8000-000000000001", 1_200);
  expect(withoutOwnIds(published)).toEqual(withoutOwnIds(validated));
  expect(published).toMatchObject([
    { code: "price_changes", count: 600, of: 1_200 },
    { code: "price_jump", count: 600, of: 1_200 },
  ]);
  const [, few] = await held("00000000-0000-4000-8000-000000000002", 900);
  expect(few).toMatchObject([
    { code: "price_changes", count: 450, of: 900 },
    { code: "price_jump", count: 450, of: 900 },
  ]);
});
