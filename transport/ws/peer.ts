// One incarnation of another node, as callers on this node see it: the connection to it, opened on demand, and the calls
// in flight.
//   P1. A call that comes while there is no connection waits for the attempt to open one. A failed attempt rejects all
//       calls that wait for it; until its back-off is over, calls are rejected at once.
//   P2. A lost connection rejects every call in flight (M2). The next call opens a new one.
//   P3. The queue is bounded in calls and characters (M6).

import { backOffMs } from "../../std/back-off.ts";
import {
  type ActorRef,
  type Delivery,
  type RemoteFailure,
  type RemoteFailureReason,
  type RemoteTarget,
  remoteFailure,
} from "../actor-transport.ts";
import { Channel, type ChannelEnd, type Outgoing } from "./channel.ts";
import { type ConnectOptions, type ConnectResult, connect } from "./connect.ts";
import { type Answer, askText, deliverText, parseAnswer } from "./messages.ts";
import type { PeerStats, TransportLog } from "./wire.ts";

export type PeerOptions = ConnectOptions & {
  readonly log: TransportLog;
  /** Monotonic clock in milliseconds. */
  readonly nowMs: () => number;
};

export class Peer implements RemoteTarget {
  readonly #options: PeerOptions;
  readonly #calls: OpenCalls;
  #channel: Channel | null = null;
  #giveUp: (() => void) | null = null;
  #lastCall = 0;
  /** Characters of calls that wait for a connection. */
  #waitingChars = 0;
  #failures = 0;
  #retryAtMs = 0;
  #lastUsedMs: number;
  #isClosed = false;

  constructor(options: PeerOptions) {
    this.#options = options;
    const { limits, nowMs } = options;
    this.#lastUsedMs = nowMs();
    const withdraw = (call: OpenCall): void => {
      if (this.#channel !== null) this.#channel.withdraw(call);
      else this.#waitingChars -= call.text.length;
    };
    this.#calls = new OpenCalls({ sweepMs: limits.timeoutSweepMs, nowMs, withdraw });
  }

  ask(
    to: ActorRef,
    command: { readonly type: string },
    timeoutMs: number,
    traceparent: string | null = null,
  ): Promise<unknown> {
    return this.#call((id) => askText(id, to, command, { timeoutMs, traceparent }), timeoutMs);
  }

  async deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number> {
    const timeoutMs = this.#options.limits.deliverTimeoutMs;
    const acknowledged = await this.#call((id) => deliverText(id, to, from, messages), timeoutMs);
    if (Number.isSafeInteger(acknowledged)) return acknowledged as number;
    throw failure("refused", "unknown", "a delivery was not answered by a number");
  }

  /** True when nothing is lost by forgetting the peer: no connection, no call and no back-off that still matters. */
  get isForgettable(): boolean {
    const isIdle = this.#channel === null && this.#giveUp === null && this.#calls.size === 0;
    return isIdle && this.#options.nowMs() - this.#lastUsedMs > this.#options.limits.peerKeptMs;
  }

  stats(): PeerStats {
    const { address, incarnation } = this.#options;
    const channel = this.#channel;
    return {
      address,
      incarnation,
      openCalls: this.#calls.size,
      protocol: channel?.protocol ?? null,
      state: channel !== null ? "connected" : this.#giveUp !== null ? "connecting" : "idle",
      queuedChars: channel?.queuedChars ?? this.#waitingChars,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#giveUp?.();
    await this.#channel?.close();
    this.#calls.failAll("draining", "this node closes its connections");
  }

  #call(textOf: (id: number) => string, timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1;
      const id = this.#lastCall;
      const text = textOf(id);
      const refusal = this.#refusal(text);
      if (refusal !== null) {
        reject(refusal);
        return;
      }
      this.#lastUsedMs = this.#options.nowMs();
      const call = { text, sent: false, resolve, reject, deadlineMs: this.#lastUsedMs + timeoutMs };
      this.#calls.add(id, call);
      if (this.#channel !== null) {
        this.#channel.send(call);
        return;
      }
      this.#waitingChars += text.length;
      this.#giveUp ??= connect(this.#options, (result) => this.#connected(result));
    });
  }

  /** Why a call is not even accepted, or null when it is. */
  #refusal(text: string): RemoteFailure | null {
    const { limits, nowMs } = this.#options;
    if (this.#isClosed) return failure("draining", "not_applied", "this node closes its connections");
    if (isTooLong(text, limits.messageBytesMax))
      return remoteFailure("refused", {
        // It will be as long the next time.
        retryAfterSeconds: 0,
        effect: "not_applied",
        detail: `a message of more than ${limits.messageBytesMax} bytes`,
      });
    const queuedChars = this.#channel?.queuedChars ?? this.#waitingChars;
    if (this.#calls.size >= limits.callsMax || queuedChars + text.length > limits.queueCharsMax)
      return failure("overloaded", "not_applied", "too much waits for the other node");
    const isBackingOff = this.#channel === null && this.#giveUp === null && nowMs() < this.#retryAtMs;
    return isBackingOff ? failure("unreachable", "not_applied", "it could not be reached just now") : null;
  }

  #connected(result: ConnectResult): void {
    this.#giveUp = null;
    this.#waitingChars = 0;
    if (result.socket === null) {
      this.#connectFailed(result.reason, result.detail);
      return;
    }
    this.#failures = 0;
    const { limits, log, incarnation } = this.#options;
    this.#channel = new Channel(result.socket, result.established, limits, {
      take: (messages) => this.#take(messages),
      drained: () => {},
      ended: (why) => this.#ended(why),
    });
    log({
      level: "info",
      event: "connected",
      peer: incarnation,
      detail: `protocol ${this.#channel.protocol}`,
    });
    for (const call of this.#calls.values()) this.#channel.send(call);
  }

  #connectFailed(reason: RemoteFailureReason, detail: string): void {
    const { limits, log, incarnation, nowMs } = this.#options;
    this.#failures += 1;
    const delays = { firstMs: limits.reconnectMs, maxMs: limits.reconnectMaxMs };
    // Jitter of up to half, so that nodes that lost the same peer do not reconnect at the same moment.
    this.#retryAtMs = nowMs() + backOffMs(this.#failures, delays) * (0.5 + Math.random() / 2);
    log({ level: "warn", event: "connect_failed", peer: incarnation, detail });
    this.#calls.failAll(this.#isClosed ? "draining" : reason, detail);
  }

  #take(messages: readonly unknown[]): void {
    for (const message of messages) {
      const answer = parseAnswer(message);
      if (answer !== null) this.#calls.settle(answer);
    }
  }

  #ended(why: ChannelEnd): void {
    this.#channel = null;
    const { log, incarnation } = this.#options;
    log({
      level: why === "closed" ? "info" : "warn",
      event: "connection_ended",
      peer: incarnation,
      detail: why,
    });
    this.#calls.failAll(this.#isClosed ? "draining" : "unreachable", `the connection ended: ${why}`);
  }
}

function failure(
  reason: RemoteFailureReason,
  effect: RemoteFailure["effect"],
  detail: string,
): RemoteFailure {
  return remoteFailure(reason, { retryAfterSeconds: 1, effect, detail });
}

/** Whether a text takes more than `bytesMax` bytes in UTF-8. */
export function isTooLong(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
}

// The calls to one peer that have no answer yet. Each of them settles: with its answer, by its time-out, or with its
// connection (M2). Only what was never handed to the platform is reported as `not_applied` (M5).

interface OpenCall extends Outgoing {
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: RemoteFailure) => void;
  /** Deadline on the transport's monotonic clock. */
  readonly deadlineMs: number;
}

class OpenCalls {
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
