// Limits of the actor systems of a world: small, and different for every seed, so that snapshots, passivation, retries and
// full mailboxes happen within seconds of virtual time.

import type { ActorLimits } from "../../actors/system/limits.ts";
import type { Random } from "../kernel/random.ts";

export function drawLimits(random: Random): Partial<ActorLimits> {
  return {
    batchCommandsMax: random.pick([1, 2, 8, 64]),
    activationsMax: random.pick([7, 13, 1_000, 1_000]),
    idleMs: random.pick([1_000, 4_000, 60_000]),
    idleSweepMs: 2_000,
    timerHorizonMs: random.pick([1_000, 60_000]),
    snapshotEveryEvents: random.pick([1, 2, 4, 128]),
    askTimeoutMs: random.pick([2_000, 5_000, 10_000]),
    deadlineSweepMs: 250,
    commitResendsMax: random.pick([1, 2, 3]),
    claimAttemptsMax: 5,
    storeRetryMs: 40,
    restartMs: 50,
    restartMaxMs: 1_000,
    deliveryWindow: random.pick([1, 2, 64]),
    effectRetryMs: 50,
    effectRetryMaxMs: 1_500,
    actorActivitiesMax: random.pick([1, 2, 8]),
    ackFlushMs: random.pick([50, 200, 2_000]),
    outboxWakeMs: random.pick([2_000, 5_000]),
    pollMs: random.pick([700, 1_500]),
    commandsPerFlushMax: random.pick([16, 4_096]),
  };
}
