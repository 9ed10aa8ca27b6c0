// A mere question creates nothing: asking about an id that anybody may invent leaves no trace.

import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AttackNode, newBusiness, openAttackNode, readOver } from "../retrieval/attack.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const actorsOf = (kind: string) => node.running.services.actorStore.listActors(kind, "", 1_000);

it("a business that asks for pushes that there are not makes none of them", async () => {
  const business = await newBusiness(node);
  const before = await actorsOf("push");
  for (let count = 0; count < 5; count += 1) {
    const pushId = `bat_${randomBytes(12).toString("hex")}`;
    expect((await readOver(node, business, `/v1/pushes/${pushId}`)).status).toBe(404);
  }
  expect(await actorsOf("push")).toEqual(before);
});

it("whoever looks at parties that there are not makes none of them", async () => {
  const before = await actorsOf("business");
  const { ops_url } = node.running.urls;
  for (const what of ["acts", "certificates", "purges", "actors/business"])
    await (await fetch(`${ops_url}/ops/${what}/${randomUUID()}`)).arrayBuffer();
  await (await fetch(`${ops_url}/ops/mandates/${randomUUID()}/m`)).arrayBuffer();
  expect(await actorsOf("business")).toEqual(before);
});
