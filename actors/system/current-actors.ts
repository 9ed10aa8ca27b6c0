// The actor system of a node that may lose its place among the others and take another one: each incarnation has a system
// of its own, and whoever asks always reaches the one in force.
//   C1. Between two incarnations every call is refused as `restarting`, nothing of it applied.
//   C2. Counters go on over all incarnations of the process: what a node was refused stays visible, also what the store
//       refused an incarnation only when the next one had begun.

import type { ActorRef } from "../../storage/actor-store.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, CommandType, ReplyOf } from "../messages/protocol.ts";
import {
  type ActorReport,
  type ActorSystemStats,
  type AskedAhead,
  type AskOptions,
  actorUnavailable,
  type Message,
} from "./definition.ts";
import type { Delivery, LocalActorSystem } from "./ports.ts";

export interface CurrentActors extends LocalActorSystem {
  /** Makes the system of the next incarnation. The one before must have been halted or drained. */
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
};

/** `make` gives the actor system of the owner's name. */
export function createCurrentActors(make: (owner: string) => LocalActorSystem): CurrentActors {
  return new Current(make);
}

class Current implements CurrentActors {
  readonly #make: (owner: string) => LocalActorSystem;
  #system: LocalActorSystem | null = null;
  /** The one before: what it sent last may be answered only now (C2). */
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
    // It finds waiting work by itself as soon as any is placed here; a failure to look is looked at again.
    if (this.#isStarted) this.#system.start().catch(() => {});
  }

  ask<K extends Kind, T extends CommandType<ActorProtocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<ActorProtocols[K], T>,
    options?: AskOptions,
  ): Promise<ReplyOf<ActorProtocols[K], T>> {
    return this.#system?.ask(to, command, options) ?? refused();
  }

  askAhead<K extends Kind, T extends CommandType<ActorProtocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<ActorProtocols[K], T>,
  ): AskedAhead<ReplyOf<ActorProtocols[K], T>> {
    if (this.#system !== null) return this.#system.askAhead(to, command);
    const [decided, reply] = [refused(), refused()];
    // Whoever looks at one of them is told.
    for (const each of [decided, reply]) each.catch(() => {});
    return { decided, reply };
  }

  askHere(to: ActorRef, command: Message, timeoutMs: number): Promise<unknown> {
    return this.#system?.askHere(to, command, timeoutMs) ?? refused();
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

  stats(): ActorSystemStats {
    const now = this.#system?.stats() ?? nothing;
    return counted(now, [now, this.#former?.stats() ?? nothing, this.#before]);
  }

  /** Of this and every later incarnation. */
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

  async drain(timeoutMs: number): Promise<void> {
    await this.#system?.drain(timeoutMs);
  }
}

/** `now`, with the counters of all. */
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
