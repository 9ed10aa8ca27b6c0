// What a peer outside the cluster gets from a node: T1 and M3 over real connections.

import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { makeCertificate } from "./certificate.fixture.ts";
import { refusalCodes } from "./hello.ts";
import {
  actor,
  closeAfterEach,
  command,
  echo,
  eventually,
  identityOf,
  openNode,
  openProxy,
  testSecret,
} from "./nodes.fixture.ts";
import type { WsTransportOptions } from "./transport.ts";
import { transportPath } from "./wire.ts";

closeAfterEach();

/** Opens a node that records what it was asked. */
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

const self = { ...identityOf("a"), protocol_min: 1, protocol_max: 1 };
const hello = { svc_transport: 1, cluster: "test", nonce: "A".repeat(43), ...self, to: "b" };

const bare = (address: string): WebSocket => new WebSocket(`ws://${address}${transportPath}`);

/** The code with which a WebSocket was closed. */
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
      reason: "unreachable",
      effect: "not_applied",
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
      socket.send(JSON.stringify(hello));
      socket.on("message", (data) => {
        heard += String(data);
        socket.send(JSON.stringify({ proofs: ["A".repeat(43)] }));
      });
    });
    expect(await closed).toBe(refusalCodes.stranger);
    // And the answer contains nothing that helps to guess the secret.
    expect(JSON.parse(heard)).toHaveProperty("nonce");
    expect(heard).not.toContain("proof");
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
    // One message that never ends.
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
    // A WebSocket message of two bytes that is not a hello; the node's close frame is never answered.
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

  it("more strangers at a time than it bears, the oldest first, while peers stay connected", async () => {
    const { node } = await openNoting({ limits: { strangersMax: 3, handshakeMs: 60_000 } });
    const caller = await openNode("a");
    const target = caller.target(node.address, "b");
    await target.ask(actor, command, 5_000);
    const strangers: Socket[] = [];
    for (const count of [1, 2, 3]) {
      strangers.push(tcp(node.address));
      await eventually(() => node.stats().strangers === count);
    }
    const first = new Promise((resolve) =>
      strangers[0]
        ?.on("error", () => {})
        .resume()
        .once("close", resolve),
    );
    strangers.push(tcp(node.address));
    await first;
    expect(node.stats()).toMatchObject({ strangers: 3, refused: { busy: 1 } });
    expect(await target.ask(actor, command, 5_000)).toBe("answered");
    for (const socket of strangers) socket.destroy();
  });

  it.each([
    ["in the clear", {}],
    ["over TLS", { tls: makeCertificate("nodes", ["127.0.0.1"]) }],
  ])("none of whom keeps an honest node out by connections that say nothing, %s", async (_how, more) => {
    // Long enough that none of them is dropped for taking too long.
    const { node } = await openNoting({ ...more, limits: { handshakeMs: 60_000 } });
    const idle = Array.from({ length: 70 }, () =>
      tcp(node.address)
        .on("error", () => {})
        .resume(),
    );
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    await eventually(() => node.stats().strangers === 16 && node.stats().refused["busy"] === 54);
    const caller = await openNode("a", more);
    const greetings = [];
    for (let turn = 0; turn < 10; turn += 1) greetings.push(await caller.greet(node.address, "b"));
    expect(greetings).toEqual(Array(10).fill("known"));
    expect(await caller.target(node.address, "b").ask(actor, command, 5_000)).toBe("answered");
    for (const socket of idle) socket.destroy();
    await eventually(() => node.stats().strangers === 0);
  });

  it("who calls itself by the name of a node that is known to be elsewhere", async () => {
    const addressOf = (incarnation: string) => (incarnation === "c" ? "10.0.0.9:7401" : null);
    const { node, asked } = await openNoting({ addressOf });
    const impostor = await openNode("c");
    await expect(impostor.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject({
      reason: "unreachable",
      effect: "not_applied",
    });
    await eventually(() => (node.stats().refused["address"] ?? 0) > 0);
    expect(asked).toEqual([]);
    const itself = await openNode("c", { self: { ...identityOf("c"), address: "10.0.0.9:7401" } });
    expect(await itself.target(node.address, "b").ask(actor, command, 5_000)).toBe("answered");
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
    { self: { ...identityOf("x"), incarnation: "x".repeat(257) } },
    { self: { ...identityOf("x"), address: "" } },
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
