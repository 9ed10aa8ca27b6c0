// What an activation may request from the system it runs in.

import type { Clock } from "../../crypto/port.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import type { Activation } from "./activation.ts";
import type { Message } from "./definition.ts";
import type { DeliveryDone, Envelope } from "./envelope.ts";
import type { ActorLimits } from "./limits.ts";
import type { Delivery, EntropyPort, LogEntry, TimerPort } from "./ports.ts";
import type { Supervisor } from "./supervision.ts";

export interface Counters {
  commits: number;
  commandsHandled: number;
  refusedCommits: number;
  crashes: number;
}

export interface ActorHost {
  readonly store: ActorStore;
  readonly clock: Clock;
  readonly timers: TimerPort;
  readonly entropy: EntropyPort;
  readonly owner: string;
  readonly limits: ActorLimits;
  readonly supervisor: Supervisor;
  readonly counters: Counters;
  /** Runs the activation soon, and once however often it is scheduled. */
  schedule(activation: Activation): void;
  /** Notes that callers wait for the activation: it is checked for time-outs until it is noted idle. */
  noteBusy(activation: Activation): void;
  noteIdle(activation: Activation): void;
  /** Whether the actor belongs on this node. */
  isHere(ref: ActorRef): boolean;
  /** Sends messages of an outbox, here or to another node. */
  send(to: ActorRef, from: string, messages: readonly Delivery[], done: DeliveryDone): void;
  /** Sends without any guarantee, for actors without a journal. */
  tell(to: ActorRef, message: Message, traceparent: string | null): void;
  perform(activation: Activation, name: string, params: unknown, seq: number): Promise<Message | null>;
  /** Reports that the activation has ended; another may follow. */
  ended(activation: Activation): void;
  /** Activates the actor after a delay, unless something else already did or must not. */
  reviveLater(ref: ActorRef, delayMs: number): void;
  /** Passes envelopes of an activation that lost its actor to a new activation. */
  resubmit(ref: ActorRef, envelopes: readonly Envelope[]): void;
  log(level: LogEntry["level"], event: string, actor: string, detail: string): void;
}
