// A node is killed (kill -9) while it publishes and serves: nothing that was acknowledged is forgotten or done twice.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster, testSeed } from "./cluster.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { holderOf, openBusiness, productSearch, products, search } from "./cluster-load.fixture.ts";
import { nonceFaults, publicationFaults, receiptFaults } from "./cluster-truth.fixture.ts";

const home = "eu-west1";
const completeMaxMs = 10_000;
const { random } = testSeed("node crash", 20_261_121);
const records = 2_000;
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 2, "us-east1": 1 } });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe("kill -9 of a node", () => {
  it("that has a push of 10,000 records: another one completes it within 10 s, each record exactly once", async () => {
    const business = await openBusiness(cluster, home);
    const victim = holderOf(business.caller.uuid, cluster.nodesOf(home));
    const others = cluster.nodesOf(home).filter((node) => node !== victim);
    const searching = await search(cluster, home);
    const published = products("crash", records);
    const push = await business.push(1, published);
    const t0 = performance.now();
    await push.send();
    console.log("accepted", performance.now() - t0);
    await push.untilSettled(Math.floor(random() * 0.5 * records));
    console.log("half", performance.now() - t0);
    await victim.kill();
    const killedMs = performance.now();
    const first = createClient(business.caller, others);
    const path = `/v1/pushes/${push.pushId}`;
    await first.expectAnswer(200, "business", { path, tag: "svc-business-read" }, { pauseMaxMs: 50 });
    const movedMs = performance.now() - killedMs;
    const done = await push.untilComplete();
    const completeMs = performance.now() - killedMs;
    console.log({ movedMs, completeMs });
    expect(done.counts["accepted"]).toBe(records);
    const exchanges = await searching.stop();
    const { uuid } = business.caller;
    const versions = published.map((bytes) => [bytes]);
    expect(await publicationFaults(cluster, { business: uuid, published: versions })).toEqual([]);
    expect(await receiptFaults(cluster, { region: home, exchanges })).toEqual([]);
    const { caller } = searching.client;
    const asked = { region: home, caller, exchanges, surface: "retrieval", again: productSearch } as const;
    expect(await nonceFaults(cluster, asked)).toEqual([]);
    expect(exchanges.filter(({ answer }) => answer?.status !== 200)).toEqual([]);
    await victim.start();
    expect(completeMs).toBeLessThan(completeMaxMs);
  });
});
