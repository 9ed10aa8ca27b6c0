// What the actor system needs from outside. It has no other clock, timer or source of ids, so a
// simulator that supplies its own controls every step.

import type { Clock, TimerPort } from "../../crypto/port.ts";
import type { Tracer } from "../../std/tracing.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import type { Delivery, RemoteTarget } from "../../transport/actor-transport.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, CommandType, Message } from "../messages/protocol.ts";
import type { Activity, ActorDefinition, ActorLoads, ActorSystem } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";

export type { Delivery, RemoteTarget, TimerPort };

export interface EntropyPort {
  /** Returns a fresh UUID. */
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
  /** Where an actor lives now; if absent, every actor is local. This is only a hint: the store's fence decides (A1). */
  readonly route?: (ref: ActorRef) => "local" | RemoteTarget;
  readonly limits?: Partial<ActorLimits>;
  /** Absent where no trace is recorded. */
  readonly tracer?: Tracer | undefined;
  readonly log?: (entry: LogEntry) => void;
}

/** The actor system as its own node sees it. */
export interface LocalActorSystem<Protocols = ActorProtocols> extends ActorSystem<Protocols> {
  /**
   * Sends a command without waiting for a reply. False if it was refused; nothing else is guaranteed (unlike outbox
   * effects).
   */
  tell<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
  ): boolean;
  /** Like `ask`, for commands that another node routed here: they are never routed further. */
  askHere(to: ActorRef, command: Message, timeoutMs: number, traceparent?: string | null): Promise<unknown>;
  /** Receives messages from another node's outbox; see {@link RemoteTarget.deliver}. */
  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number>;
  /**
   * To be called when the membership has changed: looks for actors that another node left with pending work, and retries
   * waiting effects at once.
   */
  adopt(): Promise<void>;
  /**
   * Releases the actors that `route` now places elsewhere, each once it has finished what it accepted; resolves when all
   * have.
   */
  handOver(): Promise<void>;
  /**
   * Stops at once, for a node that lost its lease: every waiting caller is told that the effect is unknown, and every
   * later command is refused. The work in the journals continues elsewhere.
   */
  halt(): void;
  /** What the actors in memory hold, by kind. */
  loads(): ActorLoads;
  /** Lifts a quarantine. False if the actor is not quarantined. */
  release(ref: ActorRef): boolean;
  /**
   * Tries again at once what waits for a retry: effects, or the restart after a crash. False if the actor is not in memory and
   * does not wait for a restart.
   */
  retryNow(ref: ActorRef): boolean;
  /** Lets an actor leave memory once it has finished what it accepted. False if it is not in memory. */
  passivate(ref: ActorRef): boolean;
}
