// An engine fails during pushes and searches: one Cassandra machine of three, and Elasticsearch for a while.

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openCluster, type TestCluster, testSeed } from "../../node/composition/cluster.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { createClient } from "../regions/cluster-client.fixture.ts";
import { openBusiness, productSearch, products, search } from "../regions/cluster-load.fixture.ts";
import { nonceFaults, publicationFaults, receiptFaults } from "../regions/cluster-truth.fixture.ts";

const home = "eu-west1";
const { random } = testSeed("engine loss", 20_261_122);
const records = 1_000;
const engines = enginesUnderTest();
/** How long Elasticsearch is away; `npm run cluster:soak` keeps it away for longer. */
const awayMs = Number(process.env["SVC_TEST_AWAY_SECONDS"] ?? 8) * 1_000;
const testMaxMs = 180_000 + awayMs;
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines, nodes: { [home]: 2 } });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

let restore: (() => Promise<void>) | null = null;
// The tests that follow use the same engines.
afterEach(async () => {
  await restore?.();
});

/** Fails an engine until `restore`, or until the end of the test at the latest. */
async function fail(gone: Promise<void>, back: () => Promise<void>): Promise<void> {
  await gone;
  restore = async () => {
    restore = null;
    await back();
  };
}

describe("a cluster whose engines fail", () => {
  it("one Cassandra machine of three is killed during a push and searches: both go on, each record exactly once", {
    timeout: testMaxMs,
  }, async () => {
    const business = await openBusiness(cluster, home);
    const searching = await search(cluster, home);
    const first = products("machine", records);
    const push = await business.push(1, first);
    await push.send();
    await push.untilSettled(Math.floor(random() * 0.5 * records));
    const victim = Math.floor(random() * engines.cassandra.length);
    await fail(engines.faults().killCassandra(victim), () => engines.faults().startCassandra(victim));
    expect((await push.untilComplete()).counts["accepted"]).toBe(records);
    const second = products("machine", 100, { short_description: "Published by two of three." });
    const corrections = await business.push(2, second);
    await corrections.send();
    expect((await corrections.untilComplete()).counts["updated"]).toBe(second.length);
    await restore?.();
    const third = products("machine-after", 60);
    const last = await business.push(3, third);
    await last.send();
    expect((await last.untilComplete()).counts["accepted"]).toBe(third.length);
    const exchanges = await searching.stop();
    expect(exchanges.filter(({ answer }) => answer?.status !== 200)).toEqual([]);
    const published = [
      ...first.map((bytes, at) => [bytes, ...second.slice(at, at + 1)]),
      ...third.map((b) => [b]),
    ];
    expect(await publicationFaults(cluster, { business: business.caller.uuid, published })).toEqual([]);
    expect(await receiptFaults(cluster, { region: home, exchanges })).toEqual([]);
    const { caller } = searching.client;
    const asked = { region: home, caller, exchanges, surface: "retrieval", again: productSearch } as const;
    expect(await nonceFaults(cluster, asked)).toEqual([]);
  });

  it("Elasticsearch is away under publishing: that goes on, searches are told when to try again, the index catches up", {
    timeout: testMaxMs,
  }, async () => {
    const business = await openBusiness(cluster, home);
    const company = createClient(await cluster.newCompany(), cluster.nodes);
    const before = products("before", 50);
    await (await business.push(1, before)).send();
    const found = await company.expectAnswer(200, "retrieval", productSearch);
    const [row] = found.json["rows"] as readonly { readonly record_id: string }[];
    const first = products("away", records);
    const push = await business.push(2, first);
    await push.send();
    await push.untilSettled(Math.floor(random() * 0.5 * records));
    const faults = engines.faults();
    await fail(faults.killElastic(0), () => faults.startElastic(0));
    const goneMs = performance.now();
    // What is settled later is no longer ahead of it: no leaf of this push is superseded.
    await push.untilSettled(records);
    const published = first.map((bytes) => [bytes]);
    // Each is accepted and settled while nothing can be indexed, and versions follow each other.
    for (let seq = 3; seq === 3 || performance.now() - goneMs < awayMs; seq += 1) {
      const changed = products("away", 60, { short_description: `As push ${seq} says.` });
      const next = await business.push(seq, changed);
      await next.send();
      for (const [at, bytes] of changed.entries()) published[at]?.push(bytes);
      expect((await next.untilSettled(changed.length)).state).toBe("processing");
      for (const node of cluster.nodes) await expectLater(node.name);
      await company.expectAnswer(200, "retrieval", {
        path: `/v1/records/${row?.record_id}`,
        tag: "svc-retrieval",
      });
      await wait(pushEveryMs);
    }
    await restore?.();
    const backMs = performance.now();
    await company.expectAnswer(200, "retrieval", productSearch, { patienceMs: catchUpMaxMs });
    await push.untilComplete();
    published.push(...before.map((bytes) => [bytes]));
    await expect
      .poll(() => publicationFaults(cluster, { business: business.caller.uuid, published }), {
        timeout: catchUpMaxMs,
        interval: 500,
      })
      .toEqual([]);
    console.log(`caught up ${Math.round(performance.now() - backMs)} ms after Elasticsearch answered`);

    async function expectLater(name: string): Promise<void> {
      const one = createClient(company.caller, [cluster.node(name)]);
      const { attempts } = await one.request("retrieval", productSearch, { patienceMs: 0 });
      expect(attempts).toMatchObject([{ outcome: "later", status: 503, code: "unavailable" }]);
    }
  });
});

const pushEveryMs = 1_000;
const catchUpMaxMs = 60_000;
