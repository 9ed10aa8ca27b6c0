import { describe, expect, it } from "vitest";
import type { Delivery, RemoteTarget } from "../../transport/actor-transport.ts";
import { Kernel } from "../kernel/kernel.ts";
import { Life } from "../kernel/life.ts";
import { Random } from "../kernel/random.ts";
import { Trace } from "../kernel/trace.ts";
import { Faults } from "../world/faults.ts";
import { Network, type Peer } from "./network.ts";

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
  const network = new Network(kernel, new Faults(Random.of(1)), Random.of(2), () => peer);
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

  it("refuses a call to an incarnation that is no longer at the address", async () => {
    const { kernel, network, from } = twoNodes();
    const target = network.targetAt(from, { address: "b", incarnation: "b-0" });
    expect(await outcome(kernel, ask(target))).toBe("unreachable not_applied at 0");
  });
});
