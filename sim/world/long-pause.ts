// Some worlds last longer than a staged push may wait for acceptance: a day of production within a minute or two. They
// are separate worlds, because their nodes look for abandoned pushes continuously instead of once an hour.
//   N1. In the evening clients start something more, and in the middle of it all processes are suspended until the
//       morning: what is then between staging and acceptance is as old as what nobody will accept.
//   N2. In the morning clients retry what was not answered while nodes look for what is old.

import { abandonedAfterMs } from "../../service/abandoned-pushes.ts";
import { Random } from "../kernel/random.ts";

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
