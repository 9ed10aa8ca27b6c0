// One authenticated connection, as either end sees it: messages out and in, many to a frame.
//   C1. What is sent in one turn of the event loop leaves together, in order.
//   C2. No more than `bufferedBytesMax` lies with the platform: the rest waits here, where it is counted and where
//       what was never sent is still known to be so.
//   C3. A peer that says nothing for `silentBeatsMax` beats is gone. Beats are counted, not time: a process that
//       itself stood still hears what came meanwhile before it judges.
//   C4. One frame that is not the peer's, or no list of messages, and the connection ends.

import type { RawData, WebSocket } from "ws";
import { openFrame, sealFrame } from "./frames.ts";
import type { NodeIdentity } from "./hello.ts";
import type { TransportLimits } from "./limits.ts";
import { aliveText } from "./messages.ts";
import type { Established } from "./wire.ts";

/** A message on its way out. */
export interface Outgoing {
  /** JSON text; empty once it was withdrawn. */
  text: string;
  /** True once it was handed to the platform: from then on nobody knows whether the peer has it. */
  sent: boolean;
}

export type ChannelEnd =
  /** The connection ended, by the network or by the peer. */
  | "lost"
  | "silent"
  /** C4. */
  | "tampered"
  /** The peer takes too little for what waits for it. */
  | "slow"
  /** One side left as it should. */
  | "closed";

export interface ChannelOwner {
  take(messages: readonly unknown[]): void;
  /** Less waits than before: called after messages were handed to the platform. */
  drained(): void;
  /** Called once, whatever the reason. */
  ended(why: ChannelEnd): void;
}

/** Close code of an end that both know of (RFC 6455 §7.4.1), and of one that C4 asks for. */
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

  /** Characters that were not handed to the platform yet. */
  get queuedChars(): number {
    return this.#queuedChars;
  }

  send(message: Outgoing): void {
    this.#queue.push(message);
    this.#queuedChars += message.text.length;
    if (!this.#blocked) this.#arm();
  }

  /** Takes a message back that was not handed to the platform yet. */
  withdraw(message: Outgoing): void {
    if (message.sent) return;
    this.#queuedChars -= message.text.length;
    message.text = "";
  }

  /** Stops and starts reading, for an owner with too much to do. The peer is not silent meanwhile, it is not heard. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  get isPaused(): boolean {
    return this.#socket.isPaused;
  }

  /** Sends what waits and ends the connection; resolves when it is over, at the latest after `closeMs`. */
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

  /** Ends the connection at once. */
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

  /** Hands one frame to the platform, beginning with the message at `first`; answers where the next begins. */
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
    // While nothing is read (`pause`), what the platform takes is the only sign of life.
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
