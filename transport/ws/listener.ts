// Where other nodes connect. A connecting peer is a stranger until its handshake completes, and strangers are bounded in
// number, bytes and time.
//   L1. With TLS a caller's certificate names the host of the address that the caller claims as its own.
//   L2. A caller that uses a name known to belong to another node is refused.

import type { X509Certificate } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import { addressBlock } from "../../std/ip-address.ts";
import { createReceiver } from "./handshake.ts";
import { runHandshake } from "./handshake-run.ts";
import type { HandshakeRefusal, NodeIdentity } from "./hello.ts";
import { frameBytesMax, type TransportLimits } from "./limits.ts";
import { createTlsReceiver, type Established, type NodeSecurity, transportPath } from "./wire.ts";

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
            ...tls,
            requestCert: true,
            rejectUnauthorized: true,
            maxHeaderSize: headBytesMax,
            handshakeTimeout: limits.handshakeMs,
          });
    this.#strangers = new Strangers({
      max: limits.strangersMax,
      perAddressMax: limits.strangersPerAddressMax,
      timeMs: limits.handshakeMs,
      refused: options.refused,
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

// Connections that have not proven themselves yet, bounded in number (in total and per address) and in time.
//   S1. A new one is always admitted. If that is one too many, the oldest connection of the address with the most
//       connections is dropped: holding connections open locks nobody out, and an honest handshake takes moments.
//   S2. Each has `timeMs` from its first sight.
// An IPv6 address counts together with all others of its /64, because a holder of one address has all of them.

export interface StrangersOptions {
  readonly max: number;
  readonly perAddressMax: number;
  readonly timeMs: number;
  /** Called with the reason before a connection is ended. */
  readonly refused: (reason: "busy" | "late", address: string) => void;
}

/** What identifies a connection: the addresses and ports of its ends. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
}

interface Stranger {
  readonly address: string;
  readonly group: string;
  readonly end: () => void;
  readonly timer: NodeJS.Timeout;
}

export class Strangers {
  readonly #options: StrangersOptions;
  /** Strangers by {@link nameOf}, the oldest first. */
  readonly #all = new Map<string, Stranger>();
  readonly #groups = new Map<string, number>();

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Admits a connection (S1, S2). `end` ends it. */
  add(connection: Connection, end: () => void): void {
    const name = nameOf(connection);
    const address = connection.remoteAddress ?? "";
    const group = groupOf(address);
    this.forget(connection);
    const timer = setTimeout(() => this.#end(name, "late"), this.#options.timeMs);
    this.#all.set(name, { address, group, end, timer });
    this.#groups.set(group, (this.#groups.get(group) ?? 0) + 1);
    const { max, perAddressMax } = this.#options;
    if ((this.#groups.get(group) ?? 0) > perAddressMax) this.#endOldest(group);
    else if (this.#all.size > max) this.#endOldest(this.#mostNumerous());
  }

  /** Forgets a connection that closed, or has proven itself. */
  forget(connection: Connection): void {
    this.#remove(nameOf(connection));
  }

  endAll(): void {
    for (const [name, { end }] of this.#all) {
      this.#remove(name);
      end();
    }
  }

  #remove(name: string): Stranger | undefined {
    const stranger = this.#all.get(name);
    if (stranger === undefined) return undefined;
    clearTimeout(stranger.timer);
    this.#all.delete(name);
    const left = (this.#groups.get(stranger.group) ?? 1) - 1;
    if (left > 0) this.#groups.set(stranger.group, left);
    else this.#groups.delete(stranger.group);
    return stranger;
  }

  #end(name: string, reason: "busy" | "late"): void {
    const stranger = this.#remove(name);
    if (stranger === undefined) return;
    this.#options.refused(reason, stranger.address);
    stranger.end();
  }

  #endOldest(group: string): void {
    for (const [name, stranger] of this.#all) {
      if (stranger.group !== group) continue;
      this.#end(name, "busy");
      return;
    }
  }

  /** The address with the most connections; among equals, that of the oldest connection. */
  #mostNumerous(): string {
    let most = "";
    let count = 0;
    for (const { group } of this.#all.values()) {
      const own = this.#groups.get(group) ?? 0;
      if (own > count) [most, count] = [group, own];
    }
    return most;
  }
}

/** A unique name: no two open connections to one port share it. */
function nameOf({ remoteAddress, remotePort, localAddress }: Connection): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** The zone says over which of this machine's links an address is reached, and nothing of who has it. */
function groupOf(address: string): string {
  return addressBlock(address.split("%", 1)[0] ?? address);
}

// Which host a node's certificate belongs to: the name or address at which the node is reached.

/** The host of `host:port`; an IPv6 host is returned without its brackets. */
export function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

/** Whether the certificate names the host as a subject alternative name (RFC 6125 §6.4; RFC 5280 §4.2.1.6). */
export function namesHost(certificate: X509Certificate, host: string): boolean {
  if (isIP(host) !== 0) return certificate.checkIP(host) !== undefined;
  return host !== "" && certificate.checkHost(host, { subject: "never" }) !== undefined;
}
