// An actor without a journal: a turn is true as soon as it is decided, and everything ends with the activation.
// Its messages are sent once, and its activities are repeated only while it lives; a caller that needs more retries.

import { Activation, TurnFailure } from "./activation.ts";
import type { ActorState } from "./actor-state.ts";
import type { Effect } from "./definition.ts";
import type { Envelope } from "./envelope.ts";
import { initialState, numberEffects, type OutboxItem } from "./journal.ts";
import type { Turn } from "./turn.ts";

export class MemoryActivation extends Activation {
  #begun = false;

  open(): void {
    this.phase = "idle";
    try {
      this.state = initialState(this.driver, this.ref.id);
      // A revived actor may receive nothing for long; the timers of its initial state must run nevertheless.
      this.host.schedule(this);
    } catch (error) {
      this.crash(new TurnFailure(null, error), null);
    }
  }

  protected get batchMax(): number {
    return this.host.limits.commandsPerFlushMax;
  }

  protected override get wantsCommit(): boolean {
    return !this.#begun;
  }

  protected override get keepsTimers(): boolean {
    return false;
  }

  protected take(_batch: readonly Envelope[]): void {
    const { state } = this;
    if (state === null) return;
    let turn: Turn | null = null;
    let replies: unknown[];
    this.phase = "working";
    try {
      turn = this.newTurn(state, this.host.clock.now());
      if (!this.#begun) turn.begin();
      replies = this.decide(turn, null);
    } catch (error) {
      this.crash(error instanceof TurnFailure ? error : new TurnFailure(null, error), turn);
      return;
    }
    this.#begun = true;
    this.#become(state, turn);
    this.settle(replies, turn);
  }

  protected acknowledged(): void {
    this.outbox?.takeAcknowledged();
  }

  #become(state: ActorState, turn: Turn): void {
    this.apply(state, turn);
    if (turn.effects.length === 0) return;
    const work: OutboxItem[] = [];
    for (const item of numberEffects(state.head, turn)) {
      const effect: Effect = item.effect;
      if (effect.kind === "tell") this.host.tell(effect.to, effect.message, item.traceparent);
      else work.push(item);
    }
    state.head += 1;
    if (work.length === 0) return;
    this.outbox ??= this.newOutbox();
    this.outbox.add(work);
  }
}
