// Which actors may run after crashes (A6). A crashed actor is rebuilt from its journal after a back-off that grows each time;
// one that keeps crashing is quarantined until an operator releases it or its node ends. Other actors are not affected.

import { backOffMs } from "../../std/back-off.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { type ActorUnavailable, actorUnavailable, type Crash } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";

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
