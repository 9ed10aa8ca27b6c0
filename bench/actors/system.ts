// An actor system of counters on a SQLite file, composed as in a node.

import { randomUUID } from "node:crypto";
import type { ActorLimits } from "../../actors/system/limits.ts";
import type { LocalActorSystem, TimerPort } from "../../actors/system/ports.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import { type CounterProtocols, durableCounter, memoryCounter } from "./counter.ts";

export const timers: TimerPort = {
  schedule: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export function counterSystem(
  store: ActorStore,
  limits: Partial<ActorLimits> = {},
): LocalActorSystem<CounterProtocols> {
  return createActorSystem<CounterProtocols>({
    store,
    definitions: [durableCounter, memoryCounter],
    activities: {},
    clock: { now: Date.now },
    timers,
    entropy: { newOperationId: randomUUID },
    owner: `bench/${process.pid}`,
    limits,
    log: ({ level, event, actor, detail }) => console.error(`${level} ${event} ${actor}: ${detail}`),
  });
}
