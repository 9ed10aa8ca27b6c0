// The calls of one peer that have no answer yet. Every one settles: by its answer, by its time, or with its
// connection (M2); and only what was never handed to the platform is called `not_applied` (M5).

import { type RemoteFailure, type RemoteFailureReason, remoteFailure } from "../actor-transport.ts";
import type { Outgoing } from "./channel.ts";
import type { Answer } from "./messages.ts";

export interface OpenCall extends Outgoing {
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: RemoteFailure) => void;
  /** Of the transport's monotonic clock. */
  readonly deadlineMs: number;
}

export class OpenCalls {
  readonly #sweepMs: number;
  readonly #nowMs: () => number;
  readonly #withdraw: (call: OpenCall) => void;
  readonly #calls = new Map<number, OpenCall>();
  #sweep: NodeJS.Timeout | null = null;
  /** No call ends before; it may be earlier than the earliest, never later. */
  #earliestMs = Number.POSITIVE_INFINITY;

  /** `withdraw` takes a call back that timed out before it was sent: it must not leave after it was `not_applied`. */
  constructor(options: {
    readonly sweepMs: number;
    readonly nowMs: () => number;
    readonly withdraw: (call: OpenCall) => void;
  }) {
    this.#sweepMs = options.sweepMs;
    this.#nowMs = options.nowMs;
    this.#withdraw = options.withdraw;
  }

  values(): IterableIterator<OpenCall> {
    return this.#calls.values();
  }

  get size(): number {
    return this.#calls.size;
  }

  add(id: number, call: OpenCall): void {
    this.#calls.set(id, call);
    if (call.deadlineMs < this.#earliestMs) this.#earliestMs = call.deadlineMs;
    this.#sweep ??= setInterval(() => this.#expire(), this.#sweepMs);
  }

  /** Settles a call. An answer to none is an answer that came twice, or too late. */
  settle(answer: Answer): void {
    const call = this.#calls.get(answer.id);
    if (call === undefined) return;
    this.#calls.delete(answer.id);
    if (answer.failure === null) call.resolve(answer.value);
    else call.reject(answer.failure);
  }

  /** Rejects every call. */
  failAll(reason: RemoteFailureReason, detail: string): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.reject(failureOf(call, reason, detail));
  }

  #expire(): void {
    if (this.#calls.size === 0) {
      if (this.#sweep !== null) clearInterval(this.#sweep);
      this.#sweep = null;
      this.#earliestMs = Number.POSITIVE_INFINITY;
      return;
    }
    const nowMs = this.#nowMs();
    if (nowMs < this.#earliestMs) return;
    this.#earliestMs = Number.POSITIVE_INFINITY;
    for (const [id, call] of this.#calls) {
      if (call.deadlineMs > nowMs) {
        this.#earliestMs = Math.min(this.#earliestMs, call.deadlineMs);
        continue;
      }
      this.#calls.delete(id);
      const failure = failureOf(call, "timeout", "no answer in time");
      this.#withdraw(call);
      call.reject(failure);
    }
  }
}

function failureOf({ sent }: Outgoing, reason: RemoteFailureReason, detail: string): RemoteFailure {
  return remoteFailure(reason, {
    retryAfterSeconds: 1,
    effect: sent ? "unknown" : "not_applied",
    detail,
  });
}
