// How many pushes of a business may be held at once, over HTTP on a real node.

import { afterAll, beforeAll, expect, it } from "vitest";
import { heldMax } from "../../actors/business/rows.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { decideOver } from "./hold-decisions.fixture.ts";
import { product } from "./publishing.fixture.ts";

let node: AttackNode;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const priced = (id: string, amount: string): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

it("one push more than may be held is refused until one is decided, and pushes that are not held pass", async () => {
  const business = await newBusiness(node);
  let seq = 0;
  const batch = async (records: readonly Uint8Array[]) => {
    seq += 1;
    return batchBody(business, records, { seq });
  };
  const catalogue = Array.from({ length: 20 }, (_, index) => priced(`item-${index}`, "10.00"));
  expect((await publishOver(node, business, (await batch(catalogue)).body)).status).toBe(200);
  const held: string[] = [];
  while (held.length < heldMax) {
    const { body, pushId } = await batch([priced("item-0", `${99 + held.length}.00`)]);
    expect(await publishOver(node, business, body)).toMatchObject({ json: { held: true } });
    held.push(pushId);
  }
  const more = await batch([priced("item-1", "99.00")]);
  const refused = await publishOver(node, business, more.body);
  expect(refused).toMatchObject({
    status: 429,
    json: { code: "rate_limited", reason: "holds_waiting", retry_after_seconds: 3_600 },
  });
  expect(refused.headers.get("retry-after")).toBe("3600");
  // A refused batch has not used its seq.
  seq -= 1;
  const other = await batch([priced("item-2", "10.50")]);
  expect(await publishOver(node, business, other.body)).toMatchObject({ status: 200, json: { held: false } });
  expect(await decideOver(node, business, held[0] ?? "", "reject")).toMatchObject({ status: 200 });
  const again = await batch([priced("item-1", "99.00")]);
  expect(await publishOver(node, business, again.body)).toMatchObject({
    json: { batch_id: again.pushId, held: true },
  });
});
