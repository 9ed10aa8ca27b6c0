// Plays the incidents of docs/incidents.md that take a cluster, on real engines: by the commands, and from the pages in a browser.
// Those of one node are in operators/incidents.full.test.ts.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openCluster, type TestCluster, type TestNode } from "../../node/composition/cluster.fixture.ts";
import { findBrowser } from "../../tools/browser.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { commandsOf, follow, played } from "../operators/incident-node.fixture.ts";
import { openOperator } from "../operators/incident-pages.fixture.ts";
import { openBrowser } from "../operators/inspector.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, productSearch, products, type TestBusiness } from "./cluster-load.fixture.ts";
import { publicationFaults } from "./cluster-truth.fixture.ts";

const [home, away] = ["eu-west1", "us-east1"] as const;
const testMaxMs = 360_000;
/** Where `CI` is set, a missing browser is a failure. */
const isPlayed = findBrowser() !== null || process.env["CI"] !== undefined;
if (!isPlayed)
  console.warn("NOT TESTED: no Chromium on this machine, so no incident of a cluster was played.");
const plays = it.skipIf(!isPlayed);
const titles = {
  stuck: "A stuck region",
  slow: "A slow Elasticsearch",
  lease: "A node that lost its lease",
  lost: "A lost region",
} as const;
let cluster: TestCluster;
let browser: Browser;
let business: TestBusiness;
let a: TestNode;
let b: TestNode;
let far: TestNode;
const published: Uint8Array[] = [];

