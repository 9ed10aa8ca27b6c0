// What whoever is not of the cluster gets from a node: T1 and M3 over real connections.

import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { refusalCodes } from "./handshake.ts";
import {
  actor,
  closeAfterEach,
  command,
  echo,
  eventually,
  openNode,
  openProxy,
  testSecret,
} from "./nodes.fixture.ts";
import type { WsTransportOptions } from "./transport.ts";
import { transportPath } from "./wire.ts";

closeAfterEach();

/** A node that notes what it was asked. */
async function openNoting(more: Partial<WsTransportOptions> = {}) {
  const asked: unknown[] = [];
  const handlers = {
    ...echo,
    ask: async (_to: unknown, given: unknown) => {
      asked.push(given);
      return "answered";
    },
  };
  return { node: await openNode("b", { handlers, ...more }), asked };
}

const bare = (address: string): WebSocket => new WebSocket(`ws://${address}${transportPath}`);

/** The code that a WebSocket is closed with. */
function closeCode(socket: WebSocket): Promise<number> {
  return new Promise((resolve) => socket.once("close", resolve));
}

function tcp(address: string): Socket {
  return connect({ host: "127.0.0.1", port: Number(address.split(":")[1]) });
}

describe("a node refuses", () => {
  it.each([
    ["another secret", { secret: new Uint8Array(32).fill(8) }],
    ["another cluster", { cluster: "other" }],
    ["no common version", { protocol: { min: 2, max: 3 } }],
  ])("a caller with %s, which learns that nothing was done", async (_what, other) => {
    const { node, asked } = await openNoting();
    const stranger = await openNode("a", other);
    await expect(stranger.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject({
      ...{ reason: "unreachable", effect: "not_applied" },
    });
    await eventually(() => Object.keys(node.stats().refused).length > 0 || node.stats().strangers === 0);
    expect(asked).toEqual([]);
    expect(node.stats().callers).toEqual([]);
  });

  it.each([
    ["known", {}, "b"],
    ["stranger", { secret: new Uint8Array(32).fill(8) }, "b", "stranger"],
    ["stranger", { cluster: "other" }, "b", "cluster"],
    ["unknown", { protocol: { min: 2, max: 3 } }, "b", "protocol"],
    ["unknown", {}, "c", "incarnation"],
  ] as const)("or not: a greeting tells (%s, %j, to %s), and both know why", async (...given) => {
    const [greeting, other, to, refusal = null] = given;
    const { node } = await openNoting();
    const caller = await openNode("a", other);
    expect(await caller.greet(node.address, to)).toBe(greeting);
    await eventually(() => refusal === null || node.stats().refused[refusal] === 1);
    await eventually(() => node.stats().callers.length === 0);
    await node.close();
    expect(await caller.greet(node.address, to)).toBe("unknown");
  });

  it("a caller that does not care who answers and has no secret", async () => {
    const { node, asked } = await openNoting();
    const socket = bare(node.address);
    const closed = closeCode(socket);
    let heard = "";
    socket.once("open", () => {
      const nonce = "A".repeat(43);
      const self = { incarnation: "a", region: "r", protocol_min: 1, protocol_max: 1 };
      socket.send(JSON.stringify({ svc_transport: 1, cluster: "test", nonce, ...self, to: "b" }));
      socket.once("message", (data) => {
        heard = String(data);
        socket.send(JSON.stringify({ proof: "A".repeat(43) }));
      });
    });
    expect(await closed).toBe(refusalCodes.stranger);
    expect(JSON.parse(heard)).toHaveProperty("proof");
    expect(asked).toEqual([]);
    expect(node.stats().refused).toEqual({ stranger: 1 });
    expect(node.logged).toMatchObject([{ event: "handshake_refused", detail: "stranger" }]);
  });

  it("a handshake that was recorded and is played again, with the call that followed it", async () => {
    const { node, asked } = await openNoting();
    const proxy = await openProxy(node);
    const recorded: Buffer[] = [];
    proxy.onBytes = (direction, bytes) => direction === "to_server" && recorded.push(Buffer.from(bytes));
    const caller = await openNode("a");
    expect(await caller.target(proxy.address, "b").ask(actor, command, 5_000)).toBe("answered");
    const socket = tcp(node.address);
    const ended = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    socket.write(Buffer.concat(recorded));
    await eventually(() => node.stats().refused["stranger"] === 1);
    socket.destroy();
    await ended;
    expect(asked).toHaveLength(1);
  });

  it("words before the handshake, a first message that is too long, and one that is binary", async () => {
    const { node, asked } = await openNoting();
    const self = { incarnation: "a", region: "r", protocol_min: 1, protocol_max: 1 };
    const hello = { svc_transport: 1, cluster: "test", nonce: "A".repeat(43), ...self, to: "b" };
    const long = { ...hello, padding: "x".repeat(3_000) };
    for (const first of ["hello", JSON.stringify(long), Buffer.from(JSON.stringify(hello))]) {
      const socket = bare(node.address);
      const closed = closeCode(socket);
      socket.once("open", () => socket.send(first));
      expect(await closed).toBe(refusalCodes.malformed);
    }
    expect(asked).toEqual([]);
    expect(node.stats().refused).toEqual({ malformed: 3 });
  });

  it("more bytes than a handshake has, before they are put together", async () => {
    const { node } = await openNoting();
    const socket = bare(node.address);
    socket.on("error", () => {});
    const closed = closeCode(socket);
    // One message whose end never comes.
    socket.once("open", () => {
      for (let part = 0; part < 20; part += 1) socket.send("x".repeat(1_000), { fin: false });
    });
    await closed;
    expect(node.stats()).toMatchObject({ strangers: 0, refused: { malformed: 1 } });
  });

  it("whoever says nothing: without a request, after half of one, after the upgrade, after a refusal", async () => {
    const { node } = await openNoting({ limits: { handshakeMs: 500 } });
    const silent = tcp(node.address);
    const half = tcp(node.address);
    half.write("GET / HTTP/1.1\r\nhost: x\r\n");
    const upgraded = bare(node.address);
    upgraded.on("error", () => {});
    const deaf = tcp(node.address);
    // A WebSocket message of two bytes that is no hello; what the node closes with is never answered.
    deaf.write(
      `GET ${transportPath} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    deaf.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x7b, 0x7d]));
    const ends = [silent, half, deaf].map((socket) => {
      socket.on("error", () => {}).resume();
      return new Promise((resolve) => socket.once("close", resolve));
    });
    await Promise.all([...ends, closeCode(upgraded)]);
    await eventually(() => node.stats().strangers === 0);
    expect(node.stats().refused["malformed"]).toBe(1);
    expect(node.stats().refused["late"]).toBeGreaterThanOrEqual(2);
  });

  it("more strangers at a time than it bears, while peers stay connected", async () => {
    const { node } = await openNoting({ limits: { strangersMax: 3, handshakeMs: 60_000 } });
    const caller = await openNode("a");
    const target = caller.target(node.address, "b");
    await target.ask(actor, command, 5_000);
    const strangers = [1, 2, 3].map(() => tcp(node.address));
    await eventually(() => node.stats().strangers === 3);
    const fourth = tcp(node.address);
    await new Promise((resolve) => fourth.on("error", () => {}).once("close", resolve));
    expect(node.stats()).toMatchObject({ strangers: 3, refused: { busy: 1 } });
    expect(await target.ask(actor, command, 5_000)).toBe("answered");
    for (const socket of strangers) socket.destroy();
  });

  it("more peers than it bears", async () => {
    const { node } = await openNoting({ limits: { connectionsMax: 1 } });
    const [one, other] = [await openNode("a"), await openNode("c")];
    expect(await one.target(node.address, "b").ask(actor, command, 5_000)).toBe("answered");
    await expect(other.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject({
      reason: "unreachable",
    });
    expect(node.stats().callers).toHaveLength(1);
  });

  it("requests that are no upgrade, and upgrades of another path", async () => {
    const { node } = await openNoting();
    expect((await fetch(`http://${node.address}${transportPath}`)).status).toBe(404);
    const socket = new WebSocket(`ws://${node.address}/`);
    await expect(
      new Promise((_resolve, reject) => {
        socket.once("error", reject);
      }),
    ).rejects.toThrow(/404/);
    await eventually(() => node.stats().strangers === 0);
  });
});

describe("a transport cannot be opened", () => {
  it.each([
    { secret: testSecret.subarray(1) },
    { cluster: "" },
    { self: { incarnation: "x".repeat(257), region: "r" } },
    { protocol: { min: 2, max: 1 } },
    { protocol: { min: 0, max: 1 } },
    { protocol: { min: 1, max: 256 } },
  ])("with %o", async (options) => {
    await expect(openNode("a", options)).rejects.toThrow(RangeError);
  });

  it("on a port that is taken", async () => {
    const node = await openNode("a");
    const port = Number(node.address.split(":")[1]);
    await expect(openNode("b", { port })).rejects.toThrow(/EADDRINUSE/);
  });
});
