// A standalone node whose actors another owner has claimed: its commits are refused, and the count outlives the process.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { type NodeServices, openNodeServices } from "../../node/composition/services.ts";
import { loadConfig } from "../../node/configuration/config.ts";
import { jsonOf, openBusiness, product, sealAndPublish } from "../publishing/publishing.fixture.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-fence-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const open = (): Promise<NodeServices> => openNodeServices(loadConfig({ home }, {}));

it("what the fence held back from a node alone is counted, and still there after a restart", async () => {
  const services = await open();
  const business = await openBusiness(services);
  const push = async (seq: number) =>
    jsonOf(await sealAndPublish(services, business, [product(`p${seq}`)], { seq }));
  expect(await push(1)).toMatchObject({ status: 200 });
  expect(services.fence.refusals()).toEqual([]);
  await services.actorStore.claim(businessRef(business.party.uuid), "elsewhere/thief");
  expect(await push(2)).toMatchObject({ status: 200 });
  expect(services.fence.total()).toBe(1);
  const [refused] = services.fence.refusals();
  expect(refused).toMatchObject({ region: services.config.region, incarnation: services.incarnation });
  await services[Symbol.asyncDispose]();
  const next = await open();
  await expect.poll(() => next.fence.refusals()).toEqual([refused]);
  await next[Symbol.asyncDispose]();
});
