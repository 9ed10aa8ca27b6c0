// A node that calls this one: each of its calls is executed once, and answered over the connection on which it came.
//   R1. A call that arrives twice is executed once (M4).
//   R2. Calls in flight are bounded; one more is answered with `overloaded`, not applied.
//   R3. While too many answers are queued nothing is read, so the caller runs into its own bound. A caller whose
//       answers exceed the bound for everything queued is disconnected.
//   R4. Whatever a handler throws becomes an answer; what is not a failure of the port is logged, because it is a bug here.

import { asRemoteFailure, remoteFailure, type TransportHandlers } from "../actor-transport.ts";
import type { Channel, ChannelEnd } from "./channel.ts";
import type { TransportLimits } from "./limits.ts";
import {
  type Ask,
  answerText,
  type Deliver,
  failureText,
  parseCall,
  refusalText,
  type Unfit,
} from "./messages.ts";
import { isTooLong } from "./peer.ts";
import { SeenCalls } from "./seen-calls.ts";
import type { CallerStats, TransportLog } from "./wire.ts";

export interface CallerOptions {
  readonly handlers: TransportHandlers;
  readonly limits: TransportLimits;
  readonly log: TransportLog;
  /** Called for each duplicate call. */
  readonly onDuplicate: () => void;
}

export class Caller {
  readonly #options: CallerOptions;
  readonly #seen = new SeenCalls();
  #channel: Channel | null = null;
  #openCalls = 0;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Must be called once, before any message is taken. */
  attach(channel: Channel): void {
    this.#channel = channel;
  }

  stats(): CallerStats | null {
    const channel = this.#channel;
    if (channel === null) return null;
    const { peer, protocol, queuedChars, isPaused } = channel;
    return { ...peer, protocol, openCalls: this.#openCalls, queuedChars, isPaused };
  }

  take(messages: readonly unknown[]): void {
    for (const message of messages) {
      const call = parseCall(message);
      if (call === null) continue;
      if (this.#seen.add(call.id)) this.#begin(call);
      else this.#options.onDuplicate();
    }
  }

  drained(): void {
    const channel = this.#channel;
    if (channel === null || !channel.isPaused) return;
    if (channel.queuedChars <= this.#options.limits.answersPauseChars / 2) channel.resume();
  }

  ended(_why: ChannelEnd): void {
    this.#channel = null;
  }

  close(): Promise<void> {
    return this.#channel?.close() ?? Promise.resolve();
  }

  #begin(call: Ask | Deliver | Unfit): void {
    if (call.kind === "unfit") {
      this.#send(refusalText(call.id, call.fault));
      return;
    }
    if (this.#openCalls >= this.#options.limits.callsMax) {
      const failure = remoteFailure("overloaded", { retryAfterSeconds: 1, effect: "not_applied" });
      this.#send(failureText(call.id, failure));
      return;
    }
    this.#openCalls += 1;
    this.#execute(call).then(
      (value) => this.#answer(call.id, value),
      (error: unknown) => this.#fail(call.id, error),
    );
  }

  /** A handler that throws synchronously is treated like one that rejects. */
  async #execute(call: Ask | Deliver): Promise<unknown> {
    const { handlers } = this.#options;
    return call.kind === "ask"
      ? handlers.ask(call.to, call.command, call.timeoutMs, call.traceparent)
      : handlers.deliver(call.to, call.from, call.messages);
  }

  #answer(id: number, value: unknown): void {
    this.#openCalls -= 1;
    const { limits, log } = this.#options;
    const peer = this.#channel?.peer.incarnation ?? "";
    let text: string;
    try {
      text = answerText(id, value);
      if (isTooLong(text, limits.messageBytesMax))
        throw new RangeError(`an answer of more than ${limits.messageBytesMax} bytes`);
    } catch (error) {
      const failure = asRemoteFailure(error);
      log({ level: "error", event: "answer_unfit", peer, detail: failure.message });
      text = failureText(id, failure);
    }
    this.#send(text);
  }

  #fail(id: number, error: unknown): void {
    this.#openCalls -= 1;
    const failure = asRemoteFailure(error);
    // An error without a reason of its own is not one of the failures that a handler may answer with.
    if (failure !== error && failure.reason === "refused") {
      const peer = this.#channel?.peer.incarnation ?? "";
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.log({ level: "error", event: "call_crashed", peer, detail });
    }
    this.#send(failureText(id, failure));
  }

  #send(text: string): void {
    const channel = this.#channel;
    if (channel === null) return;
    const { limits } = this.#options;
    channel.send({ text, sent: false });
    if (channel.queuedChars > limits.queueCharsMax) channel.abort("slow");
    else if (channel.queuedChars > limits.answersPauseChars && !channel.isPaused) channel.pause();
  }
}
