// Which actors may run after crashes (A6). A crashed actor is rebuilt from its journal after a back-off that grows each time;
// one that keeps crashing is quarantined until an operator releases it or its node ends. Other actors are not affected.
// Also the waking of actors that have pending work.

import type { Clock } from "../../crypto/port.ts";
import { backOffMs } from "../../std/back-off.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { type ActorUnavailable, actorUnavailable, type Crash } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";
import type { LogEntry, TimerPort } from "./ports.ts";

/** Maximum number of crashed actors that are remembered; the oldest that is not quarantined is forgotten first. */
const casesMax = 10_000;

export interface CrashCase {
  readonly ref: ActorRef;
  /** When the crashes within the window happened, in Unix milliseconds, oldest first. */
  crashesMs: number[];
  quarantined: boolean;
  /** When the actor may be restarted. */
  restartAtMs: number;
  failure: string;
  lastEvents: readonly unknown[];
  crash: Crash;
}

export class Supervisor {
  readonly #cases = new Map<string, CrashCase>();
  readonly #limits: ActorLimits;

  constructor(limits: ActorLimits) {
    this.#limits = limits;
  }

  /** Returns null if the actor may be activated now. */
  refusal(key: string, nowMs: number): ActorUnavailable | null {
    if (this.#cases.size === 0) return null;
    const known = this.#cases.get(key);
    if (known === undefined) return null;
    if (known.quarantined) return unavailable("quarantined", 60);
    if (nowMs < known.restartAtMs)
      return unavailable("restarting", Math.ceil((known.restartAtMs - nowMs) / 1_000));
    return null;
  }

  /** Notes a crash and returns the case: quarantined now, or to be restarted at `restartAtMs`. */
  noteCrash(
    key: string,
    ref: ActorRef,
    { failure, lastEvents, crash }: Pick<CrashCase, "failure" | "lastEvents" | "crash">,
  ): CrashCase {
    const nowMs = crash.atMs;
    const { crashWindowMs, crashesMax, restartMs, restartMaxMs } = this.#limits;
    const before = this.#cases.get(key)?.crashesMs ?? [];
    const crashesMs = [...before.filter((crashMs) => crashMs > nowMs - crashWindowMs), nowMs];
    const known: CrashCase = {
      ref,
      crashesMs,
      quarantined: crashesMs.length >= crashesMax,
      restartAtMs: nowMs + backOffMs(crashesMs.length, { firstMs: restartMs, maxMs: restartMaxMs }),
      failure,
      lastEvents,
      crash,
    };
    this.#cases.delete(key);
    this.#cases.set(key, known);
    if (this.#cases.size > casesMax) this.#forgetOldest(nowMs);
    return known;
  }

  caseOf(key: string): CrashCase | undefined {
    return this.#cases.get(key);
  }

  /** Forgets the crashes of an actor. False if there were none. */
  release(key: string): boolean {
    return this.#cases.delete(key);
  }

  /** The cases of actors that may not run at `nowMs`. */
  resting(nowMs: number): readonly CrashCase[] {
    if (this.#cases.size === 0) return [];
    return [...this.#cases.values()].filter((each) => each.quarantined || nowMs < each.restartAtMs);
  }

  /** Lets a crashed actor that is not quarantined restart at once. False if it is not such an actor. */
  hurry(key: string, nowMs: number): boolean {
    const known = this.#cases.get(key);
    if (known === undefined || known.quarantined || nowMs >= known.restartAtMs) return false;
    known.restartAtMs = nowMs;
    return true;
  }

  get quarantined(): readonly ActorRef[] {
    return [...this.#cases.values()].filter((each) => each.quarantined).map((each) => each.ref);
  }

  #forgetOldest(nowMs: number): void {
    for (const [key, each] of this.#cases) {
      if (each.quarantined) continue;
      this.#cases.delete(key);
      if (nowMs >= each.restartAtMs) return;
    }
  }
}

function unavailable(reason: "quarantined" | "restarting", retryAfterSeconds: number): ActorUnavailable {
  return actorUnavailable(reason, {
    retryAfterSeconds: Math.max(1, retryAfterSeconds),
    effect: "not_applied",
  });
}

// Wakes actors that have pending work: due timers, or effects that a node left behind. The store's answer is a
// hint; waking an actor that another node also woke does no harm, because the fence decides.

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
