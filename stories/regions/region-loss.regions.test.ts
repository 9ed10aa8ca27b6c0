// A whole region fails: its nodes, its Cassandra and its Elasticsearch. First it comes back on its own, then it is declared
// dead; and what was acknowledged in its last moment is not lost, provided that replication before acknowledgement was set.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import {
  openCluster,
  type TestCluster,
  type TestNode,
  testSeed,
} from "../../node/composition/cluster.fixture.ts";
import { ordered } from "../../node/composition/cluster-ops.fixture.ts";
import { readReplication } from "../../storage/cassandra/keyspaces.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { followLog } from "../verification/log-followed.fixture.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, productSearch, products, search, type TestPush } from "./cluster-load.fixture.ts";
import { openTruth, publicationFaults } from "./cluster-truth.fixture.ts";

const lost = "eu-west1";
const left = "us-east1";
const { random } = testSeed("region loss", 20_261_124);
const records = 1_000;
const smallPush = 60;
const testMaxMs = 300_000;
const catchUpMaxMs = 120_000;
const engines = enginesUnderTest();
/** The first version that a region gives to a record it has taken over. */
const afterTakeover = 10_000_001;

const once = (all: readonly Uint8Array[]) => all.map((bytes) => [bytes]);

let isLost = false;
// The tests that follow use the same engines.
afterEach(async () => {
  if (isLost) await bringEnginesBack();
});

/** Sends SIGKILL to everything in the region at the same time. */
async function lose(cluster: TestCluster): Promise<void> {
  isLost = true;
  const at = engines.regions.indexOf(lost);
  const nodes = cluster.nodesOf(lost).filter((node) => node.isRunning());
  await Promise.all([
    ...nodes.map((node) => node.kill()),
    engines.faults().killCassandra(at),
    engines.faults().killElastic(at),
  ]);
}

async function bringEnginesBack(): Promise<void> {
  const at = engines.regions.indexOf(lost);
  await Promise.all([engines.faults().startCassandra(at), engines.faults().startElastic(at)]);
  isLost = false;
}

const onlyNode = (cluster: TestCluster, region: string): TestNode => {
  const [node] = cluster.nodesOf(region);
  if (node === undefined) throw new Error(`${region} has no node.`);
  return node;
};

/** The answers to the push while nobody can take it: each says when to retry. */
async function expectRefused(
  push: TestPush,
  business: Awaited<ReturnType<typeof openBusiness>>,
): Promise<void> {
  await expect(push.send({ patienceMs: 3_000 })).rejects.toThrow("not at all");
  const { attempts } = business.client.exchanges.at(-1) ?? { attempts: [] };
  const answers = attempts.filter((attempt) => attempt.outcome !== "unsent");
  expect(answers.length).toBeGreaterThan(0);
  for (const answer of answers) expect(answer).toMatchObject({ outcome: "later", status: 503 });
}

async function completed(push: TestPush): Promise<number> {
  await push.send({ patienceMs: catchUpMaxMs });
  const { counts } = await push.untilComplete();
  return (counts["accepted"] ?? 0) + (counts["updated"] ?? 0);
}

