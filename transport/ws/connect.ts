// One attempt to reach a node: TCP (or TLS), the WebSocket and the handshake, all within `handshakeMs`.

import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import type { RemoteFailureReason } from "../actor-transport.ts";
import { createCaller } from "./handshake.ts";
import { type HandshakeOutcome, runHandshake } from "./handshake-run.ts";
import type { HandshakeRefusal } from "./hello.ts";
import { frameBytesMax, type TransportLimits } from "./limits.ts";
import { createTlsCaller, type Established, type NodeSecurity, transportPath } from "./wire.ts";

export type ConnectOptions = NodeSecurity & {
  /** The address as `host:port`, with an IPv6 host in brackets. */
  readonly address: string;
  /** The incarnation that must answer at the address. */
  readonly incarnation: string;
  readonly limits: TransportLimits;
};

export type ConnectResult =
  | { readonly socket: WebSocket; readonly established: Established }
  | {
      readonly socket: null;
      readonly reason: RemoteFailureReason;
      readonly detail: string;
      /** Why one side refused the other, or null when they did not get that far. */
      readonly refused: HandshakeRefusal | null;
    };

const addressPattern = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i;

/** Calls `done` once. The function that it returns abandons the attempt. */
export function connect(options: ConnectOptions, done: (result: ConnectResult) => void): () => void {
  const { address, incarnation, tls, limits } = options;
  let isOver = false;
  let stream: Duplex | null = null;
  const url = `${tls === null ? "ws" : "wss"}://${address}${transportPath}`;
  if (!addressPattern.test(address) || !URL.canParse(url)) {
    const detail = "its address is not valid";
    const refusal = { socket: null, reason: "unreachable", detail, refused: null } as const;
    const soon = setImmediate(() => done(refusal));
    return () => {
      clearImmediate(soon);
      done(refusal);
    };
  }
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: frameBytesMax(limits),
    // The platform checks that the certificate names the host of the address.
    ...(tls === null ? {} : { ...tls, rejectUnauthorized: true }),
  });
  const timer = setTimeout(() => fail("unreachable", "no connection in time"), limits.handshakeMs);
  const finish = (result: ConnectResult): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    done(result);
  };
  const fail = (reason: RemoteFailureReason, detail: string): void => {
    finish({ socket: null, reason, detail, refused: null });
    socket.terminate();
  };
  // An error is always followed by `close`; before the WebSocket is open there is nothing else to handle.
  socket.on("error", (error) => {
    const refused = tls !== null && isUntrusted(error) ? "stranger" : null;
    finish({ socket: null, reason: "unreachable", detail: error.message, refused });
  });
  socket.once("upgrade", (response) => {
    stream = response.socket;
  });
  socket.once("open", () => {
    if (stream === null) fail("unreachable", "no upgrade");
    else shakeHands(stream);
  });
  const shakeHands = (over: Duplex): void => {
    const caller =
      options.tls === null
        ? createCaller(options.credentials, incarnation)
        : createTlsCaller(options.credentials, incarnation);
    runHandshake(socket, over, caller, limits, (outcome) => {
      if (outcome.established !== null) finish({ socket, established: outcome.established });
      else leave(reasonOf(outcome));
    });
  };
  /** A refusal is sent on the way out, so that the other side can report it as well. */
  const leave = ([reason, detail, refused]: ReturnType<typeof reasonOf>): void => {
    finish({ socket: null, reason, detail, refused });
    const insist = setTimeout(() => socket.terminate(), limits.closeMs);
    socket.once("close", () => clearTimeout(insist));
  };
  return () => fail("unreachable", "given up");
}

/** OpenSSL's and Node's codes for a certificate of another authority, for another host, or outside its validity period. */
const untrusted =
  /^(?:ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|INVALID_CA|HOSTNAME_MISMATCH)/;

function isUntrusted(error: Error): boolean {
  return "code" in error && typeof error.code === "string" && untrusted.test(error.code);
}

function reasonOf({
  refused,
  by,
}: HandshakeOutcome & { established: null }): [RemoteFailureReason, string, HandshakeRefusal | null] {
  if (refused === "lost") return ["unreachable", "the connection ended before the handshake did", null];
  const detail = by === "us" ? `the handshake was refused here: ${refused}` : `refused there: ${refused}`;
  return [refused === "incarnation" ? "not_here" : "unreachable", detail, refused];
}
