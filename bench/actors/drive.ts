// Durable calls through the actor system: a number of callers, spread evenly over counters, each waiting for its answer.

import { randomUUID } from "node:crypto";
import type { ActorStore } from "../../storage/actor-store.ts";
import { add, durableRef } from "./counter.ts";
import { counterSystem } from "./system.ts";

export interface CallLoad {
  readonly actors: number;
  /** Calls in flight at any time, spread evenly over the actors. */
  readonly callers: number;
  readonly calls: number;
}

export interface DurableResult {
  readonly calls: number;
  readonly elapsedMs: number;
  readonly commits: number;
}

/** `onBegin` is called when all actors are in memory and the clock starts. */
export async function drive(
  load: CallLoad,
  store: ActorStore,
  onBegin: () => void = () => {},
): Promise<DurableResult> {
  const system = counterSystem(store);
  const run = randomUUID();
  const refs = Array.from({ length: load.actors }, (_, index) => durableRef(`${run}/${index}`));
  // Load all actors into memory before the clock starts: their first call claims them.
  await Promise.all(refs.map((ref) => system.ask(ref, add)));
  const commitsBefore = system.stats().commits;
  let called = 0;
  const caller = async (): Promise<void> => {
    while (called < load.calls) {
      const ref = refs[called % refs.length];
      called += 1;
      if (ref !== undefined) await system.ask(ref, add);
    }
  };
  onBegin();
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: load.callers }, caller));
  const elapsedMs = performance.now() - startedMs;
  const commits = system.stats().commits - commitsBefore;
  await system.drain(1_000);
  return { calls: load.calls, elapsedMs, commits };
}
