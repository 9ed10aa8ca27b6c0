// Regions of nodes on real engines, against the engines queried directly. Two regions with one node each, and for failover a
// second node in one of them.

import { setTimeout as delay } from "node:timers/promises";
import { nonceRef } from "../../actors/messages/refs.ts";
import { placeOn } from "../../cluster/placement.ts";
import type { CallLoad } from "../actors/program.ts";
import { fetchPlan, productId } from "../catalogue.ts";
import { measureAnswers } from "../cluster/answers.ts";
import { openEngines } from "../cluster/engines.ts";
import { measureImports, measurePushes } from "../cluster/pushes.ts";
import { type ClusterNode, openRegions, type Regions } from "../cluster/regions.ts";
import { compare, figure, type Measured, median, takeRounds } from "../figures.ts";
import { refused, sendOne } from "../load.ts";
import { newCompany } from "../parties.ts";
import { type Caller, makeRequest } from "../requests.ts";
import type { World } from "../world.ts";

export function measureCluster(world: World): Promise<readonly Measured[]> {
  return measureParts(world, [measurePushes, measureAnswers, measureCommits, measureFailover]);
}

export function measureClusterImport(world: World): Promise<readonly Measured[]> {
  return measureParts(world, [measureImports]);
}

async function measureParts(
  world: World,
  parts: readonly ((regions: Regions) => Promise<readonly Measured[]>)[],
): Promise<readonly Measured[]> {
  await using engines = await openEngines((what) => world.say(what));
  if (engines === null) return [];
  await using regions = await openRegions(world, engines);
  const figures: Measured[] = [];
  for (const measure of parts) {
    const measured = await measure(regions);
    // The section takes long, so each result is reported at once.
    for (const { name, ratio, ours } of measured)
      world.say(`cluster: ${name}: ${(ratio ?? ours).toFixed(2)}`);
    figures.push(...measured);
  }
  return figures;
}

const actors = 500;
const callers = 64;

/** Durable calls through the actor system on Cassandra, against bare conditional batches. */
async function measureCommits({ world, place }: Regions): Promise<readonly Measured[]> {
  world.say("cluster: durable calls");
  const load: CallLoad = { at: place, actors, callers, calls: world.size(10_000, 1_000) };
  const program = "actors/program.ts";
  const commits = (await world.callIn(program, "record", load)).flat();
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => {
      const { commits: made, elapsedMs } = await world.callIn(program, "run", load);
      return (made / elapsedMs) * 1_000;
    },
    floor: async () => {
      await using child = world.startFloor();
      const ms = await child.call("floor/engines.ts", "replay", { place, callers, commits });
      return (commits.length / ms) * 1_000;
    },
  });
  const name = `durable calls over ${actors} actors, ${callers} at once`;
  const note =
    "The floor sends the rows of the same commits as conditional batches, made beforehand, in the same order and as many at once.";
  return [figure(name, "commits/s", compare(rounds), { atLeast: 0.8 }, note)];
}

const pauseMs = 20;
const patienceMs = 60_000;
/** Pause between a start and the next kill, for the view to settle. */
const settleMs = 3_000;

/** Time from kill -9 of a node to the first answer that needs one of its actors. */
async function measureFailover(regions: Regions): Promise<readonly Measured[]> {
  const { world, node } = regions;
  let second = await regions.startSecond();
  const tookMs: number[] = [];
  for (let round = 0; round < world.size(7, 2); round += 1) {
    world.say(`cluster: failover, round ${round + 1}`);
    const caller = await callerAt(regions, second);
    // By then its key is known, and its actor in memory.
    await untilAnswered(second, caller);
    await untilAnswered(node, caller);
    await delay(settleMs);
    const startedMs = performance.now();
    await second.child.kill();
    await untilAnswered(node, caller);
    tookMs.push(performance.now() - startedMs);
    second = await regions.startSecond();
  }
  const note =
    `Default settings. Another node of the region is asked every ${pauseMs} ms for an answer that claims a nonce with an actor of the killed one. ` +
    `The slowest of ${tookMs.length} rounds; their median ${(median(tookMs) / 1_000).toFixed(1)} s.`;
  const name = "failover: from kill -9 to the first answer of the moved actor";
  return [
    figure(name, "s", Math.max(...tookMs) / 1_000, { atMost: 4 }, note),
    await measureFalseEvictions(regions, [node, second]),
  ];
}

/** In milliseconds; after each, a node runs for two thirds as long, so that three fifths of its time are taken away. */
const stopsMs = [150, 1_200, 300, 600, 100, 900];

/** Nodes that lose their lease though nobody died, at default settings. */
async function measureFalseEvictions({ world }: Regions, nodes: readonly ClusterNode[]): Promise<Measured> {
  world.say("cluster: two nodes of whose time 60 % is taken away");
  const incarnations = () => Promise.all(nodes.map(({ child }) => child.call("serve.ts", "incarnation")));
  const before = await incarnations();
  const untilMs = performance.now() + world.size(60_000, 5_000);
  await Promise.all(
    nodes.map(async ({ child }, first) => {
      for (let at = first; performance.now() < untilMs; at += 1) {
        const stopMs = stopsMs[at % stopsMs.length] ?? 0;
        await child.pause(stopMs);
        await delay((stopMs * 2) / 3);
      }
    }),
  );
  const after = await incarnations();
  const lost = after.filter((each, at) => each !== before[at]).length;
  const note = `Both nodes of a region are stopped again and again for a minute, for up to ${Math.max(...stopsMs)} ms, each in its own order.`;
  return figure(
    "nodes of two that lose their lease while 60 % of their time is taken away",
    "",
    lost,
    { atMost: 0 },
    note,
  );
}

/** A company whose nonces are claimed at `holder`, of the two nodes of the region. */
async function callerAt({ node, keysFolder }: Regions, holder: ClusterNode): Promise<Caller> {
  for (;;) {
    const caller = await newCompany(keysFolder);
    const { kind, id } = nonceRef(caller.key.keyId, holder.region);
    if (placeOn(`${kind}/${id}`, [node, holder]) === holder) return caller;
  }
}

/** Sends requests, each newly signed, until there is an answer in which an actor took part. */
async function untilAnswered({ baseUrl, target }: ClusterNode, caller: Caller): Promise<void> {
  const lateMs = performance.now() + patienceMs;
  // Not a record id: refused once the nonce is claimed.
  const plan = fetchPlan(productId(0));
  while (performance.now() < lateMs) {
    const answer = await sendOne(target, await makeRequest(baseUrl, caller, plan));
    if (answer.status === 422 || answer.status === 400) return;
    if (answer.status !== 503) throw refused("answer", answer);
    await delay(pauseMs);
  }
  throw new Error("no answer");
}
