// A node is killed (kill -9) or paused while it publishes and serves: nothing that was acknowledged is lost, nothing is
// done twice, and late writes of the paused node are refused.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster, type TestNode, testSeed } from "./cluster.fixture.ts";
import { createClient, type Exchange } from "./cluster-client.fixture.ts";
import {
  holderOf,
  openBusiness,
  productSearch,
  products,
  search,
  type TestBusiness,
  type TestPush,
  until,
} from "./cluster-load.fixture.ts";
import { nonceFaults, publicationFaults, receiptFaults } from "./cluster-truth.fixture.ts";

const home = "eu-west1";
/** Ten seconds on a machine without other load. Processor time may be scarce here, so only what never comes fails. */
const movedMaxMs = 60_000;
/** The same, on top of the time that publishing the rest would have taken anyway. */
const completeMaxMs = 60_000;
/** Frequent enough to see when a moved actor answers first. */
const impatient = { pauseMaxMs: 50, attemptMs: 3_000 };
const { random } = testSeed("node crash", 20_261_121);
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 2, "us-east1": 1 } });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe("kill -9", () => {
  it("of the node that has a push of 10,000 records: another completes it, each record once", async () => {
    const records = products("crash", 10_000);
    const business = await openBusiness(cluster, home);
    const { victim, others } = partners(business);
    const searching = await search(cluster, home);
    const push = await business.push(1, records);
    await push.send();
    const sentMs = performance.now();
    const { progress } = await push.untilSettled((0.1 + 0.8 * random()) * records.length);
    await victim.kill();
    const killedMs = performance.now();
    // The time that the rest would have taken without the kill, at the rate until then.
    const restMs = ((killedMs - sentMs) * (records.length - progress.settled)) / progress.settled;
    await firstAnswer(business, push, others);
    const movedMs = performance.now() - killedMs;
    expect((await push.untilComplete()).counts["accepted"]).toBe(records.length);
    const completeMs = performance.now() - killedMs;
    const told = { settled: progress.settled, movedMs, completeMs, restMs };
    console.log(
      Object.entries(told)
        .map(([name, value]) => `${name} ${Math.round(value)}`)
        .join(", "),
    );
    const exchanges = await searching.stop();
    await victim.start();
    await expectPublished(business, records);
    await expectServed(searching.client.caller, exchanges);
    expect(movedMs).toBeLessThan(movedMaxMs);
    expect(completeMs).toBeLessThan(completeMaxMs + restMs);
  }, 600_000);

  it("of a node that is taking a push in: it is sent again to another, and nothing is there twice", async () => {
    const records = products("taken", 1_000);
    const business = await openBusiness(cluster, home);
    const push = await business.push(1, records);
    // The client asks the first node of the region first.
    const [taker] = cluster.nodesOf(home);
    const sent = push.send(impatient);
    await new Promise((wake) => setTimeout(wake, random() * 1_000));
    await taker?.kill();
    await sent;
    expect((await push.untilComplete()).counts["accepted"]).toBe(records.length);
    await taker?.start();
    await expectPublished(business, records);
  }, 300_000);
});

describe("a node that stands still for longer than its lease", () => {
  it("changes no actor's state, counts what it was refused, and joins again", async () => {
    const records = products("pause", 1_000);
    const business = await openBusiness(cluster, home);
    const { victim, others } = partners(business);
    const push = await business.push(1, records);
    await push.send();
    await push.untilSettled(Math.floor(random() * 0.5 * records.length));
    const company = await cluster.newCompanyOf(victim);
    const client = createClient(company, others);
    await client.expectAnswer(200, "retrieval", productSearch);
    // The nonce is looked up before it is committed: the commit arrives when others already own what the node had.
    const nonce = `held-${business.caller.uuid}`;
    const held = victim.links.cassandra.holdAt(nonce, 2);
    const asked = client.request("retrieval", { ...productSearch, nonce }, { pauseMaxMs: 50 });
    await held;
    victim.pause();
    const pausedMs = performance.now();
    // Had the claim succeeded, the nonce would be refused now.
    expect((await asked).answer?.status).toBe(200);
    await firstAnswer(business, push, others);
    console.log(`others had its actors after ${Math.round(performance.now() - pausedMs)} ms`);
    victim.links.cassandra.heal();
    victim.resume();
    await until(() => victim.hasJoined());
    await until(async () => ((await victim.metrics()).get("svc_actors_refused_commits_total") ?? 0) > 0);
    expect((await push.untilComplete()).counts["accepted"]).toBe(records.length);
    await expectPublished(business, records);
    await expectServed(company, client.exchanges);
    expect(await answeringAt(victim, company)).toBe(200);
  }, 300_000);
});

/** The node that has the business's actors, and the nodes of its region that do not. */
function partners({ caller }: TestBusiness): {
  readonly victim: TestNode;
  readonly others: readonly TestNode[];
} {
  const victim = holderOf(caller.uuid, cluster.nodesOf(home));
  return { victim, others: cluster.nodesOf(home).filter((node) => node !== victim) };
}

/** Resolves once the push actor answers at one of these nodes. */
async function firstAnswer(
  { caller }: TestBusiness,
  { pushId }: TestPush,
  nodes: readonly TestNode[],
): Promise<void> {
  const request = { path: `/v1/pushes/${pushId}`, tag: "svc-business-read" } as const;
  await createClient(caller, nodes).expectAnswer(200, "business", request, impatient);
}

async function expectPublished({ caller }: TestBusiness, records: readonly Uint8Array[]): Promise<void> {
  const published = records.map((bytes) => [bytes]);
  expect(await publicationFaults(cluster, { business: caller.uuid, published })).toEqual([]);
}

/** Every search was answered in the end; the receipts and nonces of all of them are stored. */
async function expectServed(
  caller: Parameters<typeof createClient>[0],
  exchanges: readonly Exchange[],
): Promise<void> {
  expect(exchanges.filter(({ answer }) => answer?.status !== 200)).toEqual([]);
  expect(await receiptFaults(cluster, { region: home, exchanges })).toEqual([]);
  const asked = { region: home, caller, exchanges, surface: "retrieval", again: productSearch } as const;
  expect(await nonceFaults(cluster, asked)).toEqual([]);
}

async function answeringAt(node: TestNode, caller: Parameters<typeof createClient>[0]): Promise<number> {
  const { answer } = await createClient(caller, [node]).request("retrieval", productSearch);
  return answer?.status ?? 0;
}
