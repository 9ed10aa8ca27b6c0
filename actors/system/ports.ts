// What the actor system needs from outside. It knows no clock, no timer and no source of ids but these, so that a
// simulator which gives its own drives every step.

import type { Clock } from "../../crypto/port.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import type { Delivery, RemoteTarget } from "../../transport/actor-transport.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, CommandType, Message } from "../messages/protocol.ts";
import type { Activity, ActorDefinition, ActorSystem } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";

export type { Delivery, RemoteTarget };

export interface TimerPort {
  /** Calls `run` once, `delayMs` from now or a little later; the answer cancels it. */
  schedule(delayMs: number, run: () => void): () => void;
}

export interface EntropyPort {
  /** A fresh UUID. */
  newOperationId(): string;
}

export interface LogEntry {
  readonly level: "info" | "warn" | "error";
  readonly event: string;
  readonly actor: string;
  readonly detail: string;
}

export interface ActorSystemOptions {
  readonly store: ActorStore;
  readonly definitions: readonly ActorDefinition[];
  readonly activities: Readonly<Record<string, Activity>>;
  readonly clock: Clock;
  readonly timers: TimerPort;
  readonly entropy: EntropyPort;
  /** The node incarnation that claims actors. */
  readonly owner: string;
  /** Where an actor lives now; without it everything is local. A hint only: the store's fence decides (A1). */
  readonly route?: (ref: ActorRef) => "local" | RemoteTarget;
  readonly limits?: Partial<ActorLimits>;
  readonly log?: (entry: LogEntry) => void;
}

/** The system as its own node sees it. */
export interface LocalActorSystem<Protocols = ActorProtocols> extends ActorSystem<Protocols> {
  /** Sends a command nobody waits for. False when it was refused; nothing else is promised, see outbox effects. */
  tell<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
  ): boolean;
  /** As `ask`, for commands that another node routed here: never routed on. */
  askHere(to: ActorRef, command: Message, timeoutMs: number): Promise<unknown>;
  /** Receives from another node's outbox; see {@link RemoteTarget.deliver}. */
  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number>;
  /**
   * To be called when the membership changed: looks for actors that another node left with waiting work, and tries at once
   * what was to be tried again later.
   */
  adopt(): Promise<void>;
  /** Lets go of actors that `route` now places elsewhere, each once it has finished what it accepted; resolves when all have. */
  handOver(): Promise<void>;
  /**
   * Stops at once, for a node that lost its lease: whoever waits is told that the effect is unknown, and every
   * later command is refused. What the journals hold goes on elsewhere.
   */
  halt(): void;
  /** Lifts a quarantine. False when the actor is in none. */
  release(ref: ActorRef): boolean;
}
