// The turns and the paces of simulated nodes, where no time passes while a node works; and the thread of a node where it does.

import type { PushPorts } from "../../actors/push/ports.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { ThreadTurns } from "../../node/keeping/thread-turns.ts";
import {
  createRegionalBudget,
  createRegionalRate,
  type KeyBudget,
  type KeyRate,
} from "../../service/authentication/regional-limits.ts";
import { abandonedAfterMs } from "../../service/publishing/abandoned-pushes.ts";
import type { OwnerTurns, PaceOf } from "../../std/work.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { Random } from "../kernel/random.ts";
import type { SimNode } from "./sim-node.ts";

/** The one thread of the only node of a world, where work takes time, and what shares it as in production. */
export interface NodeThread {
  readonly kernel: Kernel;
  readonly turns: ThreadTurns;
  /** What a key may ask. */
  readonly limits: { readonly perSecond: number; readonly costPerMinute: number };
}

/** No time passes while an index searches, so none waits for another. */
export const turns: OwnerTurns = (_, query) => query();

/** No time passes while a node works, so others have their turn by the number of records. */
export function pacesOf(thread: NodeThread | null): PushPorts["paces"] {
  if (thread !== null) return thread.turns.paces;
  const byItems = (items: number): PaceOf => {
    let done = 0;
    return () => () => {
      done += 1;
      return done % items === 0 ? Promise.resolve() : null;
    };
  };
  return { inline: byItems(50), queued: byItems(20) };
}

const burstSeconds = 2;

/** The limits of keys; there are none where no time passes while a node works. */
export function limitsOf(
  thread: NodeThread | null,
  { actors, region }: { readonly actors: ActorSystem; readonly region: string },
): { readonly requestRate: KeyRate | null; readonly budget: KeyBudget | null } {
  if (thread === null) return { requestRate: null, budget: null };
  const { perSecond, costPerMinute } = thread.limits;
  const deps = { actors, region, nodes: () => 1, elapsedMs: () => thread.kernel.elapsed() };
  return {
    requestRate: createRegionalRate(deps, { perSecond, burst: perSecond * burstSeconds }),
    budget: createRegionalBudget(deps, costPerMinute),
  };
}

/** What somebody waits for goes before long work, where work takes time. */
export function retrievalOf(
  thread: NodeThread | null,
  { search, fetch }: Pick<SimNode, "search" | "fetch">,
): Pick<SimNode, "search" | "fetch"> {
  if (thread === null) return { search, fetch };
  const { during } = thread.turns.rightOfWay;
  return { search: (call) => during(() => search(call)), fetch: (request) => during(() => fetch(request)) };
}

// Some worlds last longer than a staged push may wait for acceptance: a day of production within a minute or two. They
// are separate worlds, because their nodes look for abandoned pushes continuously instead of once an hour.
//   N1. In the evening clients start something more, and in the middle of it all processes are suspended until the
//       morning: what is then between staging and acceptance is as old as what nobody will accept.
//   N2. In the morning clients retry what was not answered while nodes look for what is old.

export interface Night {
  /** Time from the start of the safety phase. */
  readonly fallsAfterMs: number;
  /** Time from the last start of the clients to nightfall: for most of it batches are staged and not accepted. */
  readonly eveningMs: number;
  readonly lastsMs: number;
  /** Time within which the last client retries what was not answered. */
  readonly morningMs: number;
  /** Interval between two sweeps of a node. */
  readonly sweepEveryMs: number;
}

/** Share of the worlds with a night, among those that may have one. */
const presence = 0.25;
/** A day of these worlds: longer than any of their requests takes, with all its time-outs in sequence. */
const dayMs = 60_000;
const hourMs = 3_600_000;

export function drawNight(random: Random): Night | null {
  if (!random.chance(presence)) return null;
  return {
    fallsAfterMs: random.skewed(50, 8_000),
    eveningMs: random.between(30, 100),
    lastsMs: dayMs + random.between(0, 2_000),
    morningMs: random.between(0, 150),
    sweepEveryMs: random.between(120, 280),
  };
}

/** Whether a seed's world has a night, if it is one that may have one. */
export function mayHaveNight(seed: number): boolean {
  return drawNight(nightDraws(Random.of(seed))) !== null;
}

/** The generator for {@link drawNight}, forked from that of a seed's world. */
export function nightDraws(random: Random): Random {
  return random.fork("night");
}

/** How long after its staging a push may be accepted; undefined where no day passes, as in production. */
export function acceptWithinMs(night: Night | null): number | undefined {
  return night === null ? undefined : dayMs / 4;
}

/** When nodes look for abandoned pushes, and how old these are; where no day passes, as in production. */
export function sweepTimes(night: Night | null): { readonly everyMs: number; readonly afterMs: number } {
  return night === null
    ? { everyMs: hourMs, afterMs: abandonedAfterMs }
    : { everyMs: night.sweepEveryMs, afterMs: dayMs };
}
