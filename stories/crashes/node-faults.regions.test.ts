// Nodes that are killed (kill -9) or paused, and networks that fail between nodes, and between a node and its store, while the nodes
// publish and serve: callers are told at worst to retry, nothing that was acknowledged is lost, nothing is done twice, late writes
// are refused, and everything that was accepted is there when the network has recovered.

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  openCluster,
  type TestCluster,
  type TestNode,
  testSeed,
} from "../../node/composition/cluster.fixture.ts";
import { clusterState } from "../../node/composition/cluster-ops.fixture.ts";
import { sha256, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import type { MessageFate } from "../../transport/ws/faulty-proxy.fixture.ts";
import { createClient, type Exchange } from "../regions/cluster-client.fixture.ts";
import {
  holderOf,
  openBusiness,
  productSearch,
  products,
  search,
  type TestBusiness,
  type TestPush,
  until,
} from "../regions/cluster-load.fixture.ts";
import { failedAttempts, tally } from "../regions/cluster-traffic.fixture.ts";
import { nonceFaults, publicationFaults, receiptFaults } from "../regions/cluster-truth.fixture.ts";

const home = "eu-west1";
const testMaxMs = 240_000;
/** Ten seconds on a machine without other load. Processor time may be scarce here, so only what never comes fails. */
const movedMaxMs = 60_000;
/** The same, on top of the time that publishing the rest would have taken anyway. */
const completeMaxMs = 60_000;
/** Frequent enough to see when a moved actor answers first. */
const impatient = { pauseMaxMs: 50, attemptMs: 3_000 };
const { random } = testSeed("nodes and networks that fail", 20_261_124);
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [home]: 2, "us-east1": 1 } });
});
afterEach(async () => {
  for (const { links } of cluster.nodes) {
    links.peers.heal();
    links.peers.fate = () => "pass";
    links.peers.delayMs = 0;
    links.cassandra.heal();
  }
  await until(async () => (await Promise.all(cluster.nodes.map((node) => node.isReady()))).every(Boolean));
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe("kill -9", () => {
  it("of the node that has a push of 4,000 records: another completes it, each record once", async () => {
    const records = products("crash", 4_000);
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
    expectAnswered(exchanges);
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
    // The commit of the nonce, which a row has by its mark, arrives when others already own what the node had.
    const nonce = `held-${business.caller.uuid}`;
    const mark = toBase64Url(sha256(utf8(nonce)).subarray(0, 16));
    const held = victim.links.cassandra.holdAt(mark, 1);
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
    expectAnswered(client.exchanges);
    await expectServed(company, client.exchanges);
    expect(await answeringAt(victim, company)).toBe(200);
  }, 300_000);
});

describe("nodes that are cut off from each other but not from Cassandra", () => {
  it(
    "tell callers to come again at worst, do nothing twice, and complete all once they meet again",
    async () => {
      const { business, holder, far } = await openPair();
      const searching = await search(cluster, home);
      const elsewhere = await search(cluster, "us-east1");
      const records = [products("cut-1", 1_000), products("cut-2", 60)] as const;
      const first = await business.push(1, records[0]);
      await first.send();
      await first.untilSettled(Math.floor(random() * 0.5 * records[0].length));
      const cutMs = 3_000 + random() * 3_000;
      for (const { links } of cluster.nodes) {
        links.peers.blackhole("to_server");
        links.peers.blackhole("to_client");
      }
      // The node that the client asks first cannot reach the one that has the business.
      const apart = createClient(business.caller, [far, holder]);
      const asked = apart.request("business", { path: "/v1/seal-context", tag: "svc-business-read" });
      const second = await business.push(2, records[1]);
      const sent = second.send();
      await wait(cutMs);
      for (const { links } of cluster.nodes) links.peers.heal();
      await Promise.all([asked, sent]);
      for (const push of [first, second]) await push.untilComplete();
      const exchanges = [...(await searching.stop()), ...business.client.exchanges, ...apart.exchanges];
      const others = await elsewhere.stop();
      console.log(`cut for ${Math.round(cutMs)} ms`, tally(exchanges), tally(others));
      expect(failedAttempts([...exchanges, ...others])).toEqual([]);
      expect(tally(exchanges)["later 503 unavailable"]).toBeGreaterThan(0);
      await expectPublished(business, records.flat());
      await expectServed(searching.client.caller, searching.client.exchanges);
    },
    testMaxMs,
  );
});

describe("a node that is cut off from Cassandra", () => {
  it(
    "stops its actors before others claim them, answers 503, and joins anew once it is back",
    async () => {
      const { business, holder: victim, far: other } = await openPair();
      const records = products("store", 1_000);
      const push = await business.push(1, records);
      const searching = await search(cluster, home);
      await push.send();
      await push.untilSettled(Math.floor(random() * 0.5 * records.length));
      const before = (await clusterState(victim)).self?.incarnation;
      victim.links.cassandra.silence();
      const cutAtMs = performance.now();
      await expectStoppedFirst({ victim, other, incarnation: before ?? "" });
      const movedMs = performance.now() - cutAtMs;
      expect(await victim.isReady()).toBe(false);
      const company = await cluster.newCompany();
      await createClient(company, [other]).expectAnswer(200, "retrieval", productSearch);
      const refused = await createClient(company, [victim]).request("retrieval", productSearch, {
        patienceMs: 0,
      });
      expect(refused.attempts).toMatchObject([{ outcome: "later", status: 503 }]);
      // The others continue without it.
      expect((await push.untilComplete()).counts["accepted"]).toBe(records.length);
      console.log(`the other node goes by a view without it after ${Math.round(movedMs)} ms`);
      victim.links.cassandra.heal();
      await until(() => victim.hasJoined());
      const { self } = await clusterState(victim);
      expect(self?.state).toBe("active");
      expect(self?.incarnation).not.toBe(before);
      await createClient(company, [victim]).expectAnswer(200, "retrieval", productSearch);
      const exchanges = await searching.stop();
      console.log(tally(exchanges));
      expect(failedAttempts(exchanges)).toEqual([]);
      await expectPublished(business, records);
      await expectServed(searching.client.caller, exchanges);
    },
    testMaxMs,
  );
});

describe("messages between nodes that come twice, late and out of order", () => {
  it(
    "are each done once",
    async () => {
      const { business, holder, far } = await openPair();
      const fates = new Map<MessageFate, number>();
      for (const { links } of cluster.nodes) {
        links.peers.delayMs = 1 + Math.floor(random() * 10);
        links.peers.fate = () => {
          const chance = random();
          const fate = chance < 0.15 ? "double" : chance < 0.3 ? "late" : "pass";
          fates.set(fate, (fates.get(fate) ?? 0) + 1);
          return fate;
        };
      }
      const searching = await search(cluster, home);
      const records = [products("twice-1", 1_000), products("twice-2", 60)] as const;
      const pushes = [await business.push(1, records[0]), await business.push(2, records[1])] as const;
      for (const push of pushes) {
        await push.send();
        await push.untilComplete();
      }
      const exchanges = await searching.stop();
      console.log(Object.fromEntries(fates), tally([...exchanges, ...business.client.exchanges]));
      const duplicates = await Promise.all(
        [holder, far].map(async (node) => (await clusterState(node)).transport?.duplicates ?? 0),
      );
      expect(Math.max(...duplicates)).toBeGreaterThan(0);
      expect(fates.get("late")).toBeGreaterThan(0);
      expect(failedAttempts([...exchanges, ...business.client.exchanges])).toEqual([]);
      await expectPublished(business, records.flat());
      await expectServed(searching.client.caller, exchanges);
    },
    testMaxMs,
  );
});

/** A business whose client first asks the node that does not have it, so that its requests cross the network. */
async function openPair(): Promise<{
  readonly business: TestBusiness;
  readonly holder: TestNode;
  readonly far: TestNode;
}> {
  const [one, two] = cluster.nodesOf(home);
  if (one === undefined || two === undefined) throw new Error("There are no two nodes.");
  for (;;) {
    const business = await openBusiness(cluster, home, [one, two]);
    if (holderOf(business.caller.uuid, [one, two]) === two) return { business, holder: two, far: one };
  }
}

/** Polls both until the other has a view without the victim; from then on the victim must have stopped acting. */
async function expectStoppedFirst(asked: {
  readonly victim: TestNode;
  readonly other: TestNode;
  readonly incarnation: string;
}): Promise<void> {
  let looks = 0;
  for (let wasRemoved = false; !wasRemoved; looks += 1) {
    const { regions } = await clusterState(asked.other);
    const members = regions.find(({ region }) => region === home)?.members ?? [];
    wasRemoved = !members.some(({ incarnation }) => incarnation === asked.incarnation);
    // This is asked after the other: a lease still held here was held while the other might have acted.
    if (wasRemoved) expect((await clusterState(asked.victim)).holds_lease).toBe(false);
    await wait(10);
  }
  expect(looks).toBeGreaterThan(1);
}

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

async function expectServed(
  caller: Parameters<typeof createClient>[0],
  exchanges: readonly Exchange[],
): Promise<void> {
  expect(await receiptFaults(cluster, { region: home, exchanges })).toEqual([]);
  const asked = { region: home, caller, exchanges, surface: "retrieval", again: productSearch } as const;
  expect(await nonceFaults(cluster, asked)).toEqual([]);
}

/** Every search was answered in the end. */
function expectAnswered(exchanges: readonly Exchange[]): void {
  expect(exchanges.filter(({ answer }) => answer?.status !== 200)).toEqual([]);
}

async function answeringAt(node: TestNode, caller: Parameters<typeof createClient>[0]): Promise<number> {
  const { answer } = await createClient(caller, [node]).request("retrieval", productSearch);
  return answer?.status ?? 0;
}
