// Where other nodes connect. Whoever connects is a stranger until its handshake is over, and strangers are bounded in
// number, in bytes and in time.

import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Credentials, createReceiver, type Established, refusalCodes } from "./handshake.ts";
import { runHandshake } from "./handshake-run.ts";
import { frameBytesMax, type TransportLimits } from "./limits.ts";
import { type MutualTls, transportPath } from "./wire.ts";

export interface ListenerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly credentials: Credentials;
  readonly tls: MutualTls | null;
  readonly limits: TransportLimits;
  /** Takes over an authenticated connection, at once: the next frame may be there already. */
  readonly admit: (socket: WebSocket, established: Established) => void;
  /** A handshake that came to nothing; `reason` is one of the refusals, `late` or `lost`. */
  readonly refused: (reason: string, remoteAddress: string) => void;
  /** Authenticated connections now. */
  readonly admitted: () => number;
}

/** Bytes of a request's head. */
const headBytesMax = 4_096;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  /** Connections without a finished handshake, each with what ends it. */
  readonly #strangers = new Map<Duplex, NodeJS.Timeout>();

  #address = "";

  private constructor(options: ListenerOptions) {
    this.#options = options;
    const { tls, limits } = options;
    this.#server =
      tls === null
        ? createServer({ maxHeaderSize: headBytesMax })
        : createTlsServer({
            ...{ ...tls, requestCert: true, rejectUnauthorized: true },
            ...{ maxHeaderSize: headBytesMax, handshakeTimeout: limits.handshakeMs },
          });
    this.#server.maxConnections = limits.strangersMax + limits.connectionsMax;
    const maxPayload = frameBytesMax(limits);
    this.#sockets = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload });
    const met = tls === null ? "connection" : "secureConnection";
    this.#server.on(met, (socket: Socket) => this.#meet(socket));
    this.#server.on("tlsClientError", (_error, socket: Socket) =>
      options.refused("tls", socket.remoteAddress ?? ""),
    );
    this.#server.on("request", (_request, response) => {
      response.writeHead(404, { connection: "close", "content-length": 0 }).end();
    });
    this.#server.on("upgrade", (request, stream, head) => this.#upgrade(request, stream, head));
  }

  /** Rejects when the port cannot be had. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    const listening = Promise.withResolvers<void>();
    listener.#server.once("error", listening.reject);
    listener.#server.listen(options.port, options.host, () => listening.resolve());
    await listening.promise;
    const { address, port, family } = listener.#server.address() as AddressInfo;
    listener.#address = family === "IPv6" ? `[${address}]:${port}` : `${address}:${port}`;
    return listener;
  }

  /** `host:port` that it listens on, or did. */
  get address(): string {
    return this.#address;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** Takes no further connections, and ends those of strangers. */
  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#server.closeAllConnections();
    for (const stream of this.#strangers.keys()) stream.destroy();
    await closed.promise;
  }

  /** The first sight of a connection: from here on its time runs. */
  #meet(stream: Duplex & { remoteAddress?: string | undefined }): void {
    const { limits, refused } = this.#options;
    if (this.#strangers.size >= limits.strangersMax) {
      refused("busy", stream.remoteAddress ?? "");
      stream.destroy();
      return;
    }
    const timer = setTimeout(() => {
      refused("late", stream.remoteAddress ?? "");
      stream.destroy();
    }, limits.handshakeMs);
    this.#strangers.set(stream, timer);
    stream.once("close", () => this.#forget(stream));
    stream.on("error", () => {});
  }

  #forget(stream: Duplex): void {
    clearTimeout(this.#strangers.get(stream));
    this.#strangers.delete(stream);
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    if (request.url !== transportPath) {
      stream.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      // What ends a WebSocket is told by `close`.
      socket.on("error", () => {});
      this.#shakeHands(request, stream, socket);
    });
  }

  #shakeHands(request: IncomingMessage, stream: Duplex, socket: WebSocket): void {
    const { credentials, limits, admit, admitted, refused } = this.#options;
    runHandshake(socket, stream, createReceiver(credentials), limits, (outcome) => {
      if (outcome.established === null) {
        refused(outcome.refused, request.socket.remoteAddress ?? "");
        return;
      }
      this.#forget(stream);
      if (admitted() < limits.connectionsMax) admit(socket, outcome.established);
      else {
        refused("busy", outcome.established.peer.incarnation);
        socket.close(refusalCodes.busy, "busy");
        setTimeout(() => socket.terminate(), limits.closeMs).unref();
      }
    });
  }
}
