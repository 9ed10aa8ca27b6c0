// Small batches while a region's Elasticsearch is down or unresponsive: each is answered in its request, is served, and is
// in every index once that one is back.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster } from "./cluster.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, products } from "./cluster-load.fixture.ts";
import { publicationFaults } from "./cluster-truth.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
const regions = [home, other] as const;
/** Indexes are awaited for two seconds; the rest allows for a slow machine. */
const answeredMaxMs = 8_000;
const catchUpMaxMs = 90_000;
const testMaxMs = 180_000;
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 1, [other]: 1 } });
});
afterEach(() => {
  for (const { links } of cluster.nodes) links.elastic.heal();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.each([
  ["of another region is gone", other, "cut"],
  ["of another region answers nobody", other, "silence"],
  ["of its own region is gone", home, "cut"],
  ["of its own region answers nobody", home, "silence"],
] as const)("while the Elasticsearch %s", (name, region, fault) => {
  it("batches of ten records are answered, and found everywhere once it is back", {
    timeout: testMaxMs,
  }, async () => {
    const business = await openBusiness(cluster, home);
    const company = await cluster.newCompany();
    const prefix = name.replaceAll(" ", "-");
    const published: Uint8Array[][] = [];
    const pushes = [];
    for (const { links } of cluster.nodesOf(region)) links.elastic[fault]();
    for (let seq = 1; seq <= 3; seq += 1) {
      const records = products(`${prefix}-${seq}`, 10);
      const push = await business.push(seq, records);
      const sentMs = performance.now();
      const answer = await push.send({ patienceMs: 0 });
      const tookMs = Math.round(performance.now() - sentMs);
      console.log(`${name}: answered after ${tookMs} ms`);
      expect(tookMs).toBeLessThan(answeredMaxMs);
      const results = answer.json["results"] as readonly { outcome: string; record_id: string }[];
      expect(results.map(({ outcome }) => outcome)).toEqual(Array(10).fill("accepted"));
      expect(await push.status()).toMatchObject({
        state: "processing",
        progress: { settled: 10, total: 10 },
      });
      for (const served of regions) {
        const path = `/v1/records/${results[0]?.record_id}`;
        await createClient(company, cluster.nodesOf(served)).expectAnswer(200, "retrieval", {
          path,
          tag: "svc-retrieval",
        });
      }
      pushes.push(push);
      published.push(...records.map((bytes) => [bytes]));
    }
    for (const { links } of cluster.nodesOf(region)) links.elastic.heal();
    for (const push of pushes) await push.untilComplete();
    const faults = () => publicationFaults(cluster, { business: business.caller.uuid, published });
    await expect.poll(faults, { timeout: catchUpMaxMs, interval: 500 }).toEqual([]);
  });
});
