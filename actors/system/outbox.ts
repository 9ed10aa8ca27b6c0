// The outbox of one actor: sends its effects after the commit that made them true.
//   E1. Effects are retried with back-off, for ever, until they are acknowledged (A3).
//   E2. Messages to one target are sent in order: while some are under way, nothing later is sent, and after a failure
//       the first unacknowledged one is sent first. So a receiver never gets a later message before an earlier one.
//   E3. An acknowledgement is only noted here; the row is removed by the actor's next commit (every write is fenced).
//   E4. Work that fails repeatedly requests a commit from time to time: if the actor belonged to another node by now, and the
//       work were done there, nothing else might ever show it.

import { backOffMs } from "../../std/back-off.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { Effect, Message } from "./definition.ts";
import type { OutboxItem } from "./journal.ts";
import type { ActorLimits } from "./limits.ts";
import type { Delivery, TimerPort } from "./ports.ts";

export interface OutboxOwner {
  readonly limits: ActorLimits;
  readonly timers: TimerPort;
  /** Sends messages; `done` gets the highest acknowledged sequence and the reason why the rest was not acknowledged. */
  deliver(
    to: ActorRef,
    messages: readonly Delivery[],
    done: (acknowledged: number, error: unknown) => void,
  ): void;
  /** Does the work and returns the command for the actor's own mailbox, or null. */
  perform(name: string, params: unknown, seq: number): Promise<Message | null>;
  /** Puts an activity's result into the mailbox; its turn settles the sequence. */
  answer(seq: number, message: Message): void;
  /** Called when an effect was acknowledged: a commit should remove it before long. */
  acknowledged(): void;
  /** Called when work has failed {@link failuresPerDoubt} more times (E4). */
  doubtful(): void;
  /** Called whenever the pending effects, their attempts or their errors changed. */
  changed(): void;
}

/** With the usual back-off, this is reached within a minute the first time, and every few minutes after that. */
const failuresPerDoubt = 8;

export interface PendingEffect {
  readonly seq: number;
  readonly effect: Effect;
  /** When it was decided, in Unix milliseconds. */
  readonly sinceMs: number;
  /** The trace of the command that caused it; null if that is not recorded. */
  readonly traceparent: string | null;
  attempts: number;
  lastError: string | null;
}

interface Lane {
  readonly to: ActorRef;
  waiting: PendingEffect[];
  sending: boolean;
  attempts: number;
  cancelRetry: (() => void) | null;
}

export class Outbox {
  /** The unsettled effects, in ascending order of their sequence. */
  readonly pending = new Map<number, PendingEffect>();
  readonly #owner: OutboxOwner;
  readonly #lanes = new Map<string, Lane>();
  readonly #work: PendingEffect[] = [];
  readonly #retries = new Map<() => void, PendingEffect>();
  #acknowledged: number[] = [];
  #running = 0;
  #stopped = false;

  constructor(owner: OutboxOwner) {
    this.#owner = owner;
  }

  /** Number of sequences that are acknowledged but whose rows are still in the journal. */
  get acknowledgedCount(): number {
    return this.#acknowledged.length;
  }

