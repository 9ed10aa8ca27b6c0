import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  type TransportWorld,
  transportConformance,
  type WorldNode,
  type WorldOptions,
} from "../actor-transport.conformance.ts";
import type { TransportHandlers } from "../actor-transport.ts";
import { MemoryNetwork, type MemoryNode, type Packet } from "./network.ts";

async function openWorld({ callsMax }: WorldOptions): Promise<TransportWorld> {
  const network = new MemoryNetwork(callsMax === undefined ? {} : { callsMax });
  const names: string[] = [];
  const worldNode = (node: MemoryNode): WorldNode => ({
    ...{ address: node.address, incarnation: node.incarnation },
    target: (of) => node.target(of.address, of.incarnation),
    targetAt: (address, incarnation) => node.target(address, incarnation),
    close: async () => node.close(),
  });
  const until = async <T>(promise: Promise<T>): Promise<T> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    while (!isSettled) {
      network.run();
      await turn();
      const { nextMs, nowMs } = network;
      if (!isSettled && network.due.length === 0 && nextMs !== null) network.advance(nextMs - nowMs);
    }
    return await settled;
  };
  return {
    open: async (incarnation, handlers) => {
      names.push(incarnation);
      return worldNode(network.open({ incarnation, handlers }));
    },
    until,
    disturb: (how) => {
      network.fate = ({ id }) => (how === "double" ? [0, 1] : how === "reorder" && id % 2 === 0 ? [5] : [0]);
    },
    sever: () => {
      for (const one of names) for (const other of names) network.disconnect(one, other);
    },
    close: async () => {},
  };
}

transportConformance("the network in memory", openWorld);

describe("the network in memory", () => {
  const handlers: TransportHandlers = { ask: async (to) => to.id, deliver: async () => 0 };
  const ask = (network: MemoryNetwork, id = "x"): Promise<unknown> => {
    const from = network.open({ incarnation: "a", handlers });
    network.open({ incarnation: "b", handlers });
    return from.target("b", "b").ask({ kind: "k", id }, { type: "t" }, 100);
  };

  it("does nothing by itself", async () => {
    const network = new MemoryNetwork();
    let isSettled = false;
    const call = ask(network).finally(() => {
      isSettled = true;
    });
    await turn();
    expect(isSettled).toBe(false);
    expect(network.due.map(({ kind, from, to }) => ({ kind, from, to }))).toEqual([
      { kind: "ask", from: "a", to: "b" },
    ]);
    expect(network.step()).toBe(true);
    await turn();
    expect(network.due.map(({ kind }) => kind)).toEqual(["answer"]);
    network.step();
    expect(await call).toBe("x");
    expect(network.step()).toBe(false);
  });

  it("loses what its fate loses, and the caller learns it when its time is over", async () => {
    const lost: Packet[] = [];
    const network = new MemoryNetwork({
      fate: (packet) => {
        lost.push(packet);
        return [];
      },
    });
    const call = ask(network);
    network.run();
    expect(network.nextMs).toBe(100);
    network.advance(99);
    network.advance(1);
    await expect(call).rejects.toMatchObject({ reason: "timeout", effect: "unknown" });
    expect(lost).toHaveLength(1);
  });

  it("delays by its fate, and takes what is due in the order that it is told", async () => {
    const network = new MemoryNetwork({
      fate: ({ kind, text }) => [kind === "ask" && text.includes("late") ? 10 : 0],
    });
    const calls = [ask(network, "late"), ask(network, "one"), ask(network, "two")];
    expect(network.due).toHaveLength(2);
    expect(network.due[1]?.text).toContain("two");
    network.step(1);
    expect(network.due[0]?.text).toContain("one");
    network.advance(10);
    network.run();
    await turn();
    network.run();
    expect(await Promise.all(calls)).toEqual(["late", "one", "two"]);
  });

  it("cuts one direction", async () => {
    const network = new MemoryNetwork();
    network.cut("b", "a");
    const call = ask(network);
    network.run();
    await turn();
    expect(network.due.map(({ kind }) => kind)).toEqual(["answer"]);
    network.run();
    network.advance(100);
    await expect(call).rejects.toMatchObject({ reason: "timeout", effect: "unknown" });
    network.heal("b", "a");
    const again = ask(network);
    network.run();
    await turn();
    network.run();
    expect(await again).toBe("x");
  });

  it("N1: a second copy that finds nobody says nothing about the first", async () => {
    const network = new MemoryNetwork({ fate: ({ kind }) => (kind === "ask" ? [0, 1] : []) });
    const from = network.open({ incarnation: "a", handlers });
    const first = network.open({ incarnation: "b", handlers });
    const call = from.target("b", "b").ask({ kind: "k", id: "x" }, { type: "t" }, 100);
    network.step();
    network.open({ incarnation: "c", address: first.address, handlers });
    network.advance(1);
    network.step();
    await expect(call).rejects.toMatchObject({ reason: "not_here", effect: "unknown" });
  });
});
