// The actor system of a node that may lose its membership and rejoin: each incarnation has a system of its own, and a
// caller always reaches the one in force.
//   C1. Between two incarnations every call is refused as `restarting`, and nothing of it is applied.
//   C2. Counters continue over all incarnations of the process: refusals stay visible, including those of commits that the
//       store refused to an incarnation only after the next one had started.

import type { ActorRef } from "../../storage/actor-store.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, CommandType, ReplyOf } from "../messages/protocol.ts";
import {
  type ActorGlance,
  type ActorLoads,
  type ActorReport,
  type ActorSystemStats,
  type AskedAhead,
  type AskOptions,
  actorUnavailable,
  type Message,
} from "./definition.ts";
import type { Delivery, LocalActorSystem } from "./ports.ts";

export interface CurrentActors extends LocalActorSystem {
  /** Makes the system of the next incarnation. The previous one must have been halted or drained. */
  begin(owner: string): void;
}

type Kind = KindOf<ActorProtocols>;

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
  return new Current(make);
}

class Current implements CurrentActors {
  readonly #make: (owner: string) => LocalActorSystem;
  #system: LocalActorSystem | null = null;
  /** The previous system: its last commits may be answered only now (C2). */
  #former: LocalActorSystem | null = null;
  #before: ActorSystemStats = nothing;
  #isStarted = false;

  constructor(make: (owner: string) => LocalActorSystem) {
    this.#make = make;
  }

  begin(owner: string): void {
    this.#before = counted(nothing, [this.#before, this.#former?.stats() ?? nothing]);
    this.#former = this.#system;
    this.#system = this.#make(owner);
    // It finds pending work on its own as soon as any is placed here; if looking fails, it looks again.
    if (this.#isStarted) this.#system.start().catch(() => {});
  }

  ask<K extends Kind, T extends CommandType<ActorProtocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<ActorProtocols[K], T>,
    options?: AskOptions,
  ): Promise<ReplyOf<ActorProtocols[K], T>> {
    return this.#system?.ask(to, command, options) ?? refused();
  }

  askSpeculative<K extends Kind, T extends CommandType<ActorProtocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<ActorProtocols[K], T>,
  ): AskedAhead<ReplyOf<ActorProtocols[K], T>> {
    if (this.#system !== null) return this.#system.askSpeculative(to, command);
    const [decided, reply] = [refused(), refused()];
    // A caller that awaits either of them still sees the failure.
    for (const each of [decided, reply]) each.catch(() => {});
    return { decided, reply };
  }

  askHere(to: ActorRef, command: Message, timeoutMs: number, traceparent?: string | null): Promise<unknown> {
    return this.#system?.askHere(to, command, timeoutMs, traceparent) ?? refused();
  }

  tell<K extends Kind, T extends CommandType<ActorProtocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<ActorProtocols[K], T>,
  ): boolean {
    return this.#system?.tell(to, command) ?? false;
  }

  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number> {
    return this.#system?.deliver(to, from, messages) ?? refused();
  }

  async inspect(ref: ActorRef): Promise<ActorReport | null> {
    return (await this.#system?.inspect(ref)) ?? null;
  }

  glances(): Iterable<ActorGlance> {
    return this.#system?.glances() ?? [];
  }

  stats(): ActorSystemStats {
    const now = this.#system?.stats() ?? nothing;
    return counted(now, [now, this.#former?.stats() ?? nothing, this.#before]);
  }

  loads(): ActorLoads {
    return this.#system?.loads() ?? { kinds: {}, regions: [] };
  }

  /** Starts this and every later incarnation. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.#system?.start();
  }

  async adopt(): Promise<void> {
    await this.#system?.adopt();
  }

  async handOver(): Promise<void> {
    await this.#system?.handOver();
  }

  halt(): void {
    this.#system?.halt();
  }

  release(ref: ActorRef): boolean {
    return this.#system?.release(ref) ?? false;
  }

  retryNow(ref: ActorRef): boolean {
    return this.#system?.retryNow(ref) ?? false;
  }

  passivate(ref: ActorRef): boolean {
    return this.#system?.passivate(ref) ?? false;
  }

  async drain(timeoutMs: number): Promise<void> {
    await this.#system?.drain(timeoutMs);
  }
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
