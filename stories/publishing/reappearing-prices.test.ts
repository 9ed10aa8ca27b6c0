// A price that was taken out of the catalogue and comes back is compared with what it was: nobody can change it unseen by removing
// it first.

import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { product } from "./publishing.fixture.ts";
import { removeOver, sealRemoval } from "./removal.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const inCountries = (id: string, prices: readonly (readonly [string, string, string])[]): Uint8Array =>
  product(id, {
    countries: prices.map(([country]) => country),
    prices: prices.map(([country, amount, currency]) => ({ country, amount, currency })),
  });

it("is held for its jump after a withdrawal, and after a version without the country", async () => {
  const business = await newBusiness(node);
  let seq = 0;
  const push = async (...records: readonly Uint8Array[]): Promise<Readonly<Record<string, unknown>>> => {
    seq += 1;
    const { body } = await batchBody(business, records, { seq });
    return (await publishOver(node, business, body)).json;
  };
  const us = (id: string, amount: string) => inCountries(id, [["US", amount, "USD"]]);
  const all = Array.from({ length: 25 }, (_, index) => us(`i${index}`, "10.00"));
  expect(await push(...all)).toMatchObject({ held: false });
  const jump = [{ code: "price_jump", count: 1 }];

  const record_id = node.running.services.recordIdOf(business.party.uuid, "products", "i1");
  const withdrawal = await sealRemoval(business, { record_id }, business.signingKey);
  const { business_url } = node.running.urls;
  const withdrawn = await removeOver(business_url, business, { action: "withdraw" }, withdrawal);
  expect(withdrawn.status).toBe(200);
  expect(await push(us("i1", "1000.00"))).toMatchObject({ held: true, held_reasons: jump });
  expect(await push(us("i1", "11.00"))).toMatchObject({ held: false });

  expect(await push(inCountries("i2", [["GB", "9.00", "GBP"]]))).toMatchObject({ held: false });
  expect(await push(us("i2", "1000.00"))).toMatchObject({ held: true, held_reasons: jump });
  expect(await push(us("i2", "10.50"))).toMatchObject({ held: false });
  // A country that the record never had is a new listing, not a change.
  const more = inCountries("i3", [
    ["US", "10.00", "USD"],
    ["CA", "9999.00", "CAD"],
  ]);
  expect(await push(more)).toMatchObject({ held: false });
});