  /** Whether there are unsettled effects, and all of them only wait for a retry. */
  get isStuck(): boolean {
    if (this.pending.size === 0 || this.#running > 0 || this.#work.length > 0) return false;
    for (const lane of this.#lanes.values()) if (lane.sending) return false;
    return true;
  }

  /** Whether everything that was sent to a target (`kind/id`) is settled. */
  isSettledTo(target: string): boolean {
    return !this.#lanes.has(target);
  }

  takeAcknowledged(): readonly number[] {
    const taken = this.#acknowledged;
    this.#acknowledged = [];
    return taken;
  }

  /** Sends effects whose rows are committed. */
  add(items: readonly OutboxItem[]): void {
    const lanes = new Set<Lane>();
    for (const item of items) {
      const { seq, effect } = item;
      const pending: PendingEffect = { ...item, attempts: 0, lastError: null };
      this.pending.set(seq, pending);
      if (effect.kind === "activity") this.#work.push(pending);
      else {
        const lane = this.#laneTo(effect.to);
        lane.waiting.push(pending);
        lanes.add(lane);
      }
    }
    this.#owner.changed();
    for (const lane of lanes) this.#send(lane);
    this.#startWork();
  }

  /** Called when a commit has removed the row of `seq` (with an activity's result). */
  settle(seq: number): void {
    this.pending.delete(seq);
    this.#owner.changed();
  }

  /** Retries the waiting effects at once: a target that could not be reached before may be elsewhere by now. */
  retryNow(): void {
    if (this.#stopped) return;
    for (const lane of [...this.#lanes.values()]) {
      if (lane.cancelRetry === null) continue;
      lane.cancelRetry();
      lane.cancelRetry = null;
      this.#send(lane);
    }
    for (const [cancel, pending] of [...this.#retries]) {
      cancel();
      this.#retries.delete(cancel);
      this.#work.push(pending);
    }
    this.#startWork();
  }

  /** Stops sending. What was not acknowledged is sent again by a later activation. */
  stop(): void {
    this.#stopped = true;
    for (const lane of this.#lanes.values()) lane.cancelRetry?.();
    for (const cancel of this.#retries.keys()) cancel();
    this.#lanes.clear();
    this.#retries.clear();
  }

  #laneTo(to: ActorRef): Lane {
    const key = `${to.kind}/${to.id}`;
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane: Lane = { to, waiting: [], sending: false, attempts: 0, cancelRetry: null };
    this.#lanes.set(key, lane);
    return lane;
  }

  #send(lane: Lane): void {
    if (this.#stopped || lane.sending || lane.cancelRetry !== null) return;
    if (lane.waiting.length === 0) {
      this.#lanes.delete(`${lane.to.kind}/${lane.to.id}`);
      return;
    }
    lane.sending = true;
    const messages: Delivery[] = [];
    for (const { seq, effect, traceparent } of lane.waiting.slice(0, this.#owner.limits.deliveryWindow)) {
      if (effect.kind !== "tell") continue;
      const { message } = effect;
      messages.push(traceparent === null ? { seq, message } : { seq, message, traceparent });
    }
    this.#owner.deliver(lane.to, messages, (acknowledged, error) => this.#sent(lane, acknowledged, error));
  }

  #sent(lane: Lane, acknowledged: number, error: unknown): void {
    if (this.#stopped) return;
    lane.sending = false;
    const done = lane.waiting.findIndex((pending) => pending.seq > acknowledged);
    const settled = lane.waiting.splice(0, done === -1 ? lane.waiting.length : done);
    for (const pending of settled) this.#acknowledge(pending);
    if (settled.length > 0) this.#owner.acknowledged();
    if (error === null) {
      lane.attempts = 0;
      this.#send(lane);
      return;
    }
    lane.attempts = settled.length > 0 ? 1 : lane.attempts + 1;
    for (const pending of lane.waiting) {
      pending.attempts += 1;
      pending.lastError = describe(error);
    }
    this.#owner.changed();
    lane.cancelRetry = this.#owner.timers.schedule(this.#backOff(lane.attempts), () => {
      lane.cancelRetry = null;
      this.#send(lane);
    });
  }

  #acknowledge(pending: PendingEffect): void {
    if (this.pending.delete(pending.seq)) this.#acknowledged.push(pending.seq);
    this.#owner.changed();
  }

  #startWork(): void {
    while (!this.#stopped && this.#work.length > 0 && this.#running < this.#owner.limits.actorActivitiesMax) {
      const pending = this.#work.shift();
      if (pending === undefined || pending.effect.kind !== "activity") return;
      this.#running += 1;
      const { name, params } = pending.effect;
      this.#owner.perform(name, params, pending.seq).then(
        (answer) => this.#performed(pending, answer),
        (error: unknown) => this.#failed(pending, error),
      );
    }
  }

  #performed(pending: PendingEffect, answer: Message | null): void {
    if (this.#stopped) return;
    this.#running -= 1;
    if (answer !== null) this.#owner.answer(pending.seq, answer);
    else {
      this.#acknowledge(pending);
      this.#owner.acknowledged();
    }
    this.#startWork();
  }

  #failed(pending: PendingEffect, error: unknown): void {
    if (this.#stopped) return;
    this.#running -= 1;
    pending.attempts += 1;
    pending.lastError = describe(error);
    this.#owner.changed();
    if (pending.attempts % failuresPerDoubt === 0) this.#owner.doubtful();
    const cancel = this.#owner.timers.schedule(this.#backOff(pending.attempts), () => {
      this.#retries.delete(cancel);
      this.#work.push(pending);
      this.#startWork();
    });
    this.#retries.set(cancel, pending);
    this.#startWork();
  }

  #backOff(attempt: number): number {
    const { effectRetryMs: firstMs, effectRetryMaxMs: maxMs } = this.#owner.limits;
    return backOffMs(attempt, { firstMs, maxMs });
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
