// What happens to a world from time to time while its faults are active: nodes die, are suspended and upgraded, links and
// indexes fail and recover, clocks jump.

import type { Random } from "../kernel/random.ts";
import { type FaultKind, skewMaxMs } from "./faults.ts";
import type { SimNode } from "./sim-node.ts";
import type { World } from "./world.ts";

const awayMaxMs = 4_000;
/** Nothing listens where an index should be. */
const refusedAfterMs = 1;
/** An index does not answer; longer than anybody waits for an answer that does not need it. */
const unansweredMs = 10_000;
const sleepMaxMs = 6_000;
const haltedMs = 5_000;
/** Maximum time from the first to the last process that resumes in the morning, and between two of them. */
const morningMs = 150;
const wakingMs = 20;

type Blow = (world: World, random: Random) => boolean;

const blows: Partial<Record<FaultKind, Blow>> = {
  node_crash: (world, random) => withNode(world, random, (node) => world.crash(node)),
  node_pause: (world, random) => withNode(world, random, (node) => pause(world, node, random)),
  node_upgrade: (world, random) => withNode(world, random, (node) => upgrade(world, node)),
  clock_skew: (world, random) =>
    withNode(world, random, (node) => {
      node.slot.skewMs = random.between(-skewMaxMs, skewMaxMs);
    }),
  link_cut_one_way: (world, random) => cut(world, random, false),
  link_cut: (world, random) => cut(world, random, true),
  index_away: (world, random) => {
    const region = random.pick(world.parts.regions);
    const { away } = world.parts.indexWeather;
    away.set(region, refusedAfterMs);
    world.parts.kernel.after(random.between(200, awayMaxMs), "index is back", () => {
      if (away.get(region) === refusedAfterMs) away.delete(region);
    });
    return true;
  },
  replication_cut: (world, random) => {
    const [from, to] = random.chance(0.5) ? world.parts.regions : [...world.parts.regions].reverse();
    if (from === undefined || to === undefined) return false;
    const pair = `${from} ${to}`;
    world.cutRegions.add(pair);
    world.parts.kernel.after(random.between(200, awayMaxMs), "replication is back", () =>
      world.cutRegions.delete(pair),
    );
    return true;
  },
};

/** Starts the faults; ends when they become inactive. */
export function unleash(world: World, random: Random): void {
  const { faults, kernel } = world.parts;
  for (const [name, blow] of Object.entries(blows)) {
    const kind = name as FaultKind;
    const draw = random.fork(kind);
    const strike = (): void => {
      if (!faults.active) return;
      const name = faults.mayStrike(kind);
      if (name !== null && blow(world, draw)) {
        faults.note(kind, name);
        kernel.tell(`fault ${kind}`);
      }
      arm();
    };
    const arm = (): void => {
      const afterMs = faults.nextAfterMs(kind);
      if (afterMs !== null) kernel.after(afterMs, `fault ${kind}`, strike);
    };
    arm();
  }
}

/** Suspends all running processes at once for the night; in the morning they resume one after another. */
export function nightPasses(world: World, lastsMs: number): Promise<void> {
  const { kernel } = world.parts;
  kernel.tell("night falls");
  world.observed.mark("night");
  [...world.running.values()].forEach((node, index) => {
    node.life.sleep();
    kernel.after(lastsMs + index * wakingMs, "node wakes in the morning", () => wake(world, node));
  });
  return new Promise((resolve) => kernel.after(lastsMs + morningMs, "it is morning", resolve));
}

/** No call of the region's index is answered while `during` runs. */
export async function withoutIndex(
  world: World,
  region: string,
  during: () => Promise<unknown>,
): Promise<void> {
  const { kernel, indexWeather } = world.parts;
  kernel.tell(`the index of ${region} answers nobody`);
  indexWeather.away.set(region, unansweredMs);
  await during();
  indexWeather.away.delete(region);
  kernel.tell(`the index of ${region} is back`);
}

/** Restores every cut link, unavailable index and suspended node. */
export function calm(world: World): void {
  const { network, indexWeather, slots } = world.parts;
  for (const from of slots) for (const to of slots) network.heal(from.name, to.name);
  indexWeather.away.clear();
  world.cutRegions.clear();
  for (const node of world.running.values()) if (node.life.isAsleep) wake(world, node);
}

function withNode(world: World, random: Random, strike: (node: SimNode) => void): boolean {
  const nodes = [...world.running.values()].filter((node) => !node.life.isAsleep);
  if (nodes.length === 0) return false;
  strike(random.pick(nodes));
  return true;
}

function pause(world: World, node: SimNode, random: Random): void {
  node.life.sleep();
  world.parts.kernel.after(random.between(300, sleepMaxMs), "node wakes", () => wake(world, node));
}

/** The first code that runs after a pause checks the lease; a node whose clock stood still as well notices later. */
function wake(world: World, node: SimNode): void {
  if (node.life.isOver || !node.life.isAsleep) return;
  const { faults, kernel, hasRealMembership } = world.parts;
  if (!hasRealMembership && node.lease() === null && faults.meets("lease_unnoticed")) {
    world.observed.mark("lease.unnoticed");
    kernel.after(400, "node notices its lease", () => loseLease(world, node));
  } else loseLease(world, node);
  node.life.wake();
}

function loseLease(world: World, node: SimNode): void {
  if (node.life.isOver || !node.wakeUp()) return;
  world.observed.mark("lease.lost");
  world.replace(node);
  // What it was still answering ends with an error of its own; then the process is terminated.
  world.parts.kernel.after(haltedMs, "halted incarnation ends", () => node.life.end());
}

/** Rolling upgrade: the node is drained, then the next version replaces it. */
export function upgrade(world: World, node: SimNode): void {
  const { kernel, network } = world.parts;
  kernel.tell(`${node.incarnation} drains`);
  world.stopTaking(node);
  const end = (): void => {
    world.observed.mark("node.drained");
    network.close(node);
    kernel.after(0, "drained node ends", () => node.life.end());
  };
  void node.leave().then(end, end);
}

function cut(world: World, random: Random, bothWays: boolean): boolean {
  const { slots, network, kernel } = world.parts;
  if (slots.length < 2) return false;
  const from = random.pick(slots);
  const to = random.pick(slots.filter((slot) => slot !== from));
  network.cut(from.name, to.name);
  if (bothWays) network.cut(to.name, from.name);
  kernel.after(random.between(200, awayMaxMs), "link is back", () => {
    network.heal(from.name, to.name);
    network.heal(to.name, from.name);
  });
  return true;
}