describe("a region that is lost", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    const env = { SVC_LOG_INTERVAL_SECONDS: "0" };
    cluster = await openCluster({ engines, nodes: { [lost]: 1, [left]: 1 }, env });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it("and comes back: the other one serves all the while, and both catch up to the truth", {
    timeout: testMaxMs,
  }, async () => {
    // Each asks the local region first, and any other if that one does not answer.
    const there = await openBusiness(cluster, lost, [...cluster.nodesOf(lost), ...cluster.nodesOf(left)]);
    const here = await openBusiness(cluster, left);
    const before = { there: products("there", smallPush), here: products("here", smallPush) };
    expect(await completed(await there.push(1, before.there))).toBe(smallPush);
    expect(await completed(await here.push(1, before.here))).toBe(smallPush);
    const searching = await search(cluster, left);
    const found = await searching.client.expectAnswer(200, "retrieval", productSearch);
    const ids = (found.json["rows"] as readonly { readonly record_id: string }[]).map((row) => row.record_id);
    const during = await here.push(2, products("here-during", records));
    await during.send();
    await during.untilSettled(Math.floor(random() * 0.5 * records));
    await lose(cluster);

    const corrections = await there.push(
      2,
      products("there", smallPush, { short_description: "Back again." }),
    );
    await expectRefused(corrections, there);
    await during.untilSettled(records);
    for (const id of ids)
      await searching.client.expectAnswer(200, "retrieval", {
        path: `/v1/records/${id}`,
        tag: "svc-retrieval",
      });
    const exchanges = await searching.stop();
    expect(exchanges.filter(({ answer }) => answer?.status !== 200)).toEqual([]);
    // A node that restarts meanwhile knows no homes, and has nobody in the lost region to ask.
    await onlyNode(cluster, left).kill();
    await onlyNode(cluster, left).start();
    const later = await here.push(3, products("here-later", smallPush));
    await later.send({ patienceMs: 60_000 });
    await later.untilSettled(smallPush);
    await expectRefused(corrections, there);

    await bringEnginesBack();
    await onlyNode(cluster, lost).start();
    expect(await completed(corrections)).toBe(smallPush);
    await during.untilComplete();
    await later.untilComplete();
    const published = {
      there: before.there.map((bytes, at) => [
        bytes,
        products("there", smallPush, { short_description: "Back again." })[at] ?? bytes,
      ]),
      here: once([...before.here, ...products("here-during", records), ...products("here-later", smallPush)]),
    };
    for (const [business, versions] of [
      [there, published.there],
      [here, published.here],
    ] as const) {
      await expect
        .poll(() => publicationFaults(cluster, { business: business.caller.uuid, published: versions }), {
          timeout: catchUpMaxMs,
          interval: 1_000,
        })
        .toEqual([]);
    }
  });

  it("and is declared dead: its businesses and the log go on where its successor is, and its nodes stay out", {
    timeout: testMaxMs,
  }, async () => {
    const moved = await openBusiness(cluster, lost, [...cluster.nodesOf(lost), ...cluster.nodesOf(left)]);
    const first = products("dead", smallPush);
    expect(await completed(await moved.push(1, first))).toBe(smallPush);
    await untilReplicated(cluster, moved.caller.uuid);
    const log = followLog(cluster);
    const last = await log.grow(lost, "last");
    await expect.poll(async () => (await log.tree(left)).size, { timeout: 60_000 }).toBe(last.size);
    const order = { region: lost, successor: left };
    expect(await ordered(onlyNode(cluster, left), "declare-dead", order)).toBe("still_beats");
    await lose(cluster);
    const corrected = products("dead", smallPush, { short_description: "Said to the successor." });
    const corrections = await moved.push(2, corrected);
    await expectRefused(corrections, moved);
    const node = onlyNode(cluster, left);
    expect(await ordered(node, "declare-dead", { region: lost, successor: left })).toBe("declared");
    expect(await completed(corrections)).toBe(smallPush);
    const published = first.map((bytes, at) => [bytes, ...corrected.slice(at, at + 1)]);
    const faults = await publicationFaults(cluster, {
      business: moved.caller.uuid,
      published,
      regions: [left],
      isGeneration: (generation, place) => generation === [1, afterTakeover][place],
    });
    expect(faults).toEqual([]);
    // New parties are accepted again, because the remaining regions have a majority.
    const fresh = await openBusiness(cluster, left);
    expect(await completed(await fresh.push(1, products("fresh", smallPush)))).toBe(smallPush);
    // The log continues what its lost home had published.
    expect((await log.grow(left, "log")).size).toBeGreaterThan(last.size);
    expect(await log.continues(left, last)).toBe(true);
    expect(await log.sequencer(left)).toMatchObject({ era: 1, held: null, unwitnessed: null });
    expect(await standings(node)).toContainEqual(dead);

    await bringEnginesBack();
    await untilTakenOut(cluster);
    const askedMs = performance.now();
    await expect(onlyNode(cluster, lost).start()).rejects.toThrow(`no copy in data centre ${lost}`);
    console.log(`refused after ${Math.round(performance.now() - askedMs)} ms`);
    expect(await standings(node)).toContainEqual(dead);
    const company = createClient(await cluster.newCompany(), cluster.nodesOf(left));
    await company.expectAnswer(200, "retrieval", productSearch);
  });
});

describe("a region that is lost right after it acknowledged, with SVC_REPLICATE_BEFORE_ACK=yes", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    const env = { SVC_REPLICATE_BEFORE_ACK: "yes" };
    cluster = await openCluster({ engines, nodes: { [lost]: 1, [left]: 1 }, env });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it("the push is completed by the successor, each record exactly once", { timeout: testMaxMs }, async () => {
    const business = await openBusiness(cluster, lost, [...cluster.nodesOf(lost), ...cluster.nodesOf(left)]);
    const published = products("acknowledged", records);
    const push = await business.push(1, published);
    await push.send();
    await lose(cluster);
    const node = onlyNode(cluster, left);
    expect(await ordered(node, "declare-dead", { region: lost, successor: left })).toBe("declared");
    expect((await push.untilComplete()).counts["accepted"]).toBe(records);
    const faults = await publicationFaults(cluster, {
      business: business.caller.uuid,
      published: once(published),
      regions: [left],
      isGeneration: (generation) => generation === 1 || generation === afterTakeover,
    });
    expect(faults).toEqual([]);
    await bringEnginesBack();
  });
});

const dead = expect.objectContaining({ region: lost, status: "dead", successor: left });

/** What operators read of each region. */
async function standings(node: TestNode): Promise<readonly object[]> {
  const { regions } = (await (await contractFetch(`${node.urls.ops}/ops/cluster`)).json()) as {
    readonly regions: readonly { readonly standing: object }[];
  };
  return regions.map(({ standing }) => standing);
}

/** Resolves once the lost region's Cassandra, back on its old data, has learnt what became of the keyspace meanwhile. */
async function untilTakenOut(cluster: TestCluster): Promise<void> {
  await using there = await openTruth(cluster, lost);
  await expect
    .poll(async () => Object.keys(await readReplication(there.session, cluster.keyspace)), {
      timeout: 60_000,
      interval: 200,
    })
    .toEqual([left]);
}

/**
 * Resolves once the other region's Cassandra has all of the party's data in the lost one: only then does the loss cost
 * nothing.
 */
async function untilReplicated(cluster: TestCluster, uuid: string): Promise<void> {
  await using there = await openTruth(cluster, lost);
  await using here = await openTruth(cluster, left);
  const cql = "SELECT DISTINCT kind, id, head FROM actor";
  await expect
    .poll(
      async () => {
        const heads = await Promise.all(
          [there, here].map(async ({ session }) => {
            const { rows } = await session.execute(cql, [], { idempotent: true });
            return rows
              .map(({ kind, id, head }) => `${kind}/${id} ${head}`)
              .filter((row) => row.includes(uuid));
          }),
        );
        return heads[0]?.length !== 0 && heads[0]?.toSorted().join() === heads[1]?.toSorted().join();
      },
      { timeout: 30_000, interval: 200 },
    )
    .toBe(true);
}
