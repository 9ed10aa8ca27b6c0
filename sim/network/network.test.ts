import { describe, expect, it } from "vitest";
import {
  type TransportWorld,
  transportConformance,
  type WorldNode,
  type WorldOptions,
} from "../../transport/actor-transport.conformance.ts";
import type { Delivery, RemoteTarget } from "../../transport/actor-transport.ts";
import { Kernel, Trace } from "../kernel/kernel.ts";
import { Life } from "../kernel/life.ts";
import { Random } from "../kernel/random.ts";
import { until } from "../kernel/until.fixture.ts";
import { type FaultKind, Faults } from "../world/faults.ts";
import { Network, type Peer } from "./network.ts";

/** What the suite's disturbances are here; each call meets them at this rate. */
const disturbances: Readonly<Record<"double" | "reorder", readonly [FaultKind, number]>> = {
  double: ["message_duplicated", 1],
  reorder: ["message_delayed", 0.5],
};
/** A cut that every call notices. */
const severedMs = 2_000;

async function openWorld(options: WorldOptions): Promise<TransportWorld> {
  const kernel = new Kernel({ startMs: 0, trace: new Trace({ story: false }) });
  const random = Random.of(1);
  const faults = new Faults(random);
  faults.chosen.clear();
  faults.active = true;
  const peers = new Map<string, Peer>();
  const find = (address: string): Peer | null => peers.get(address) ?? null;
  const network = new Network(kernel, faults, random.fork("network"), { find, ...options });
  let isSevered = false;
  const nodeOf = (self: Peer): WorldNode => {
    const targetAt = (address: string, incarnation: string): RemoteTarget =>
      network.targetAt(self, { address, incarnation });
    return {
      address: self.name,
      incarnation: self.name,
      targetAt,
      target: (of) => targetAt(of.address, of.incarnation),
      close: async () => network.close(self),
    };
  };
  return {
    open: async (name, handlers) => {
      const peer = { name, handlers, current: () => name, life: new Life(kernel, name) };
      peers.set(name, peer);
      return nodeOf(peer);
    },
    until: (promise) => until(kernel, promise, () => !isSevered),
    disturb: (how) => {
      faults.chosen.clear();
      if (how === "none") return;
      const [kind, rate] = disturbances[how];
      faults.chosen.set(kind, { rate, random: random.fork(kind), strikes: 0 });
    },
    sever: () => {
      const links = [...peers.keys()].flatMap((one) =>
        [...peers.keys()].map((other) => [one, other] as const),
      );
      for (const [one, other] of links) network.cut(one, other);
      isSevered = true;
      kernel.after(severedMs, "links are back", () => {
        for (const [one, other] of links) network.heal(one, other);
        isSevered = false;
      });
    },
    close: async () => {},
  };
}

transportConformance("the simulator's network", openWorld);

function twoNodes() {
  const kernel = new Kernel({ startMs: 0, trace: new Trace({ story: false }) });
  const heard: string[] = [];
  const peer: Peer = {
    name: "b",
    current: () => "b-1",
    life: new Life(kernel, "b-1"),
    handlers: {
      ask: async (_to, command) => {
        heard.push(command.type);
        return { said: command.type };
      },
      deliver: async (_to, _from, messages: readonly Delivery[]) => messages.at(-1)?.seq ?? 0,
    },
  };
  const network = new Network(kernel, new Faults(Random.of(1)), Random.of(2), { find: () => peer });
  const from = { name: "a", life: new Life(kernel, "a-1") };
  return { kernel, network, peer, heard, from, target: network.target(from, peer) };
}

async function outcome(kernel: Kernel, call: Promise<unknown>): Promise<unknown> {
  let settled: unknown = "nothing";
  call.then(
    (value) => {
      settled = value;
    },
    (error: { reason?: string; effect?: string }) => {
      settled = `${error.reason} ${error.effect} at ${kernel.now()}`;
    },
  );
  await kernel.run(() => false);
  return settled;
}

const ask = (target: RemoteTarget): Promise<unknown> =>
  target.ask({ kind: "business", id: "x" }, { type: "hello" }, 5_000);

describe("the network", () => {
  it("carries questions, answers and deliveries", async () => {
    const { kernel, target } = twoNodes();
    expect(await outcome(kernel, ask(target))).toEqual({ said: "hello" });
    const messages = [{ seq: 7, message: { type: "m" } }];
    expect(await outcome(kernel, target.deliver({ kind: "push", id: "x" }, "business/x", messages))).toBe(7);
  });

  it("settles a call over a cut link as unreachable, effect unknown (M2)", async () => {
    for (const [one, other] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const { kernel, network, target, heard } = twoNodes();
      network.cut(one, other);
      expect(await outcome(kernel, ask(target))).toBe("unreachable unknown at 2000");
      // One direction only: a request arrives even if its answer does not.
      expect(heard).toEqual(one === "a" ? [] : ["hello"]);
    }
  });

  it("settles a call to a node that died, and refuses one to a node that is dead (M2)", async () => {
    const { kernel, target, peer } = twoNodes();
    const dying = ask(target);
    peer.life.end();
    expect(await outcome(kernel, dying)).toBe("unreachable unknown at 2000");
    expect(await outcome(kernel, ask(target))).toBe("unreachable not_applied at 2001");
  });

  it("fails at once what a node that leaves has under way (M2)", async () => {
    const { kernel, network, from, target } = twoNodes();
    const open = ask(target);
    network.close(from);
    expect(await outcome(kernel, open)).toBe("draining unknown at 0");
  });

  it("refuses a call to an incarnation that is no longer at the address", async () => {
    const { kernel, network, from } = twoNodes();
    const target = network.targetAt(from, { address: "b", incarnation: "b-0" });
    expect(await outcome(kernel, ask(target))).toMatch(/^not_here not_applied at [2-6]$/);
  });
});