beforeAll(async () => {
  if (!isPlayed) return;
  browser = await openBrowser();
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 2, [away]: 1 } });
  [a, b, far] = cluster.nodes as [TestNode, TestNode, TestNode];
  business = await openBusiness(cluster, home);
}, testMaxMs);
afterAll(async () => {
  await browser?.close();
  await cluster?.[Symbol.asyncDispose]();
  if (!isPlayed) return;
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

const operate = (node: TestNode, used?: string[]) =>
  openOperator(browser, { home: node.home, opsUrl: node.urls.ops }, used);

/** A row of a node in such a region, with such a state of its checks. */
const nodeIn = (region: string, rest: string): RegExp => new RegExp(`${region} .*${rest}`);
const ready = " ready (?!without)";
/** Why it was not reached stands before its region. */
const unreached = new RegExp(`not reached: .+ ${away} .* does not say `);

plays(titles.stuck, { timeout: testMaxMs }, async () => {
  // It stays open all the while, and nobody loads it again.
  await using watched = await operate(a);
  await watched.rows("Nodes", 1, nodeIn(away, ready));
  for (const direction of ["to_server", "to_client"] as const) far.links.peers.blackhole(direction);
  try {
    const push = await pushed();
    const id = `${business.caller.uuid}.${push.pushId}`;
    const env = { PUSH: id };
    const found = await shows(() => at(a, titles.stuck, "find"), /All of it is stored/);
    const waits = "It waits until the index of us-east1 confirms 1 chunk";
    expect(found).toMatch(new RegExp(`^1 .*${waits}`));
    const failed = "indexChunk [1-9]\\d* The index of region us-east1 is unavailable";
    const why = await shows(() => at(a, titles.stuck, "explain", env), new RegExp(`^${failed}`, "m"));
    expect(why).toMatch(/^\["us-east1",.*,false,".+"\]$/m);

    await using pages = await operate(a);
    await pages.rows("Nodes", 1, unreached);
    await pages.rows("Nodes", 2, nodeIn(home, ready));
    await pages.row("Needs a look", id, waits).follow(id);
    await pages.part("Why it waits").says(new RegExp(waits));
    await pages.rows("Outbox", 1, new RegExp(`^${failed}`));
    await watched.rows("Nodes", 1, unreached);
    far.links.peers.heal();
    await shows(() => at(a, titles.stuck, "check", env), /^complete\n0$/);
    await pages.title.says(/\bcomplete\b/);
    await pages.go("Overview");
    await pages.part("Needs a look").says(/Nothing needs a look/);
    await pages.hasFollowed(titles.stuck);
    await watched.part("Needs a look").says(/Nothing needs a look/);
    await watched.rows("Nodes", 1, nodeIn(away, ready));
  } finally {
    far.links.peers.heal();
  }
  expect(await everything()).toEqual([]);
});

plays(titles.slow, { timeout: testMaxMs }, async () => {
  await using pages = await operate(b);
  for (const { links } of cluster.nodesOf(home)) links.elastic.silence();
  try {
    const push = await pushed();
    await shows(() => at(b, titles.slow, "find"), /^\[true,\["index"\],"(?!ok)/);
    const why = await shows(() => at(b, titles.slow, "explain"), /^push\/\S+ index_lag: /m);
    expect(why).toContain(`It waits until the index of ${home} confirms`);

    await pages.rows("Nodes", 2, nodeIn(home, " ready without index "));
    await pages.go("Nodes");
    const checks = "Is each node ready?";
    await pages.rows(checks, 2, nodeIn(home, "ready without index index \\S.* store, "));
    await pages.rows(checks, 1, nodeIn(away, "ready none store, index, "));
    await pages.go("Overview");
    await pages.row("Needs a look", push.pushId).says(new RegExp(`the index of ${home} confirms`));
    const company = createClient(await cluster.newCompany(), [a]);
    const { attempts } = await company.request("retrieval", productSearch, { patienceMs: 1 });
    expect(attempts[0]).toMatchObject({ outcome: "later", status: 503 });
    expect((await push.status()).progress.settled).toBe(60);
  } finally {
    for (const { links } of cluster.nodesOf(home)) links.elastic.heal();
  }
  await shows(() => at(b, titles.slow, "check"), /^\[true,\[\],"ok"\]\n0$/);
  await pages.rows("Nodes", 2, nodeIn(home, ready));
  await pages.part("Needs a look").says(/Nothing needs a look/);
  await pages.hasFollowed(titles.slow);
  await vi.waitUntil(async () => (await everything()).length === 0, { timeout: 60_000 });
});

plays(titles.lease, { timeout: testMaxMs }, async () => {
  const both = new RegExp(`(?:^${home} \\S+ active reachable=true lease=true\\n?){2}`, "m");
  await shows(() => at(a, titles.lease, "find"), both);
  // One list of steps, on the pages of both nodes.
  const used: string[] = [];
  await using pages = await operate(a, used);
  b.links.cassandra.silence();
  const lost = (said: string): boolean => !said.includes(`${b.address} active reachable=true lease=true`);
  await vi.waitUntil(async () => lost(await at(a, titles.lease, "find")), { timeout: 60_000 });
  await shows(() => at(a, titles.lease, "explain", { NODE: b.urls.ops }), /^\[false,"(?!ok)/);

  await pages.go("Nodes");
  await pages.rows("Nodes", 1, nodeIn(home, "gone "));
  await using own = await operate(b, used);
  await own.part("Needs a look").says(/cannot be read at the moment/);
  await own.go("Nodes");
  await own.rows("Nodes", 1, /this node .* lost not ready: store, cluster\b/);
  const reasons = " store no answer within a second cluster no lease: the node joins again ";
  await own.rows("Is each node ready?", 1, new RegExp(reasons));
  // Its actors go on elsewhere.
  await (await pushed()).untilComplete();
  b.links.cassandra.heal();
  await shows(() => at(a, titles.lease, "check"), both);
  const isBack = nodeIn(home, `active \\S+ held, .*${ready}`);
  await pages.rows("Nodes", 2, isBack);
  await own.rows("Nodes", 2, isBack);
  await pages.part("Regions").says(/Writes that the fence refused/);
  await pages.hasFollowed(titles.lease);
  expect(await everything()).toEqual([]);
});

plays(titles.lost, { timeout: testMaxMs }, async () => {
  const there = await openBusiness(cluster, away);
  const records = products("there", 60);
  const before = await there.push(1, records);
  await before.send();
  await before.untilComplete();
  await using pages = await operate(a);
  // Its engines stay, because other files use them; region-loss.regions.test.ts loses them as well.
  await far.kill();
  const env = { LOST: away, SUCCESSOR: home };
  await shows(() => at(a, titles.lost, "find", env), new RegExp(`^${home}\\n${away} active \\d$`));
  await pages.go("Nodes");
  await pages.rows("Nodes", 1, unreached);
  const order = {
    Region: away,
    "Region that takes over": home,
    "If its nodes still write heartbeats": "no",
  };
  await (await pages.prepare("declare a region dead", order, "Act on the cluster"))();
  await pages.rows("Regions", 1, /^us-east1 declared dead eu-west1 \d$/);
  // It can be said again, by a command as well.
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
  // What production.md does to the machines in between is not played here.
  for (const act of ["add the data centre of a lost region again", "let a lost region take part again"])
    await (await pages.prepare(act, { Region: away }, "Act on the cluster"))();
  // Its nodes were killed, and the page says so.
  await pages.rows("Regions", 1, /^us-east1 does not answer none \d$/);
  await pages.hasFollowed(titles.lost);
});
