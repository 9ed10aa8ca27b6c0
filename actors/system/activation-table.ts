// The actors in memory, and which of them are evicted: idle ones after a while, and the least recently used when the table is
// full. An actor that is not in memory costs nothing.

import type { ActorRef } from "../../storage/actor-store.ts";
import type { Activation } from "./activation.ts";
import type { ActorLimits } from "./limits.ts";

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

export function keyOf(ref: ActorRef): string {
  return `${ref.kind}/${ref.id}`;
}
