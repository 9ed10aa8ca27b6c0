import {
  type TransportWorld,
  transportConformance,
  type WorldNode,
  type WorldOptions,
} from "../actor-transport.conformance.ts";
import type { FaultyProxy, MessageFate, ProxyMessage } from "./faulty-proxy.fixture.ts";
import { closeAfterEach, openNode, openProxy } from "./nodes.fixture.ts";

closeAfterEach();

const fates: Readonly<Record<"double" | "reorder" | "none", (message: ProxyMessage) => MessageFate>> = {
  double: () => "double",
  reorder: ({ index }) => (index % 2 === 0 ? "late" : "pass"),
  none: () => "pass",
};

/** Every node is reached through its own proxy. */
async function openWorld({ callsMax }: WorldOptions): Promise<TransportWorld> {
  const proxies: FaultyProxy[] = [];
  const limits = {
    beatMs: 20,
    silentBeatsMax: 200,
    reconnectMs: 0,
    ...(callsMax === undefined ? {} : { callsMax }),
  };
  return {
    open: async (incarnation, handlers): Promise<WorldNode> => {
      const node = await openNode(incarnation, { handlers, limits });
      const proxy = await openProxy(node);
      proxies.push(proxy);
      const { address } = proxy;
      return {
        address,
        incarnation,
        target: (of) => node.target(of.address, of.incarnation),
        targetAt: (at, expected) => node.target(at, expected),
        close: () => node.close(),
      };
    },
    until: (promise) => promise,
    disturb: (how) => {
      for (const proxy of proxies) proxy.fate = fates[how];
    },
    sever: () => {
      for (const proxy of proxies) proxy.sever();
    },
    close: async () => {},
  };
}

transportConformance("a transport over WebSockets", openWorld);
