// A cluster of one release is upgraded to a later one node by node, as docs/production.md says («Upgrades»), while both regions
// publish, search and fetch. Nothing is lost, and what the nodes of the earlier release do not know is refused with «later».

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import {
  openCluster,
  type PartyCaller,
  type TestCluster,
  type TestNode,
} from "../../node/composition/cluster.fixture.ts";
import { testAct } from "../../node/composition/cluster-ops.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { holderOf, productSearch, until } from "./cluster-load.fixture.ts";
import { failedAttempts, openTraffic, settleTraffic, tally } from "./cluster-traffic.fixture.ts";
import { earlierVersion, hasLastRelease, openReleases, type Releases } from "./upgrade-releases.fixture.ts";

const regions = ["eu-west1", "us-east1"] as const;
const group = "00000000-0000-4000-8000-00000000f00d";
const testMaxMs = 300_000;
const isHere = hasLastRelease();
let releases: Releases;
let cluster: TestCluster;

beforeAll(async () => {
  if (!isHere) return;
  releases = await openReleases();
  cluster = await openCluster({
    engines: enginesUnderTest(),
    nodes: Object.fromEntries(regions.map((region) => [region, 2])),
    program: releases.earlier,
  });
}, testMaxMs);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await releases?.[Symbol.asyncDispose]();
});

async function upgrade(node: TestNode): Promise<void> {
  await node.stop();
  await node.start(releases.later);
}

/** A company of the first region whose actor lives on this node while both of the region's nodes run. */
async function companyOn(node: TestNode): Promise<PartyCaller> {
  for (;;) {
    const company = await cluster.newCompany();
    if (holderOf(company.uuid, cluster.nodesOf(node.region)) !== node) continue;
    await createClient(company, [node]).expectAnswer(200, "retrieval", productSearch);
    return company;
  }
}

/** Has a company join a group, by a command that nodes of the earlier release do not know. */
async function join(node: TestNode, company: PartyCaller) {
  const path = `${node.urls.ops}/ops/groups/${company.uuid}`;
  const { company: seen } = (await (await contractFetch(path)).json()) as {
    readonly company: { readonly change: number };
  };
  const answer = await contractFetch(`${path}/join`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: signedIn(await node.opsToken()) },
    body: JSON.stringify({ ...testAct, group, expected: seen.change }),
  });
  const { reason, changed } = (await answer.json()) as Readonly<Record<string, unknown>>;
  return { status: answer.status, reason, changed };
}

describe.skipIf(!isHere)(`an upgrade from ${earlierVersion} under load`, () => {
  it(
    "loses nothing, fails nothing that was not told to come again, and ends where every command is known",
    async () => {
      const traffic = await Promise.all(
        regions.map((region) => openTraffic(cluster, region, { firstPush: 400 })),
      );
      const [first, second, ...others] = cluster.nodes as [TestNode, TestNode, ...TestNode[]];
      const company = await companyOn(second);
      await upgrade(first);
      // The company's actor runs on a node that does not know the command yet, and so does nothing.
      await until(async () => (await join(first, company)).status !== 404);
      expect(await join(first, company)).toEqual({ status: 503, reason: "upgrading", changed: undefined });
      await upgrade(second);
      for (const node of others) await upgrade(node);
      await until(async () => (await join(first, company)).status === 200);
      expect(await join(first, company)).toMatchObject({ status: 200, changed: false });
      const reports = await Promise.all(traffic.map((each) => settleTraffic(cluster, each)));
      for (const { exchanges, published } of reports) console.log({ published, ...tally(exchanges) });
      for (const { exchanges, faults } of reports) {
        expect(failedAttempts(exchanges)).toEqual([]);
        expect(faults).toEqual([]);
      }
    },
    testMaxMs,
  );

  it("does not let a node of the earlier release start again once the schema is newer", async () => {
    const [node] = cluster.nodes as [TestNode];
    await node.stop();
    await expect(node.start(releases.earlier)).rejects.toThrow(/start a newer one/);
    await node.start(releases.later);
  });
});
