// One authenticated connection, as either end sees it: messages out and in, many to a frame.
//   C1. Messages sent in one turn of the event loop leave together, in order.
//   C2. At most `bufferedBytesMax` is handed to the platform; the rest waits here, where it is counted and where
//       what was never sent is still known to be unsent.
//   C3. A peer that is silent for `silentBeatsMax` beats is considered gone. Beats are counted rather than time: a
//       process that was itself suspended reads what arrived in the meantime before it judges.
//   C4. A single frame that is not the peer's, or is not a list of messages, ends the connection.

import type { RawData, WebSocket } from "ws";
import type { NodeIdentity } from "./hello.ts";
import type { TransportLimits } from "./limits.ts";
import { aliveText, openFrame, sealFrame } from "./messages.ts";
import type { Established } from "./wire.ts";

export interface Outgoing {
  /** JSON text; empty once the message is withdrawn. */
  text: string;
  /** True once it was handed to the platform: from then on it is unknown whether the peer has it. */
  sent: boolean;
}

export type ChannelEnd =
  /** The connection was ended by the network or by the peer. */
  | "lost"
  | "silent"
  /** A frame failed the check (C4). */
  | "tampered"
  /** The peer reads too slowly for what is queued for it. */
  | "slow"
  /** One side closed the connection in the regular way. */
  | "closed";

export interface ChannelOwner {
  take(messages: readonly unknown[]): void;
  /** Called after messages were handed to the platform, so that fewer are queued. */
  drained(): void;
  /** Called once, for any reason. */
  ended(why: ChannelEnd): void;
}

/** Close codes: of an orderly end that both sides know of (RFC 6455 §7.4.1), and of one that C4 requires. */
export const goingAway = 1001;
const tampered = 4010;

export class Channel {
  readonly peer: NodeIdentity;
  readonly protocol: number;
  readonly #socket: WebSocket;
  readonly #keys: Established["keys"];
  readonly #limits: TransportLimits;
  readonly #owner: ChannelOwner;
  readonly #beat: NodeJS.Timeout;
  #queue: Outgoing[] = [];
  #queuedChars = 0;
  #armed = false;
  #blocked = false;
  #silentBeats = 0;
  #saidSomething = false;
  #end: ChannelEnd | null = null;

  constructor(socket: WebSocket, established: Established, limits: TransportLimits, owner: ChannelOwner) {
    this.peer = established.peer;
    this.protocol = established.protocol;
    this.#socket = socket;
    this.#keys = established.keys;
    this.#limits = limits;
    this.#owner = owner;
    this.#beat = setInterval(() => this.#onBeat(), limits.beatMs);
    socket.on("message", (data, isBinary) => this.#onFrame(data, isBinary));
    socket.on("close", (code) => this.#finish(code === goingAway ? "closed" : "lost"));
  }

  /** Characters not yet handed to the platform. */
  get queuedChars(): number {
    return this.#queuedChars;
  }

  send(message: Outgoing): void {
    this.#queue.push(message);
    this.#queuedChars += message.text.length;
    if (!this.#blocked) this.#arm();
  }

  /** Withdraws a message that was not yet handed to the platform. */
  withdraw(message: Outgoing): void {
    if (message.sent) return;
    this.#queuedChars -= message.text.length;
    message.text = "";
  }

  /** Pauses and resumes reading, for an owner under load. The peer does not count as silent while paused. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  get isPaused(): boolean {
    return this.#socket.isPaused;
  }

  /** Sends what is queued and closes the connection; resolves when it is closed, after `closeMs` at the latest. */
  async close(): Promise<void> {
    if (this.#end !== null) return;
    this.#flush();
    const over = Promise.withResolvers<void>();
    this.#socket.once("close", () => over.resolve());
    const timer = setTimeout(() => this.#socket.terminate(), this.#limits.closeMs);
    this.#finish("closed");
    this.#socket.resume();
    this.#socket.close(goingAway);
    await over.promise;
    clearTimeout(timer);
  }

  /** Drops the connection at once. */
  abort(why: ChannelEnd): void {
    this.#finish(why);
    this.#socket.terminate();
  }

  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    setImmediate(() => {
      this.#armed = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#end !== null || this.#queue.length === 0) return;
    const queue = this.#queue;
    let next = 0;
    while (next < queue.length) {
      this.#blocked = this.#socket.bufferedAmount > this.#limits.bufferedBytesMax;
      if (this.#blocked) break;
      next = this.#sendFrom(next);
    }
    this.#queue = next === queue.length ? [] : queue.slice(next);
    this.#owner.drained();
  }

  /** Hands one frame to the platform, starting at message `first`; returns where the next frame starts. */
  #sendFrom(first: number): number {
    const queue = this.#queue;
    let text = "";
    let next = first;
    for (; next < queue.length; next += 1) {
      const message = queue[next] as Outgoing;
      if (message.text === "") continue;
      if (text !== "" && text.length + message.text.length >= this.#limits.frameCharsMax) break;
      text += text === "" ? `[${message.text}` : `,${message.text}`;
      message.sent = true;
      this.#queuedChars -= message.text.length;
    }
    if (text === "") return next;
    this.#saidSomething = true;
    this.#socket.send(sealFrame(this.#keys?.sending ?? null, this.protocol, `${text}]`), this.#onSent);
    return next;
  }

  readonly #onSent = (error?: Error | null): void => {
    if (error !== undefined && error !== null) return;
    // While reading is paused (`pause`), bytes that the platform accepts are the only sign of life.
    if (this.#socket.isPaused) this.#silentBeats = 0;
    if (this.#blocked && this.#socket.bufferedAmount <= this.#limits.bufferedBytesMax) {
      this.#blocked = false;
      this.#arm();
    }
  };

  #onFrame(data: RawData, isBinary: boolean): void {
    if (this.#end !== null) return;
    const isFrame = isBinary && Buffer.isBuffer(data);
    const messages = isFrame ? openFrame(this.#keys?.receiving ?? null, this.protocol, data) : null;
    if (messages === null) {
      this.#finish("tampered");
      this.#socket.close(tampered);
      setTimeout(() => this.#socket.terminate(), this.#limits.closeMs).unref();
      return;
    }
    this.#silentBeats = 0;
    this.#owner.take(messages);
  }

  #onBeat(): void {
    this.#silentBeats += 1;
    if (this.#silentBeats > this.#limits.silentBeatsMax) {
      this.abort("silent");
      return;
    }
    if (!this.#saidSomething && this.#queue.length === 0) this.send({ text: aliveText, sent: false });
    this.#saidSomething = false;
  }

  #finish(why: ChannelEnd): void {
    if (this.#end !== null) return;
    this.#end = why;
    clearInterval(this.#beat);
    this.#queue = [];
    this.#queuedChars = 0;
    this.#owner.ended(why);
  }
}
