// Some worlds last longer than a push that was staged may be on its way: a day of production within a minute or two. They
// are worlds of their own, for they look for abandoned pushes every moment and not once an hour.
//   N1. In the evening clients begin something more, and in the middle of it all processes stand still, to go on in the
//       morning: what lies between staging and acceptance then is as old as what nobody will accept.
//   N2. In the morning clients send again what was not answered while nodes look for what is old.

import { abandonedAfterMs } from "../../service/abandoned-pushes.ts";
import { Random } from "../kernel/random.ts";

export interface Night {
  /** From the beginning of the safety phase. */
  readonly fallsAfterMs: number;
  /** From the last that clients begin to nightfall: batches are staged and not accepted for the better part of it. */
  readonly eveningMs: number;
  readonly lastsMs: number;
  /** Until the last client sends again what was not answered. */
  readonly morningMs: number;
  /** Between two sweeps of a node. */
  readonly sweepEveryMs: number;
}

/** Share of the worlds that may have one. */
const presence = 0.25;
/** A day of these worlds: no request of theirs lasts as long, with all its time-outs one after the other. */
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

/** Whether a seed's world has a night if it may have one. */
export function mayHaveNight(seed: number): boolean {
  return drawNight(nightDraws(Random.of(seed))) !== null;
}

/** What {@link drawNight} draws from, of all that a seed's world draws from. */
export function nightDraws(random: Random): Random {
  return random.fork("night");
}

/** How long after its staging a push may be accepted; undefined where no day passes: as in production. */
export function acceptWithinMs(night: Night | null): number | undefined {
  return night === null ? undefined : dayMs / 4;
}

/** When nodes look for what was abandoned, and how old it then is: where no day passes, as in production. */
export function sweepTimes(night: Night | null): { readonly everyMs: number; readonly afterMs: number } {
  return night === null
    ? { everyMs: hourMs, afterMs: abandonedAfterMs }
    : { everyMs: night.sweepEveryMs, afterMs: dayMs };
}
