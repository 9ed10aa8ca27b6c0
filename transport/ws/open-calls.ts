// The calls to one peer that have no answer yet. Each of them settles: with its answer, by its time-out, or with its
// connection (M2). Only what was never handed to the platform is reported as `not_applied` (M5).

import { type RemoteFailure, type RemoteFailureReason, remoteFailure } from "../actor-transport.ts";
import type { Outgoing } from "./channel.ts";
import type { Answer } from "./messages.ts";

export interface OpenCall extends Outgoing {
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: RemoteFailure) => void;
  /** Deadline on the transport's monotonic clock. */
  readonly deadlineMs: number;
}

export class OpenCalls {
  readonly #sweepMs: number;
  readonly #nowMs: () => number;
  readonly #withdraw: (call: OpenCall) => void;
  readonly #calls = new Map<number, OpenCall>();
  #sweep: NodeJS.Timeout | null = null;
  /** Lower bound of all deadlines; it may be earlier than the earliest one, never later. */
  #earliestMs = Number.POSITIVE_INFINITY;

  /** `withdraw` takes back a call that timed out before it was sent: once reported `not_applied` it must not leave. */
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

  /** Settles a call. An answer that matches no call is a duplicate, or too late. */
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
