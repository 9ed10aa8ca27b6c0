// Every node is stopped and restarted, one after another, while both regions publish, search and fetch: no request fails
// without being told to retry, and none is done twice.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCluster, type TestCluster, testSeed } from "../../node/composition/cluster.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { failedAttempts, openTraffic, settleTraffic, tally } from "./cluster-traffic.fixture.ts";

const regions = ["eu-west1", "us-east1"] as const;
/** Records in each region's first push, which is under way when the restarts start. */
const pushes = { "eu-west1": 2_000, "us-east1": 200 };
const testMaxMs = 300_000;
const { random } = testSeed("rolling restart", 20_261_122);
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({
    engines: enginesUnderTest(),
    nodes: Object.fromEntries(regions.map((region) => [region, 2])),
  });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe("a rolling restart of all nodes under load", () => {
  it(
    "fails no request that was not told to come again, and does none twice",
    async () => {
      const traffic = await Promise.all(
        regions.map((region) => openTraffic(cluster, region, { firstPush: pushes[region] })),
      );
      for (const node of shuffled(cluster.nodes)) {
        const beganMs = performance.now();
        await node.stop();
        // It must not have used anything that it had already closed: that would log a warning.
        expect(node.logTail()).not.toMatch(/session is closed|Cannot convert/);
        await node.start();
        console.log(`${node.name} was away for ${Math.round(performance.now() - beganMs)} ms`);
      }
      const reports = await Promise.all(traffic.map((each) => settleTraffic(cluster, each)));
      for (const { exchanges, published } of reports) console.log({ published, ...tally(exchanges) });
      for (const { exchanges, faults } of reports) {
        expect(failedAttempts(exchanges)).toEqual([]);
        expect(faults).toEqual([]);
      }
    },
    testMaxMs,
  );
});

/** The nodes in the seed's order. */
function shuffled<T>(all: readonly T[]): readonly T[] {
  return all
    .map((each) => ({ each, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ each }) => each);
}
