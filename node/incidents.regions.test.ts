// Plays the incidents of docs/incidents.md that take a cluster, on real engines. Those of one node are in incidents.e2e.test.ts.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster, type TestNode } from "./cluster.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, productSearch, products, type TestBusiness } from "./cluster-load.fixture.ts";
import { publicationFaults } from "./cluster-truth.fixture.ts";
import { commandsOf, follow, played } from "./incident-node.fixture.ts";

const [home, away] = ["eu-west1", "us-east1"] as const;
const testMaxMs = 240_000;
const engines = enginesUnderTest();
const titles = {
  stuck: "A stuck region",
  slow: "A slow Elasticsearch",
  lease: "A node that lost its lease",
  lost: "A lost region",
} as const;
let cluster: TestCluster;
let business: TestBusiness;
let a: TestNode;
let b: TestNode;
let far: TestNode;
const published: Uint8Array[] = [];

beforeAll(async () => {
  cluster = await openCluster({ engines, nodes: { [home]: 2, [away]: 1 } });
  [a, b, far] = cluster.nodes as [TestNode, TestNode, TestNode];
  business = await openBusiness(cluster, home);
}, testMaxMs);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  expect(commandsOf(Object.values(titles)).filter((each) => !played.has(each))).toEqual([]);
});

let seq = 0;

/** A push of the business, accepted and settled as far as its home goes. */
async function pushed() {
  seq += 1;
  const records = products(`incident-${seq}`, 60);
  const push = await business.push(seq, records);
  await push.send();
  await push.untilSettled(records.length);
  published.push(...records);
  return push;
}

function at(node: TestNode, title: string, kind: string, env: Readonly<Record<string, string>> = {}) {
  return follow(title, kind, { OPS: node.urls.ops, SVC_HOME: node.home, ...env });
}

/** What a command prints once it prints what `pattern` says. */
async function shows(command: () => Promise<string>, pattern: RegExp): Promise<string> {
  let said = "";
  const found = async (): Promise<boolean> => {
    said = await command().catch(() => "");
    return pattern.test(said);
  };
  await vi.waitUntil(found, { timeout: 120_000, interval: 200 }).catch(() => {
    throw new Error(`${pattern} does not match what was printed last:\n${said}`);
  });
  return said;
}

const everything = async (regions: readonly string[] = [home, away]) =>
  publicationFaults(cluster, {
    business: business.caller.uuid,
    published: published.map((bytes) => [bytes]),
    regions,
  });

describe("an incident of a cluster", { timeout: testMaxMs }, () => {
  it(titles.stuck, async () => {
    for (const direction of ["to_server", "to_client"] as const) far.links.peers.blackhole(direction);
    try {
      const push = await pushed();
      const env = { PUSH: `${business.caller.uuid}.${push.pushId}` };
      const found = await shows(() => at(a, titles.stuck, "find"), /All of it is stored/);
      expect(found).toMatch(/^1 .*It waits until the index of us-east1 confirms 1 chunk/);
      const why = await shows(
        () => at(a, titles.stuck, "explain", env),
        /^indexChunk [1-9]\d* The index of region us-east1 is unavailable/m,
      );
      expect(why).toMatch(/^\["us-east1",.*,false,".+"\]$/m);
      far.links.peers.heal();
      await shows(() => at(a, titles.stuck, "check", env), /^complete\n0$/);
    } finally {
      far.links.peers.heal();
    }
    expect(await everything()).toEqual([]);
  });

  it(titles.slow, async () => {
    await engines.faults().pauseElastic(0);
    try {
      const push = await pushed();
      await shows(() => at(b, titles.slow, "find"), /^\[true,\["index"\],"(?!ok)/);
      const why = await shows(() => at(b, titles.slow, "explain"), /^push\/\S+ index_lag: /m);
      expect(why).toContain(`It waits until the index of ${home} confirms`);
      const company = createClient(await cluster.newCompany(), [a]);
      const { attempts } = await company.request("retrieval", productSearch, { patienceMs: 1 });
      expect(attempts[0]).toMatchObject({ outcome: "later", status: 503 });
      expect((await push.status()).progress.settled).toBe(60);
    } finally {
      await engines.faults().resumeElastic(0);
    }
    await shows(() => at(b, titles.slow, "check"), /^\[true,\[\],"ok"\]\n0$/);
    await vi.waitUntil(async () => (await everything()).length === 0, { timeout: 60_000 });
  });

  it(titles.lease, async () => {
    const both = new RegExp(`(?:^${home} \\S+ active reachable=true lease=true\\n?){2}`, "m");
    await shows(() => at(a, titles.lease, "find"), both);
    b.links.cassandra.silence();
    const lost = (said: string): boolean => !said.includes(`${b.address} active reachable=true lease=true`);
    await vi.waitUntil(async () => lost(await at(a, titles.lease, "find")), { timeout: 60_000 });
    await shows(() => at(a, titles.lease, "explain", { NODE: b.urls.ops }), /^\[false,"(?!ok)/);
    // Its actors go on elsewhere.
    await (await pushed()).untilComplete();
    b.links.cassandra.heal();
    await shows(() => at(a, titles.lease, "check"), both);
    expect(await everything()).toEqual([]);
  });

  it(titles.lost, async () => {
    const there = await openBusiness(cluster, away);
    const records = products("there", 60);
    const before = await there.push(1, records);
    await before.send();
    await before.untilComplete();
    await far.kill();
    await Promise.all([engines.faults().killCassandra(1), engines.faults().killElastic(1)]);
    try {
      const env = { LOST: away, SUCCESSOR: home };
      await shows(() => at(a, titles.lost, "find", env), new RegExp(`^${home}\\n${away} active \\d$`));
      expect(await at(a, titles.lost, "mend", env)).toBe("declared");
      await shows(() => at(a, titles.lost, "check", env), new RegExp(`^dead ${home}$`));
      const client = createClient(there.caller, [a, b]);
      const path = `/v1/pushes/${before.pushId}`;
      const status = await client.expectAnswer(
        200,
        "business",
        { path, tag: "svc-business-read" },
        { patienceMs: 60_000 },
      );
      expect(status.json["state"]).toBe("complete");
      await (await pushed()).untilComplete();
      expect(await everything([home])).toEqual([]);
    } finally {
      await Promise.all([engines.faults().startCassandra(1), engines.faults().startElastic(1)]);
    }
  });
});
