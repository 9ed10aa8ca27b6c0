// Two nodes of one cluster, and what can go wrong between them.

import { describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { sealFrame } from "./messages.ts";
import {
  actor,
  closeAfterEach,
  command,
  echo,
  eventually,
  never,
  openNode,
  openProxy,
  openRaw,
  outcome,
} from "./nodes.fixture.ts";

closeAfterEach();

describe("while the secret changes", () => {
  it("nodes that know both secrets talk with those of the old and those of the new one", async () => {
    const [old, next] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const changing = await openNode("b", { secret: next, alsoAccepted: old });
    const behind = await openNode("a", { secret: old, alsoAccepted: next });
    const ahead = await openNode("c", { secret: next });
    const ends = [
      [behind, changing],
      [changing, behind],
      [changing, ahead],
      [ahead, changing],
    ] as const;
    for (const [from, to] of ends)
      expect(await from.target(to.address, to.incarnation).ask(actor, command, 5_000)).toEqual(command);
    const outsider = await openNode("d", { secret: old });
    expect(await outsider.greet(ahead.address, "c")).toBe("stranger");
    await expect(openNode("e", { alsoAccepted: new Uint8Array(31) })).rejects.toThrow("at least 32 bytes");
  });
});

describe("versions", () => {
  it.each([
    [{ min: 1, max: 1 }, { min: 1, max: 2 }, 1],
    [{ min: 1, max: 2 }, { min: 1, max: 1 }, 1],
    [{ min: 1, max: 2 }, { min: 1, max: 2 }, 2],
  ])("nodes that speak %j and %j talk in version %i", async (ours, theirs, version) => {
    const receiver = await openNode("b", { protocol: theirs });
    const caller = await openNode("a", { protocol: ours });
    expect(await caller.target(receiver.address, "b").ask(actor, command, 5_000)).toEqual(command);
    expect(caller.stats().peers[0]?.protocol).toBe(version);
    expect(receiver.stats().callers[0]?.protocol).toBe(version);
  });

  it("what a later version says is ignored or refused, and the connection goes on", async () => {
    const node = await openNode("b");
    const raw = await openRaw(node);
    raw.send([
      { k: "later" },
      7,
      null,
      { k: "later", id: 1, to: ["business", "one"] },
      { k: "ask", id: 2, to: ["business"], command, timeout_ms: 100 },
      { k: "ask", id: 3, to: ["business", "one"], command, timeout_ms: 100, later: { a: 1 } },
    ]);
    await eventually(() => raw.heard.length === 3);
    expect(raw.heard).toMatchObject([
      { k: "failure", id: 1, reason: "unsupported", effect: "not_applied" },
      { k: "failure", id: 2, reason: "malformed", effect: "not_applied" },
      { k: "answer", id: 3, value: command },
    ]);
  });
});

describe("M4: a frame that comes again", () => {
  it("is not executed again, and is counted", async () => {
    let executed = 0;
    const ask = async (): Promise<number> => {
      executed += 1;
      return executed;
    };
    const node = await openNode("b", { handlers: { ...echo, ask } });
    const raw = await openRaw(node);
    const ids = [5, 3, 5, 3, 4];
    for (const id of ids) raw.send([{ k: "ask", id, to: ["business", "one"], command, timeout_ms: 100 }]);
    await eventually(() => raw.heard.length === 3);
    expect(raw.heard).toMatchObject([{ id: 5 }, { id: 3 }, { id: 4 }]);
    expect(executed).toBe(3);
    expect(node.stats().duplicates).toBe(2);
  });

  it("changes nothing for the caller when it is an answer", async () => {
    const node = await openNode("b");
    const proxy = await openProxy(node);
    proxy.fate = ({ direction }) => (direction === "to_client" ? "double" : "pass");
    const target = (await openNode("a")).target(proxy.address, "b");
    for (let n = 0; n < 5; n += 1)
      expect(await target.ask(actor, { type: `${n}` }, 5_000)).toEqual({ type: `${n}` });
  });
});

describe("C4: a frame that is not the peer's", () => {
  it.each(["changed", "unsealed", "no list", "text"])(
    "ends the connection, nothing of it is executed: %s",
    async (what) => {
      let executed = 0;
      const ask = async (): Promise<number> => {
        executed += 1;
        return executed;
      };
      const node = await openNode("b", { handlers: { ...echo, ask } });
      const raw = await openRaw(node);
      const closed = new Promise((resolve) => raw.socket.once("close", resolve));
      const call = { k: "ask", id: 1, to: ["business", "one"], command, timeout_ms: 100 };
      if (what === "no list") raw.send(JSON.stringify(call));
      else if (what === "text") raw.socket.send(JSON.stringify([call]));
      else if (what === "unsealed")
        raw.socket.send(Buffer.concat([Buffer.alloc(17), Buffer.from(JSON.stringify([call]))]));
      else {
        const frame = sealFrame(raw.established.keys?.sending ?? null, 1, JSON.stringify([call]));
        // Flip one bit of the command's name.
        frame[frame.indexOf('"do"') + 1] = 0x65;
        raw.socket.send(frame);
      }
      expect(await closed).toBe(4010);
      expect(executed).toBe(0);
      expect(node.logged).toContainEqual(
        expect.objectContaining({ event: "connection_ended", detail: "tampered" }),
      );
    },
  );

  it("ends it at the caller too, whose calls reject with unknown effect", async () => {
    const node = await openNode("b");
    const proxy = await openProxy(node);
    const target = (await openNode("a")).target(proxy.address, "b");
    expect(await target.ask(actor, command, 5_000)).toEqual(command);
    proxy.fate = ({ direction, bytes }) => {
      if (direction === "to_client") bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      return "pass";
    };
    expect(await outcome(target.ask(actor, command, 5_000))).toBe("unreachable, unknown");
  });
});

describe("T6: a peer that is not heard any more", () => {
  const limits = { beatMs: 10, silentBeatsMax: 20, closeMs: 20 };

  it.each(["to_server", "to_client"] as const)(
    "is gone on both sides when nothing passes %s",
    async (direction) => {
      const node = await openNode("b", { handlers: never, limits });
      const proxy = await openProxy(node);
      const caller = await openNode("a", { limits });
      const call = outcome(caller.target(proxy.address, "b").ask(actor, command, 60_000));
      await eventually(() => node.stats().callers[0]?.openCalls === 1);
      proxy.blackhole(direction);
      expect(await call).toBe("unreachable, unknown");
      await eventually(() => node.stats().callers.length === 0);
      const [who, why] = direction === "to_server" ? [node, "silent"] : [caller, "silent"];
      expect(who.logged).toContainEqual(expect.objectContaining({ event: "connection_ended", detail: why }));
    },
  );

  it("is not gone while it has nothing to say", async () => {
    const node = await openNode("b", { handlers: never, limits: { ...limits, silentBeatsMax: 50 } });
    const caller = await openNode("a", { limits: { ...limits, silentBeatsMax: 50 } });
    // Longer than the silence that is tolerated.
    const call = caller.target(node.address, "b").ask(actor, command, 1_500);
    expect(await outcome(call)).toBe("timeout, unknown");
    expect(node.stats().callers).toHaveLength(1);
    expect(caller.logged.map(({ event }) => event)).toEqual(["connected"]);
  });

  it("a connection that never comes about is given up", async () => {
    const node = await openNode("b");
    const proxy = await openProxy(node);
    proxy.blackhole("to_client");
    const caller = await openNode("a", { limits: { handshakeMs: 30 } });
    expect(await outcome(caller.target(proxy.address, "b").ask(actor, command, 60_000))).toBe(
      "unreachable, not_applied",
    );
  });
});

describe("timeouts", () => {
  it("of a call that was never handed to the network leave it undone", async () => {
    let executed = 0;
    const ask = async (): Promise<void> => {
      executed += 1;
    };
    const node = await openNode("b", { handlers: { ...echo, ask } });
    const proxy = await openProxy(node);
    proxy.stall("to_server");
    const caller = await openNode("a", { limits: { handshakeMs: 5_000 } });
    const target = caller.target(proxy.address, "b");
    expect(await outcome(target.ask(actor, command, 20))).toBe("timeout, not_applied");
    expect(caller.stats().peers).toMatchObject([{ state: "connecting", openCalls: 0, queuedChars: 0 }]);
    proxy.heal();
    await eventually(() => caller.stats().peers[0]?.state === "connected");
    expect(await outcome(target.deliver(actor, "x/y", [{ seq: 4, message: command }]))).toBe("answered 4");
    expect(executed).toBe(0);
  });

  it("of a call behind others on a connection that takes nothing leave it undone", async () => {
    const asked: string[] = [];
    const ask = async (_to: unknown, { type }: { readonly type: string }): Promise<void> => {
      asked.push(type.slice(0, 4));
    };
    const node = await openNode("b", { handlers: { ...echo, ask } });
    const proxy = await openProxy(node);
    const caller = await openNode("a", { limits: { bufferedBytesMax: 10_000, silentBeatsMax: 1_000 } });
    const target = caller.target(proxy.address, "b");
    await target.ask(actor, { type: "first" }, 5_000);
    proxy.stall("to_server");
    const bulk = Array.from({ length: 40 }, () =>
      outcome(target.ask(actor, { type: `bulk${"x".repeat(500_000)}` }, 30_000)),
    );
    await eventually(() => (caller.stats().peers[0]?.queuedChars ?? 0) > 500_000);
    expect(await outcome(target.ask(actor, { type: "late" }, 20))).toBe("timeout, not_applied");
    proxy.heal();
    expect(new Set(await Promise.all(bulk))).toEqual(new Set(["answered undefined"]));
    expect(await outcome(target.ask(actor, { type: "last" }, 5_000))).toBe("answered undefined");
    expect(asked).toEqual(["firs", ...Array(40).fill("bulk"), "last"]);
    expect(caller.stats().peers).toMatchObject([{ openCalls: 0, queuedChars: 0 }]);
  });
});

describe("connections", () => {
  it("P1: after a failed attempt calls are refused at once until the back-off is over, then a new one is made", async () => {
    let nowMs = 0;
    const gone = await openNode("b");
    await gone.close();
    const caller = await openNode("a", { monotonic: { nowMs: () => nowMs }, limits: { reconnectMs: 1_000 } });
    const target = caller.target(gone.address, "b");
    const failures = (): number => caller.logged.filter(({ event }) => event === "connect_failed").length;
    expect(await outcome(target.ask(actor, command, 5_000))).toBe("unreachable, not_applied");
    expect(await outcome(target.ask(actor, command, 5_000))).toBe("unreachable, not_applied");
    expect(failures()).toBe(1);
    nowMs = 1_000;
    await openNode("b", { port: Number(gone.address.split(":")[1]) });
    expect(await target.ask(actor, command, 5_000)).toEqual(command);
  });

  it("P2: a restarted node is another incarnation: calls to the old one are not given to it", async () => {
    const node = await openNode("b");
    const caller = await openNode("a", { limits: { reconnectMs: 0 } });
    expect(await caller.target(node.address, "b").ask(actor, command, 5_000)).toEqual(command);
    await node.close();
    await openNode("b2", { port: Number(node.address.split(":")[1]) });
    expect(await outcome(caller.target(node.address, "b").ask(actor, command, 5_000))).toBe(
      "not_here, not_applied",
    );
    expect(await caller.target(node.address, "b2").ask(actor, command, 5_000)).toEqual(command);
  });

  it("an address that is none is a node that cannot be reached", async () => {
    const caller = await openNode("a");
    for (const address of ["", "nowhere", "127.0.0.1:99999", "127.0.0.1:1/x?", "a b:1", "x#y:1"])
      expect(await outcome(caller.target(address, "b").ask(actor, command, 5_000))).toBe(
        "unreachable, not_applied",
      );
  });

  it("a command that is no JSON is the caller's own fault", async () => {
    const node = await openNode("b");
    const target = (await openNode("a")).target(node.address, "b");
    await expect(target.ask(actor, rubbish({ type: "t", n: 1n }), 5_000)).rejects.toThrow(TypeError);
    expect(await target.ask(actor, command, 5_000)).toEqual(command);
  });

  it("a delivery that is answered by no number is refused, its effect unknown", async () => {
    const node = await openNode("b", { handlers: { ...echo, deliver: async () => rubbish("7") } });
    const target = (await openNode("a")).target(node.address, "b");
    expect(await outcome(target.deliver(actor, "x/y", []))).toBe("refused, unknown");
  });

  it("closing settles calls that wait for a connection, those under way, and sends answers that are there", async () => {
    const limits = { handshakeMs: 600_000 };
    const node = await openNode("b", { handlers: never, limits });
    const proxy = await openProxy(node);
    const caller = await openNode("a", { limits });
    const underWay = outcome(caller.target(node.address, "b").ask(actor, command, 60_000));
    await eventually(() => node.stats().callers[0]?.openCalls === 1);
    proxy.blackhole("to_client");
    const waiting = outcome(caller.target(proxy.address, "b").ask(actor, command, 60_000));
    expect(caller.stats().peers).toHaveLength(2);
    await caller.close();
    expect(await underWay).toBe("draining, unknown");
    await eventually(() => proxy.connections === 0);
    expect(await waiting).toBe("draining, not_applied");
    expect(await outcome(caller.target("127.0.0.1:1", "c").ask(actor, command, 5_000))).toBe(
      "draining, not_applied",
    );
    expect(caller.stats()).toMatchObject({ callers: [], strangers: 0 });
    await eventually(() => node.stats().callers.length === 0);
    expect(node.logged).toContainEqual(
      expect.objectContaining({ event: "connection_ended", detail: "closed" }),
    );
  });
});
