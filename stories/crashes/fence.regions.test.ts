// The fence on the real engine: a node that has lost its actors without noticing keeps writing, and Cassandra refuses its
// writes. The refusals are still recorded when that node is gone.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCluster, type TestCluster } from "../../node/composition/cluster.fixture.ts";
import { clusterState } from "../../node/composition/cluster-ops.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { holderOf, openBusiness, products, until } from "../regions/cluster-load.fixture.ts";
import { publicationFaults } from "../regions/cluster-truth.fixture.ts";

const home = "eu-west1";
const away = "us-east1";
const metric = "svc_fence_refusals_total";
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({
    engines: enginesUnderTest(),
    nodes: { [home]: 2, [away]: 1 },
    program: "stories/regions/blind-node.fixture.ts",
  });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

async function total(name: string): Promise<number> {
  return (await cluster.node(name).metrics()).get(metric) ?? Number.NaN;
}

describe("a node that has lost its actors without noticing", () => {
  it("has its writes refused by Cassandra, and every node tells of it, also after a restart", async () => {
    const business = await openBusiness(cluster, home);
    const { caller } = business;
    const zombie = holderOf(caller.uuid, cluster.nodesOf(home));
    const [heir] = cluster.nodesOf(home).filter((node) => node !== zombie);
    if (heir === undefined) throw new Error("The region has two nodes.");
    const first = products("first", 60);
    const before = await business.push(1, first, zombie);
    await before.send();
    await before.untilComplete();
    // The zombie has the business, its key and their sequence in memory.
    const { incarnation = "" } = (await clusterState(zombie)).self ?? {};
    await zombie.blind();
    zombie.pause();
    const second = products("second", 60);
    const theirs = await business.push(2, second, heir);
    await theirs.send();
    await theirs.untilComplete();
    expect(await total(heir.name)).toBe(0);
    zombie.resume();

    // The same seq again, with other records: a node that relies on the zombie's memory would accept it.
    const late = await business.push(2, products("late", 60), zombie);
    const refused = await late.send().then(
      (answer) => `accepted with ${answer.status}`,
      (error: unknown) => String(error),
    );
    expect(refused).toContain("seq");
    // It believed itself the owner until Cassandra refused.
    expect((await clusterState(zombie)).self).toMatchObject({ incarnation, state: "active" });
    expect((await clusterState(heir)).regions[0]?.members.map((each) => each.incarnation)).not.toContain(
      incarnation,
    );
    expect(await total(zombie.name)).toBeGreaterThan(0);
    await zombie.kill();

    for (const name of [heir.name, `${away}-a`]) await until(async () => (await total(name)) > 0);
    await heir.stop();
    await heir.start();
    await until(async () => (await total(heir.name)) > 0);
    const { fence_refusals: told } = await clusterState(heir);
    expect(told).toContainEqual(expect.objectContaining({ region: home, incarnation }));
    const published = [...first, ...second].map((bytes) => [bytes]);
    expect(await publicationFaults(cluster, { business: caller.uuid, published })).toEqual([]);
  }, 300_000);
});
