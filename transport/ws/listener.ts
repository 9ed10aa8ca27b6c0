// Where other nodes connect. A connecting peer is a stranger until its handshake completes, and strangers are bounded in
// number, bytes and time.
//   L1. With TLS a caller's certificate names the host of the address that the caller claims as its own.
//   L2. A caller that uses a name known to belong to another node is refused.

import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import { hostOf, namesHost } from "./certificate-name.ts";
import { createReceiver } from "./handshake.ts";
import { runHandshake } from "./handshake-run.ts";
import type { HandshakeRefusal, NodeIdentity } from "./hello.ts";
import { frameBytesMax, type TransportLimits } from "./limits.ts";
import { Strangers } from "./strangers.ts";
import { createTlsReceiver } from "./tls-handshake.ts";
import { type Established, type NodeSecurity, transportPath } from "./wire.ts";

export type ListenerOptions = NodeSecurity & {
  readonly host: string;
  /** The port to listen on; 0 picks any free one. */
  readonly port: number;
  readonly limits: TransportLimits;
  /** Takes over an authenticated connection synchronously: the next frame may already have arrived. */
  readonly admit: (socket: WebSocket, established: Established) => void;
  /** Called for a handshake that failed; `reason` is one of the refusals, `late` or `lost`. */
  readonly refused: (reason: string, remoteAddress: string) => void;
  /** Number of authenticated connections at present. */
  readonly admitted: () => number;
  /** The address of the node with that name, or null where no such node is known. */
  readonly addressOf: (incarnation: string) => string | null;
};

/** Maximum bytes of a request's head. */
const headBytesMax = 4_096;

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #strangers: Strangers;

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
    this.#strangers = new Strangers({
      ...{ max: limits.strangersMax, perAddressMax: limits.strangersPerAddressMax },
      ...{ timeMs: limits.handshakeMs, refused: options.refused },
    });
    // One more than the limits allow, so that a new stranger gets far enough to replace another.
    this.#server.maxConnections = limits.strangersMax + limits.connectionsMax + 1;
    const maxPayload = frameBytesMax(limits);
    this.#sockets = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload });
    // Before TLS, because the TLS handshake also belongs to a stranger.
    this.#server.on("connection", (socket: Socket) => this.#meet(socket));
    this.#server.on("secureConnection", (socket: Socket) => socket.on("error", () => {}));
    this.#server.on("tlsClientError", (_error, socket: Socket) =>
      options.refused("tls", socket.remoteAddress ?? ""),
    );
    this.#server.on("request", (_request, response) => {
      response.writeHead(404, { connection: "close", "content-length": 0 }).end();
    });
    this.#server.on("upgrade", (request, stream, head) => this.#upgrade(request, stream, head));
  }

  /** Rejects when the port is not available. */
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

  /** `host:port` on which it listens, or listened before it was closed. */
  get address(): string {
    return this.#address;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** Stops accepting connections, and ends those of strangers. */
  async close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#server.closeAllConnections();
    this.#strangers.endAll();
    await closed.promise;
  }

  /** Handles the first sight of a connection, from which its time counts. */
  #meet(socket: Socket): void {
    const { remoteAddress, remotePort, localAddress } = socket;
    const connection = { remoteAddress, remotePort, localAddress };
    this.#strangers.add(connection, () => socket.destroy());
    socket.once("close", () => this.#strangers.forget(connection));
    socket.on("error", () => {});
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    if (request.url !== transportPath) {
      stream.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      // The end of a WebSocket is handled on `close`.
      socket.on("error", () => {});
      this.#shakeHands(request, stream, socket);
    });
  }

  #shakeHands(request: IncomingMessage, stream: Duplex, socket: WebSocket): void {
    const options = this.#options;
    const { limits, admit, admitted, refused } = options;
    const judge = (caller: NodeIdentity): HandshakeRefusal | null => {
      if (!this.#isItself(caller, request.socket)) return "address";
      return admitted() < limits.connectionsMax ? null : "busy";
    };
    const receiver =
      options.tls === null
        ? createReceiver(options.credentials, judge)
        : createTlsReceiver(options.credentials, judge);
    runHandshake(socket, stream, receiver, limits, (outcome) => {
      if (outcome.established === null) {
        refused(outcome.refused, request.socket.remoteAddress ?? "");
        return;
      }
      this.#strangers.forget(request.socket);
      admit(socket, outcome.established);
    });
  }

  /** L1, L2: a peer that knows the secret or has a certificate is a node, but may not be the node that it claims to be. */
  #isItself({ incarnation, address }: NodeIdentity, socket: Socket): boolean {
    const known = this.#options.addressOf(incarnation);
    if (known !== null && known !== address) return false;
    if (this.#options.tls === null) return true;
    const certificate = (socket as TLSSocket).getPeerX509Certificate();
    return certificate !== undefined && namesHost(certificate, hostOf(address));
  }
}
