// Nodes for tests: real transports on the loopback interface, closed with the test.

import { afterEach } from "vitest";
import type { TransportHandlers } from "../actor-transport.ts";
import { FaultyProxy } from "./faulty-proxy.fixture.ts";
import {
  openWsTransport,
  type TransportLogEntry,
  type WsTransport,
  type WsTransportOptions,
} from "./transport.ts";

export const testSecret = new Uint8Array(32).fill(7);
export const actor = { kind: "business", id: "one" } as const;
export const command = { type: "do" } as const;

/** Answers every ask with what was asked, every delivery with its last number. */
export const echo: TransportHandlers = {
  ask: async (_to, given) => given,
  deliver: async (_to, _from, messages) => messages.at(-1)?.seq ?? 0,
};

const opened: AsyncDisposable[] = [];

/** To be called once in a test file: ends what its tests opened. */
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });
}

export interface TestNode extends WsTransport {
  readonly incarnation: string;
  readonly logged: readonly TransportLogEntry[];
}

export async function openNode(
  incarnation: string,
  options: Partial<WsTransportOptions> = {},
): Promise<TestNode> {
  const logged: TransportLogEntry[] = [];
  const transport = await openWsTransport({
    ...{ host: "127.0.0.1", port: 0, cluster: "test", secret: testSecret },
    ...{ self: { incarnation, region: "eu-west1" }, protocol: { min: 1, max: 1 }, handlers: echo },
    log: (entry) => logged.push(entry),
    ...options,
  });
  opened.push({ [Symbol.asyncDispose]: () => transport.close() });
  return {
    get address() {
      return transport.address;
    },
    target: (address, expected) => transport.target(address, expected),
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

/** Resolves when `isTrue` holds; asks again whenever the event loop turns. The test's own time is the bound. */
export async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}
