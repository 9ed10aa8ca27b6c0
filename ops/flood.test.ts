// What callers without a token may cost a node by requesting actions: the surface may be reachable by others.

import { connect } from "node:net";
import type { FastifyInstance } from "fastify";
import { afterEach, describe, expect, it, vi } from "vitest";
import { refusedLinesMax } from "./acts.ts";
import { act, authorization, openOps, token } from "./ops.fixture.ts";
import type { OpsDeps } from "./server.ts";

type Line = readonly [event: string, detail: Readonly<Record<string, unknown>>];

const servers: FastifyInstance[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) await server.close();
});

function open(changes: Partial<OpsDeps>): FastifyInstance {
  const server = openOps(changes);
  servers.push(server);
  return server;
}

describe("acts that are asked for without the token", () => {
  const lines: Line[] = [];
  const audit = { record: (...line: Line) => void lines.push(line) };
  const ask = (server: FastifyInstance, headers: object = {}) =>
    server.inject({ method: "POST", url: "/ops/keys/k/revoke", headers: { ...headers }, payload: act });

  it("have a bounded number of lines in the audit log, and are counted there (A4)", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    lines.length = 0;
    const server = open({ audit });
    for (let count = 0; count < refusedLinesMax + 40; count += 1) await ask(server);
    expect(lines).toHaveLength(refusedLinesMax);
    // Callers with the token are in the log, whatever strangers did.
    await ask(server, { authorization });
    expect(lines.slice(refusedLinesMax).map(([event]) => event)).toEqual(["ops.asked", "ops.refused"]);
    vi.advanceTimersByTime(60_000);
    expect(lines.at(-1)).toEqual(["ops.refused_more", { count: 40 }]);
    await ask(server);
    expect(lines.at(-1)).toMatchObject(["ops.refused", { status: 401 }]);
  });

  it.each([
    ["opening a session", "POST"],
    ["ending a session", "DELETE"],
  ] as const)("have a bounded number of lines for %s as well (A4)", async (_name, method) => {
    lines.length = 0;
    const server = open({ audit });
    const payload = method === "POST" ? { token: "guessed", by: "nobody" } : undefined;
    for (let count = 0; count < refusedLinesMax + 5; count += 1)
      await server.inject({ method, url: "/ops/session", ...(payload === undefined ? {} : { payload }) });
    expect(lines).toHaveLength(refusedLinesMax);
    expect(new Set(lines.map(([event]) => event))).toEqual(new Set(["ops.refused"]));
    if (method === "DELETE") return;
    const own = { token, by: "Ada" };
    await server.inject({ method, url: "/ops/session", payload: own });
    expect(lines.slice(refusedLinesMax)).toMatchObject([
      ["ops.asked", { act: "POST /ops/session", by: "Ada" }],
      ["ops.acted", { act: "POST /ops/session", by: "Ada", status: 200 }],
    ]);
  });

  it("are counted also where the node ends before the minute does", async () => {
    lines.length = 0;
    const server = open({ audit });
    for (let count = 0; count < refusedLinesMax + 3; count += 1) await ask(server);
    await server.close();
    expect(lines.at(-1)).toEqual(["ops.refused_more", { count: 3 }]);
  });
});

describe("connections to the operators' surface", () => {
  const hosts: string[] = [];
  const access = { hosts, token: "an-operators-token-of-32-characters", isLoopback: true };
  const listening = async (changes: Partial<OpsDeps>): Promise<URL> => {
    const url = new URL(await open({ access, ...changes }).listen({ port: 0, host: "127.0.0.1" }));
    hosts.splice(0, hosts.length, url.host);
    return url;
  };

  it("have one request answered at a time, however many came in one packet", async () => {
    let underWay = 0;
    let most = 0;
    const ready = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay -= 1;
      return { ready: true, degraded: [], checks: {}, plain_text: [] };
    };
    const url = await listening({ ready });
    const answers = await pipelined(url, 20);
    expect([answers, most]).toEqual([20, 1]);
  });

  it("are bounded, and a new one takes the place of one that says nothing", async () => {
    const url = await listening({});
    const idle = Array.from({ length: 100 }, () => connect(Number(url.port), url.hostname));
    let ended = 0;
    for (const socket of idle) socket.on("error", () => {}).once("close", () => (ended += 1));
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    expect((await fetch(new URL("/healthz", url))).status).toBe(200);
    await vi.waitFor(() => expect(ended).toBeGreaterThanOrEqual(37));
    for (const socket of idle) socket.destroy();
  });
});

/** The number of answers to that many requests in one packet. */
function pipelined({ host, hostname, port }: URL, count: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("error", reject).on("data", (bytes) => {
    text += bytes.toString("latin1");
    const answers = text.split("HTTP/1.1 200").length - 1;
    if (answers < count) return;
    socket.destroy();
    resolve(answers);
  });
  socket.write(`GET /readyz HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(count));
  return promise;
}
