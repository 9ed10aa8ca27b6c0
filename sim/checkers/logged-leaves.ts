// The leaves that the log's sequencer acknowledged: each has a row from the commit that acknowledged it to the one that says where
// it went.
//   L1. Once faults have stopped and what they left has settled, a leaf waits no longer than its interval.
//   L2. What was acknowledged is in the log at the end (log.ts).

import { waitingLeaves } from "../../actors/log-sequencer/definition.ts";
import type { ActorCommit } from "../../storage/actor-store.ts";
import { logIntervals } from "../world/variation.ts";

/** A timer may fire this much later than it is due, and what it begins may take as long. */
const graceMs = 2_000;

export class LoggedLeaves {
  readonly #waitingSince = new Map<string, { readonly atMs: number; readonly isReceipts: boolean }>();
  readonly #acknowledged = new Set<string>();
  readonly #violate: (invariant: string, detail: string) => void;
  #settledFromMs = Number.POSITIVE_INFINITY;

  constructor(violate: (invariant: string, detail: string) => void) {
    this.#violate = violate;
  }

  get acknowledged(): ReadonlySet<string> {
    return this.#acknowledged;
  }

  /** What faults left has settled by then. */
  settlesBy(atMs: number): void {
    this.#settledFromMs = atMs;
  }

  /** Of the sequencer. */
  committed({ puts, deletes }: Pick<ActorCommit, "puts" | "deletes">, nowMs: number): void {
    for (const { rt, k2: leaf, body } of puts) {
      if (rt !== waitingLeaves.rt) continue;
      const { entry } = JSON.parse(body) as { readonly entry: { readonly leaf_type: string } };
      this.#waitingSince.set(leaf, { atMs: nowMs, isReceipts: entry.leaf_type === "receipt_batch" });
      this.#acknowledged.add(leaf);
    }
    for (const { rt, k2: leaf } of deletes) {
      if (rt !== waitingLeaves.rt) continue;
      const since = this.#waitingSince.get(leaf);
      this.#waitingSince.delete(leaf);
      if (since === undefined) continue;
      const intervalMs = since.isReceipts ? logIntervals.receiptsMs : logIntervals.leafMs;
      const lateMs = nowMs - Math.max(since.atMs + intervalMs, this.#settledFromMs) - graceMs;
      if (lateMs > 0) this.#violate("leaves-are-timely", `${leaf} waited ${lateMs} ms longer than it may`);
    }
  }
}
