// The actor system of a node that may lose its membership and rejoin: each incarnation has a system of its own, and a
// caller always reaches the one in force.
//   C1. Between two incarnations every call is refused as `restarting`, and nothing of it is applied.
//   C2. Counters continue over all incarnations of the process: refusals stay visible, including those of commits that the
//       store refused to an incarnation only after the next one had started.

import { type ActorSystemStats, actorUnavailable } from "./definition.ts";
import type { LocalActorSystem } from "./ports.ts";

export interface CurrentActors extends LocalActorSystem {
  /** Makes the system of the next incarnation. The previous one must have been halted or drained. */
  begin(owner: string): void;
}

const nothing: ActorSystemStats = {
  active: 0,
  mailboxed: 0,
  commits: 0,
  commandsHandled: 0,
  refusedCommits: 0,
  crashes: 0,
  quarantined: [],
  outboxPending: 0,
  activitiesWaiting: 0,
};

/** `make` returns the actor system for the given owner. */
export function createCurrentActors(make: (owner: string) => LocalActorSystem): CurrentActors {
  let system: LocalActorSystem | null = null;
  /** The previous system: its last commits may be answered only now (C2). */
  let former: LocalActorSystem | null = null;
  let before: ActorSystemStats = nothing;
  let isStarted = false;
  return {
    begin: (owner) => {
      before = counted(nothing, [before, former?.stats() ?? nothing]);
      former = system;
      system = make(owner);
      // It finds pending work on its own as soon as any is placed here; if looking fails, it looks again.
      if (isStarted) system.start().catch(() => {});
    },
    ask: (to, command, options) => system?.ask(to, command, options) ?? refused(),
    askSpeculative: (to, command) => {
      if (system !== null) return system.askSpeculative(to, command);
      const [decided, reply] = [refused(), refused()];
      // A caller that awaits either of them still sees the failure.
      for (const each of [decided, reply]) each.catch(() => {});
      return { decided, reply };
    },
    askHere: (...asked) => system?.askHere(...asked) ?? refused(),
    tell: (to, command) => system?.tell(to, command) ?? false,
    deliver: (...delivered) => system?.deliver(...delivered) ?? refused(),
    inspect: async (ref) => (await system?.inspect(ref)) ?? null,
    glances: () => system?.glances() ?? [],
    stats: () => {
      const now = system?.stats() ?? nothing;
      return counted(now, [now, former?.stats() ?? nothing, before]);
    },
    loads: () => system?.loads() ?? { kinds: {}, regions: [] },
    /** Starts this and every later incarnation. */
    start: async () => {
      isStarted = true;
      await system?.start();
    },
    adopt: async () => {
      await system?.adopt();
    },
    handOver: async () => {
      await system?.handOver();
    },
    halt: () => system?.halt(),
    release: (ref) => system?.release(ref) ?? false,
    retryNow: (ref) => system?.retryNow(ref) ?? false,
    passivate: (ref) => system?.passivate(ref) ?? false,
    drain: async (timeoutMs) => {
      await system?.drain(timeoutMs);
    },
  };
}

/** `now`, with the counters of all systems added up. */
function counted(now: ActorSystemStats, all: readonly ActorSystemStats[]): ActorSystemStats {
  const sum = (counter: "commits" | "commandsHandled" | "refusedCommits" | "crashes"): number =>
    all.reduce((total, stats) => total + stats[counter], 0);
  return {
    ...now,
    commits: sum("commits"),
    commandsHandled: sum("commandsHandled"),
    refusedCommits: sum("refusedCommits"),
    crashes: sum("crashes"),
  };
}

function refused(): Promise<never> {
  return Promise.reject(actorUnavailable("restarting", { retryAfterSeconds: 1, effect: "not_applied" }));
}
