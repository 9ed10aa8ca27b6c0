// Nodes for tests: real transports on the loopback interface, closed with the test.

import { createSecretKey } from "node:crypto";
import { afterEach } from "vitest";
import type { WebSocket } from "ws";
import type { RemoteFailure, TransportHandlers } from "../actor-transport.ts";
import { type ConnectResult, connect } from "./connect.ts";
import { FaultyProxy } from "./faulty-proxy.fixture.ts";
import type { NodeIdentity } from "./hello.ts";
import { defaultTransportLimits } from "./limits.ts";
import { openFrame, sealFrame } from "./messages.ts";
import { openWsTransport, type WsTransport, type WsTransportOptions } from "./transport.ts";
import type { Established, TransportLogEntry } from "./wire.ts";

export const testSecret = new Uint8Array(32).fill(7);
export const actor = { kind: "business", id: "one" } as const;
export const command = { type: "do" } as const;

/** Answers every ask with the command it received, and every delivery with its last number. */
export const echo: TransportHandlers = {
  ask: async (_to, given) => given,
  deliver: async (_to, _from, messages) => messages.at(-1)?.seq ?? 0,
};

/** Accepts every ask and never answers. */
export const never: TransportHandlers = { ...echo, ask: () => new Promise<never>(() => {}) };

/** The outcome of a call, in words. */
export function outcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    (value) => `answered ${JSON.stringify(value)}`,
    (error: RemoteFailure) => `${error.reason}, ${error.effect}`,
  );
}

const opened: AsyncDisposable[] = [];

/** Must be called once in a test file: closes what its tests opened. */
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });
}

export interface TestNode extends WsTransport {
  readonly incarnation: string;
  readonly logged: readonly TransportLogEntry[];
}

export function identityOf(incarnation: string): NodeIdentity {
  return { incarnation, region: "eu-west1", address: "127.0.0.1:7000" };
}

export async function openNode(
  incarnation: string,
  options: Partial<WsTransportOptions> = {},
): Promise<TestNode> {
  const logged: TransportLogEntry[] = [];
  const transport = await openWsTransport({
    host: "127.0.0.1",
    port: 0,
    cluster: "test",
    secret: options.tls ? null : testSecret,
    self: identityOf(incarnation),
    protocol: { min: 1, max: 1 },
    handlers: echo,
    log: (entry) => logged.push(entry),
    ...options,
    // A busy machine must not influence these tests.
    limits: { handshakeMs: 10_000, silentBeatsMax: 40, ...options.limits },
  });
  opened.push({ [Symbol.asyncDispose]: () => transport.close() });
  return {
    get address() {
      return transport.address;
    },
    target: (address, expected) => transport.target(address, expected),
    greet: (address, expected) => transport.greet(address, expected),
    stats: () => transport.stats(),
    close: () => transport.close(),
    incarnation,
    logged,
  };
}

export async function openProxy(to: { readonly address: string }): Promise<FaultyProxy> {
  const proxy = await FaultyProxy.open(to.address);
  opened.push(proxy);
  return proxy;
}

/** Resolves when `isTrue` holds; checks on every turn of the event loop. The test's own time-out is the bound. */
export async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A bare connection that completed the handshake: for sending what our own transport never would. */
export interface RawCaller {
  readonly socket: WebSocket;
  readonly established: Established;
  /** Sends a frame of these messages, or of this text. */
  send(messages: readonly unknown[] | string): void;
  /** Messages received, without those that have no id. */
  readonly heard: readonly Readonly<Record<string, unknown>>[];
}

export async function openRaw(to: TestNode, incarnation = "raw"): Promise<RawCaller> {
  const limits = defaultTransportLimits;
  const self = identityOf(incarnation);
  const secret = createSecretKey(testSecret);
  const credentials = { cluster: "test", secret, self, protocol: { min: 1, max: 1 } };
  const connected = Promise.withResolvers<ConnectResult>();
  const heard: Readonly<Record<string, unknown>>[] = [];
  const target = { address: to.address, incarnation: to.incarnation };
  connect({ ...target, credentials, tls: null, limits }, (result) => {
    result.socket?.on("message", (data: Buffer) => {
      const { keys, protocol } = result.established;
      const messages = openFrame(keys?.receiving ?? null, protocol, data) ?? [];
      for (const each of messages as readonly Readonly<Record<string, unknown>>[])
        if (each["id"] !== undefined) heard.push(each);
    });
    connected.resolve(result);
  });
  const result = await connected.promise;
  if (result.socket === null) throw new Error(result.detail);
  const { socket, established } = result;
  opened.push({ [Symbol.asyncDispose]: async () => socket.terminate() });
  const send = (messages: readonly unknown[] | string): void => {
    const text = typeof messages === "string" ? messages : JSON.stringify(messages);
    socket.send(sealFrame(established.keys?.sending ?? null, established.protocol, text));
  };
  return { socket, established, send, heard };
}
