// The actors in memory, and which of them are evicted: idle ones after a while, and the least recently used when the table is
// full. An actor that is not in memory costs nothing.

import type { ActorRef } from "../../storage/actor-store.ts";
import type { Activation } from "./activation.ts";
import type { ActorLoads, ActorSystemStats, KindStats } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";
import type { TimerPort } from "./ports.ts";

/** Maximum number of activations examined to make room for one. */
const roomScanMax = 128;

export class ActivationTable {
  readonly #limits: ActorLimits;
  readonly #byKind = new Map<string, Map<string, Activation>>();
  /** Least recently used first, as far as the scans have seen. */
  readonly #order = new Set<Activation>();

  constructor(limits: ActorLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#order.size;
  }

  get(ref: ActorRef): Activation | undefined {
    return this.#byKind.get(ref.kind)?.get(ref.id);
  }

  add(activation: Activation): void {
    const { kind, id } = activation.ref;
    let ofKind = this.#byKind.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      this.#byKind.set(kind, ofKind);
    }
    ofKind.set(id, activation);
    this.#order.add(activation);
  }

  delete(activation: Activation): void {
    const ofKind = this.#byKind.get(activation.ref.kind);
    if (ofKind?.get(activation.ref.id) === activation) ofKind.delete(activation.ref.id);
    this.#order.delete(activation);
  }

  values(): readonly Activation[] {
    return [...this.#order];
  }

  /**
   * Passivates one actor if the table is full: one unused since the last scan, or else the first that can leave, or else one
   * that only waits for its time, since the new actor has something to do now. If a caller waits for the new actor
   * (`isAsked`), one that only waits for a retry may have to leave: what it waits for may be the very actor for which there
   * is no room. Returns false if there is no room and none can be made.
   */
  makeRoom(nowMs: number, isAsked: boolean): boolean {
    if (this.#order.size < this.#limits.activationsMax) return true;
    let candidate: Activation | null = null;
    let early: Activation | null = null;
    let stuck: Activation | null = null;
    let scanned = 0;
    for (const activation of this.#order) {
      if (scanned >= roomScanMax) break;
      scanned += 1;
      const canLeave = activation.canPassivate(nowMs);
      if (canLeave) candidate ??= activation;
      if (early === null && activation.onlyWaitsForTime(nowMs)) early = activation;
      if (isAsked && stuck === null && activation.canStepAside()) stuck = activation;
      if (canLeave && !activation.touched) {
        candidate = activation;
        break;
      }
      activation.touched = false;
      this.#order.delete(activation);
      this.#order.add(activation);
    }
    const leaving = candidate ?? early ?? stuck;
    leaving?.end("restarting", "not_applied");
    return leaving !== null;
  }

  /** Passivates the actors that have been idle for `idleMs`. */
  sweep(nowMs: number): void {
    for (const activation of this.values()) {
      if (activation.touched) {
        activation.touched = false;
        activation.idleSinceMs = nowMs;
      } else if (nowMs - activation.idleSinceMs >= this.#limits.idleMs && activation.canPassivate(nowMs)) {
        activation.end("restarting", "not_applied");
      }
    }
  }
}

/** The name of an actor, as it is shown and logged. */
export function keyOf(ref: ActorRef): string {
  return `${ref.kind}/${ref.id}`;
}

// What the actors in memory hold, counted by kind, for /metrics. It is computed when it is asked for: watching costs the actors
// nothing.

/** The counts of every kind, and what waits for each region. */
export function countActivations(
  activations: readonly Activation[],
  known: {
    readonly kinds: Iterable<string>;
    readonly quarantined: readonly ActorRef[];
    readonly nowMs: number;
  },
): ActorLoads {
  const kinds = new Map([...known.kinds].map((kind) => [kind, emptyCount()]));
  const regions = new Map<string, { waiting: number; oldestMs: number }>();
  for (const activation of activations) countOne(activation, known.nowMs, { kinds, regions });
  for (const { kind } of known.quarantined) {
    const count = kinds.get(kind);
    if (count !== undefined) count.quarantined += 1;
  }
  return {
    kinds: Object.fromEntries(kinds),
    regions: [...regions].map(([region, wait]) => ({ region, ...wait })),
  };
}

/** What all actors in memory hold together. */
export function totalsOf(
  activations: readonly Activation[],
): Pick<ActorSystemStats, "active" | "mailboxed" | "outboxPending"> {
  let [mailboxed, outboxPending] = [0, 0];
  for (const { load, outbox } of activations) {
    mailboxed += load;
    outboxPending += outbox?.pending.size ?? 0;
  }
  return { active: activations.length, mailboxed, outboxPending };
}

type Count = { -readonly [K in keyof KindStats]: KindStats[K] };

function emptyCount(): Count {
  return { active: 0, mailboxed: 0, mailboxLongest: 0, outboxPending: 0, outboxOldestMs: 0, quarantined: 0 };
}

function countOne(
  { ref, load, outbox, driver }: Activation,
  nowMs: number,
  {
    kinds,
    regions,
  }: {
    readonly kinds: ReadonlyMap<string, Count>;
    readonly regions: Map<string, { waiting: number; oldestMs: number }>;
  },
): void {
  const count = kinds.get(ref.kind);
  if (count === undefined) return;
  count.active += 1;
  count.mailboxed += load;
  count.mailboxLongest = Math.max(count.mailboxLongest, load);
  const { regionWaits = [] } = driver.definition;
  for (const { effect, sinceMs } of outbox?.pending.values() ?? []) {
    // Clocks of nodes differ: what another node's clock dated in the future has just begun.
    const ageMs = Math.max(0, nowMs - sinceMs);
    count.outboxPending += 1;
    count.outboxOldestMs = Math.max(count.outboxOldestMs, ageMs);
    if (effect.kind !== "activity" || !regionWaits.includes(effect.name)) continue;
    const region = regionOf(effect.params);
    if (region === null) continue;
    const wait = regions.get(region) ?? { waiting: 0, oldestMs: 0 };
    regions.set(region, { waiting: wait.waiting + 1, oldestMs: Math.max(wait.oldestMs, ageMs) });
  }
}

function regionOf(params: unknown): string | null {
  const isNamed = typeof params === "object" && params !== null && "region" in params;
  return isNamed && typeof params.region === "string" ? params.region : null;
}

// Which activations run next: first come, first served, all in one microtask, which yields to timers and input
// after a bounded amount of work.

export interface Runnable {
  queued: boolean;
  /** Does a piece of work and returns how much it was. Must not throw. */
  run(): number;
}

const settled = Promise.resolve();

export class RunQueue {
  readonly #timers: TimerPort;
  readonly #workMax: number;
  #queue: Runnable[] = [];
  #next = 0;
  #scheduled = false;

  constructor(timers: TimerPort, workMax: number) {
    this.#timers = timers;
    this.#workMax = workMax;
  }

  add(runnable: Runnable): void {
    if (runnable.queued) return;
    runnable.queued = true;
    this.#queue.push(runnable);
    if (this.#scheduled) return;
    this.#scheduled = true;
    settled.then(this.#flush);
  }

  readonly #flush = (): void => {
    let work = 0;
    while (this.#next < this.#queue.length) {
      if (work >= this.#workMax) {
        this.#timers.schedule(0, this.#flush);
        return;
      }
      const runnable = this.#queue[this.#next];
      this.#next += 1;
      if (runnable === undefined) continue;
      runnable.queued = false;
      work += runnable.run();
      if (this.#next >= this.#workMax) {
        this.#queue = this.#queue.slice(this.#next);
        this.#next = 0;
      }
    }
    this.#queue = [];
    this.#next = 0;
    this.#scheduled = false;
  };
}
