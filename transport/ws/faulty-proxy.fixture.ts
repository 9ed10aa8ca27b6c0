// A TCP proxy between nodes that knows where a WebSocket message starts and ends (RFC 6455 §5.2), so that it can lose,
// duplicate, reorder and delay whole messages, and cut connections or one direction of them. It does not interpret
// the content of messages. The upgrade and the handshake's messages pass unchanged.

import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

export type Direction = "to_server" | "to_client";

export interface ProxyMessage {
  readonly direction: Direction;
  /** Index of the message on this connection and in this direction after the handshake, from 0. */
  readonly index: number;
  /** The bytes as they appear in the stream, including the head. */
  readonly bytes: Buffer;
}

/** `late`: delivered after the next message of its direction. `sever`: lost, and its connection with it. */
export type MessageFate = "pass" | "double" | "late" | "lose" | "sever";

/** Number of handshake messages in each direction. */
const handshakeMessages = 2;

export class FaultyProxy implements AsyncDisposable {
  /** Decides what happens to each message; may be replaced at any time. */
  fate: (message: ProxyMessage) => MessageFate = () => "pass";
  /** Additional delay of every message in milliseconds. Order is kept. */
  delayMs = 0;
  /** Called with everything that passed, in the order of arrival; for tests that inspect bytes. */
  onBytes: ((direction: Direction, bytes: Buffer) => void) | null = null;
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #links = new Set<Link>();
  readonly #swallowed = new Set<Direction>();
  readonly #stalled = new Set<Direction>();

  private constructor(target: string) {
    const colon = target.lastIndexOf(":");
    this.#target = { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Opens a proxy to `target` (`host:port`) that listens on 127.0.0.1; port 0 picks any free port. */
  static async open(target: string, port = 0): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    const listening = Promise.withResolvers<void>();
    proxy.#server.once("error", listening.reject);
    proxy.#server.listen(port, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#links.size;
  }

  /** Drops every connection at once, in both directions; new ones are accepted. */
  sever(): void {
    for (const link of [...this.#links]) link.sever();
  }

  /** Swallows all data in one direction, including the end of the connection, without notifying either side. */
  blackhole(direction: Direction): void {
    this.#swallowed.add(direction);
  }

  /** Stops reading in one direction, so that its sender feels the back-pressure. */
  stall(direction: Direction): void {
    this.#stalled.add(direction);
    for (const link of this.#links) link.stall(direction, true);
  }

  /** Ends {@link blackhole} and {@link stall}; what was swallowed stays lost. */
  heal(): void {
    for (const direction of this.#stalled) for (const link of this.#links) link.stall(direction, false);
    this.#stalled.clear();
    this.#swallowed.clear();
  }

  isSwallowed(direction: Direction): boolean {
    return this.#swallowed.has(direction);
  }

  isStalled(direction: Direction): boolean {
    return this.#stalled.has(direction);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.sever();
    await closed.promise;
  }

  #accept(client: Socket): void {
    const server = connect(this.#target);
    const link = new Link(this, { client, server }, () => this.#links.delete(link));
    this.#links.add(link);
  }
}

/** One connection through the proxy. */
class Link {
  readonly #sockets: { readonly client: Socket; readonly server: Socket };
  readonly #ended: () => void;

  constructor(proxy: FaultyProxy, sockets: { client: Socket; server: Socket }, ended: () => void) {
    this.#sockets = sockets;
    this.#ended = ended;
    const { client, server } = sockets;
    client.setNoDelay();
    server.setNoDelay();
    this.#pipe(proxy, { from: client, to: server, direction: "to_server" });
    this.#pipe(proxy, { from: server, to: client, direction: "to_client" });
  }

  sever(): void {
    this.#ended();
    this.#sockets.client.resetAndDestroy();
    this.#sockets.server.resetAndDestroy();
  }

  stall(direction: Direction, isStalled: boolean): void {
    const from = direction === "to_server" ? this.#sockets.client : this.#sockets.server;
    if (isStalled) from.pause();
    else from.resume();
  }

  #pipe(
    proxy: FaultyProxy,
    { from, to, direction }: { from: Socket; to: Socket; direction: Direction },
  ): void {
    const stream = new MessageStream();
    let late: Buffer[] = [];
    const write = (bytes: Buffer): void => {
      if (proxy.isSwallowed(direction) || to.destroyed) return;
      if (proxy.delayMs > 0) setTimeout(() => to.destroyed || to.write(bytes), proxy.delayMs);
      else if (!to.write(bytes)) {
        from.pause();
        to.once("drain", () => proxy.isStalled(direction) || from.resume());
      }
    };
    const meet = (message: ProxyMessage): void => {
      const fate = proxy.fate(message);
      if (fate === "sever") this.sever();
      else if (fate === "late") late.push(message.bytes);
      else if (fate !== "lose") {
        const copies = fate === "double" ? [message.bytes, message.bytes] : [message.bytes];
        for (const bytes of [...copies, ...late]) write(bytes);
        late = [];
      }
    };
    if (proxy.isStalled(direction)) from.pause();
    from.on("data", (chunk: Buffer) => {
      proxy.onBytes?.(direction, chunk);
      if (proxy.isSwallowed(direction)) return;
      for (const { bytes, index } of stream.take(chunk)) {
        if (index === null) write(bytes);
        else meet({ direction, index, bytes });
      }
    });
    from.on("error", () => {});
    from.on("close", () => {
      if (proxy.isSwallowed(direction)) return;
      this.#ended();
      to.destroySoon();
    });
  }
}

interface Piece {
  readonly bytes: Buffer;
  /** Null for data that is not a message and so has no fate. */
  readonly index: number | null;
}

/** Splits a stream into the HTTP head and the frames after it. */
class MessageStream {
  #buffer: Buffer = Buffer.alloc(0);
  #isUpgraded = false;
  #isOpaque: boolean | null = null;
  #messages = 0;

  take(chunk: Buffer): readonly Piece[] {
    // A TLS handshake (RFC 8446 §5.1): its messages cannot be told apart.
    this.#isOpaque ??= chunk[0] === 0x16;
    if (this.#isOpaque) return [{ bytes: chunk, index: null }];
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    const pieces: Piece[] = [];
    if (!this.#isUpgraded) {
      const end = this.#buffer.indexOf("\r\n\r\n");
      if (end < 0) return pieces;
      this.#isUpgraded = true;
      pieces.push({ bytes: this.#cut(end + 4), index: null });
    }
    for (let length = frameLength(this.#buffer); length !== null; length = frameLength(this.#buffer)) {
      const bytes = this.#cut(length);
      const isControl = ((bytes[0] ?? 0) & 0x08) !== 0;
      if (!isControl) this.#messages += 1;
      const index = this.#messages - handshakeMessages - 1;
      pieces.push({ bytes, index: isControl || index < 0 ? null : index });
    }
    return pieces;
  }

  #cut(length: number): Buffer {
    const piece = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    return piece;
  }
}

/** Length in bytes of the frame at the start of the buffer, including its head; null while it is incomplete. */
function frameLength(buffer: Buffer): number | null {
  if (buffer.length < 2) return null;
  const [, second = 0] = buffer;
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const head = 2 + lengthBytes + ((second & 0x80) === 0 ? 0 : 4);
  if (buffer.length < head) return null;
  const payload =
    lengthBytes === 0
      ? short
      : lengthBytes === 2
        ? buffer.readUInt16BE(2)
        : Number(buffer.readBigUInt64BE(2));
  return buffer.length >= head + payload ? head + payload : null;
}
