// Wakes actors that have pending work: due timers, or effects that a node left behind. The store's answer is a
// hint; waking an actor that another node also woke does no harm, because the fence decides.

import type { Clock } from "../../crypto/port.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import type { ActorLimits } from "./limits.ts";
import type { LogEntry, TimerPort } from "./ports.ts";

/** Upper limit of a poll's size; a poll that finds only actors that it must leave alone is enlarged up to it. */
const pollActorsTop = 16_384;

export interface WakerOptions {
  readonly store: ActorStore;
  readonly clock: Clock;
  readonly timers: TimerPort;
  readonly limits: ActorLimits;
  /** Wakes or nudges the actor; false if it is to be left alone. */
  readonly wake: (ref: ActorRef) => boolean;
  readonly log: (level: LogEntry["level"], event: string, actor: string, detail: string) => void;
}

export class Waker {
  readonly #options: WakerOptions;
  #pollActors: number;
  #stopped = false;
  #started = false;
  #cancel: (() => void) | null = null;
  /** The looks at the store that are under way: a poll, or one that adopts. */
  readonly #looks = new Set<Promise<unknown>>();

  constructor(options: WakerOptions) {
    this.#options = options;
    this.#pollActors = options.limits.pollActorsMax;
  }

  /** Wakes the actors that are due now, then polls. */
  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    await this.adopt();
    this.#arm();
  }

  /** Looks once further ahead than now, to cover the wake-up times left by a node that died with unsettled effects. */
  async adopt(): Promise<void> {
    const { limits, clock } = this.#options;
    for (let limit = limits.pollActorsMax; !this.#stopped; limit *= 2) {
      const found = await this.#look(clock.now() + limits.outboxWakeMs, Math.min(limit, pollActorsTop));
      if (found === null || found.count < Math.min(limit, pollActorsTop) || limit >= pollActorsTop) return;
    }
  }

  /** Wakes nobody any more; resolves when it has stopped using the store, which may be closed then. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await Promise.all(this.#looks);
  }

  #arm(): void {
    if (this.#stopped) return;
    const { timers, limits } = this.#options;
    this.#cancel = timers.schedule(limits.pollMs, () => {
      this.#poll().finally(() => this.#arm());
    });
  }

  async #poll(): Promise<void> {
    const { clock, limits } = this.#options;
    const found = await this.#look(clock.now(), this.#pollActors);
    if (found === null) return;
    // Actors that stay due but that this node must not wake must not hide those behind them.
    const isHidden = found.count === this.#pollActors && found.woken === 0;
    this.#pollActors = isHidden ? Math.min(this.#pollActors * 2, pollActorsTop) : limits.pollActorsMax;
  }

  async #look(nowMs: number, limit: number): Promise<{ count: number; woken: number } | null> {
    const look = this.#wakeDue(nowMs, limit);
    this.#looks.add(look);
    return look.finally(() => this.#looks.delete(look));
  }

  async #wakeDue(nowMs: number, limit: number): Promise<{ count: number; woken: number } | null> {
    try {
      const due = await this.#options.store.dueActors(nowMs, limit);
      let woken = 0;
      for (const { ref } of due) if (!this.#stopped && this.#options.wake(ref)) woken += 1;
      return { count: due.length, woken };
    } catch (error) {
      this.#options.log(
        "warn",
        "actors.poll_failed",
        "",
        error instanceof Error ? error.message : String(error),
      );
      return null;
    }
  }
}
