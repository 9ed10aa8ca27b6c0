import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { refused } from "../service/answer.ts";
import { parseRange } from "../std/ip-address.ts";
import { closeUnread, readBody } from "./body.ts";
import { createEdge, type Edge, type EdgeOptions } from "./edge.ts";
import { buildServer } from "./http-server.ts";
import { chunk, rawHead } from "./raw-request.fixture.ts";
import { send } from "./request-parts.ts";
import type { Route } from "./route.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Waiting {
  readonly body: string;
  readonly answer: (text?: string | Uint8Array) => void;
}

/** A surface whose only address reads bodies, of up to 1 MiB unless told otherwise, and answers on request of the test. */
async function open(
  options: EdgeOptions,
  bytesMax = 1_048_576,
): Promise<{ edge: Edge; port: number; waiting: Waiting[] }> {
  const edge = createEdge(options);
  const waiting: Waiting[] = [];
  const route: Route = {
    method: "POST",
    path: "/",
    tags: [],
    doc: { summary: "", answers: {} },
    handle: async (request, reply) => {
      const body = await readBody(request.raw, { bytesMax, edge }, request.headers.from ?? "caller");
      if (!body.ok) {
        closeUnread(request, reply);
        return send(reply, refused(body.problem));
      }
      const digest = createHash("sha256").update(body.bytes).digest();
      expect(digest.equals(body.sha256())).toBe(true);
      const text = await new Promise<string | Uint8Array>((resolve) =>
        waiting.push({
          body: Buffer.from(body.bytes).toString("latin1"),
          answer: (said = "ok") => resolve(said),
        }),
      );
      try {
        return send(reply, { kind: "answer", status: 200, headers: {}, body: text });
      } finally {
        body.release();
      }
    },
  };
  const server = buildServer(
    {
      logger: pino({ level: "silent" }),
      clock: { now: () => 0 },
      observer: { observe: () => {} },
      edge,
      hosts: null,
    },
    { name: "edge", info: { title: "", description: "", servers: [] }, routes: [route], isPublic: false },
  );
  await server.listen({ host: "127.0.0.1", port: 0 });
  closing.push(() => server.close());
  closing.push(() => server.server.closeAllConnections());
  const address = server.server.address();
  return { edge, port: typeof address === "object" && address !== null ? address.port : 0, waiting };
}

interface Line {
  readonly socket: Socket;
  readonly text: () => string;
  readonly isClosed: () => boolean;
}

async function dial(port: number, localAddress = "127.0.0.1"): Promise<Line> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  closing.push(() => socket.destroy());
  let text = "";
  let isClosed = false;
  socket.on("data", (part: Buffer) => {
    text += part.toString("latin1");
  });
  socket.on("error", () => {});
  socket.once("close", () => {
    isClosed = true;
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  return { socket, text: () => text, isClosed: () => isClosed };
}

const post = (length: number): string => rawHead("POST /", { host: "a", "content-length": String(length) });
const statuses = (text: string): readonly string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((each) => each[1] ?? "");

describe("connections (E1)", () => {
  it("of one address stay within its bound: the one that was idle for longest makes room", async () => {
    const { edge, port, waiting } = await open({ limits: { connectionsPerAddressMax: 2 } });
    const [busy, idle] = [await dial(port), await dial(port)];
    busy.socket.write(post(0));
    await expect.poll(() => waiting.length).toBe(1);
    const elsewhere = await dial(port, "127.0.0.2");
    const next = await dial(port);
    await expect.poll(idle.isClosed).toBe(true);
    next.socket.write(post(0));
    await expect.poll(() => waiting.length).toBe(2);
    for (const { answer } of waiting) answer();
    await expect.poll(() => [statuses(busy.text()), statuses(next.text())]).toEqual([["200"], ["200"]]);
    expect([edge.refusals.address_connections, edge.usage().connections]).toEqual([1, 3]);
    expect(elsewhere.isClosed()).toBe(false);
  });

  it("of an address that answers are owed on all of its connections are refused", async () => {
    const { port, waiting } = await open({ limits: { connectionsPerAddressMax: 1 } });
    const busy = await dial(port);
    busy.socket.write(post(0));
    await expect.poll(() => waiting.length).toBe(1);
    const refusedOne = await dial(port);
    await expect.poll(refusedOne.isClosed).toBe(true);
    expect(busy.isClosed()).toBe(false);
  });

  it("of all addresses stay within theirs, and the address that has most makes room", async () => {
    const { edge, port } = await open({ limits: { connectionsMax: 4 } });
    const lonely = await dial(port, "127.0.0.3");
    const many = [await dial(port), await dial(port), await dial(port)];
    const newcomer = await dial(port, "127.0.0.4");
    await expect.poll(() => many.map((each) => each.isClosed())).toEqual([true, false, false]);
    expect([lonely.isClosed(), newcomer.isClosed()]).toEqual([false, false]);
    expect([edge.refusals.connections, edge.usage().connections]).toEqual([1, 4]);
  });

  it("of an address that is owed an answer on each of its connections make no room, but those of another do", async () => {
    const { port, waiting } = await open({ limits: { connectionsMax: 3 } });
    const idle = await dial(port, "127.0.0.3");
    const busy = [await dial(port), await dial(port)];
    for (const each of busy) each.socket.write(post(0));
    await expect.poll(() => waiting.length).toBe(2);
    const newcomer = await dial(port, "127.0.0.4");
    await expect.poll(idle.isClosed).toBe(true);
    expect([...busy, newcomer].map((each) => each.isClosed())).toEqual([false, false, false]);
  });

  it("of a trusted proxy count for no address (E4)", async () => {
    const range = parseRange("127.0.0.1/32");
    const trustedProxies = range === null ? [] : [range];
    const { port } = await open({ limits: { connectionsPerAddressMax: 1 }, trustedProxies });
    const lines = [await dial(port), await dial(port), await dial(port)];
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(lines.map((each) => each.isClosed())).toEqual([false, false, false]);
  });

  it("end after so many requests, with the last answer", async () => {
    const { port, waiting } = await open({ limits: { requestsPerConnectionMax: 2 } });
    const line = await dial(port);
    line.socket.write(post(0).repeat(5));
    for (const index of [0, 1]) {
      await expect.poll(() => waiting.length).toBe(index + 1);
      waiting[index]?.answer();
    }
    await expect.poll(line.isClosed).toBe(true);
    expect(statuses(line.text())).toEqual(["200", "200"]);
    expect(line.text()).toMatch(/connection: close/i);
  });
});

describe("bodies (E2)", () => {
  const limits = { bodyBytesMax: 400_000, bodyBytesPerCallerMax: 300_000 };

  it("that are being read or answered have a bound for each caller; those beyond are told to come again", async () => {
    const { edge, port, waiting } = await open({ limits });
    const [first, second, third] = [await dial(port), await dial(port), await dial(port)];
    first.socket.write(`${post(200_000)}${"x".repeat(200_000)}`);
    await expect.poll(() => waiting.length).toBe(1);
    expect(edge.usage().bodyBytes).toBe(200_000);
    second.socket.write(post(100_001));
    await expect
      .poll(() => second.text())
      .toMatch(/^HTTP\/1\.1 503 .*retry-after: 2\r\n.*"reason":"bodies_in_flight"/is);
    third.socket.write(`${post(100_000)}${"y".repeat(100_000)}`);
    await expect.poll(() => waiting.length).toBe(2);
    expect(edge.usage().bodyBytes).toBe(300_000);
    for (const { answer } of waiting) answer();
    await expect.poll(() => [statuses(first.text()), statuses(third.text())]).toEqual([["200"], ["200"]]);
    expect([edge.usage().bodyBytes, edge.refusals.bodies]).toEqual([0, 1]);
    expect(waiting.map(({ body }) => body.length)).toEqual([200_000, 100_000]);
  });

  it("that have arrived wait for those of their caller that are worked on, and make room meanwhile", async () => {
    const mebibyte = 1_048_576;
    const soon = <T>(read: () => T) => expect.poll(read, { timeout: 30_000 });
    const bytes = "x".repeat(17 * mebibyte);
    const { edge, port, waiting } = await open({ limits: { bodyBytesMax: 70 * mebibyte } }, 40 * mebibyte);
    const lines = [await dial(port), await dial(port), await dial(port), await dial(port)] as const;
    const [first, second, third, other] = lines;
    for (const [at, line] of [first, second, third].entries()) {
      line.socket.write(`${post(bytes.length)}${bytes}`);
      await soon(() => edge.usage().bodyBytes).toBe((at + 1) * bytes.length);
      // The first to arrive is worked on.
      await soon(() => waiting.length).toBe(1);
    }
    const short = "y".repeat(30 * mebibyte);
    other.socket.write(
      `${rawHead("POST /", { host: "a", from: "another", "content-length": String(short.length) })}${short}`,
    );
    await soon(() => third.text()).toMatch(/^HTTP\/1\.1 503 .*"reason":"bodies_in_flight"/is);
    await soon(() => waiting.length).toBe(2);
    waiting[0]?.answer();
    await soon(() => waiting.length).toBe(3);
    for (const { answer } of waiting) answer();
    await expect
      .poll(() => lines.map((line) => statuses(line.text())))
      .toEqual([["200"], ["200"], ["503"], ["200"]]);
    await soon(() => edge.usage().bodyBytes).toBe(0);
  });

  it("that still arrive make room for others than who holds most; those that have arrived are answered", async () => {
    const { edge, port, waiting } = await open({ limits });
    const lines = [await dial(port), await dial(port), await dial(port)] as const;
    const [arriving, whole, other] = lines;
    arriving.socket.write(post(200_000));
    await expect.poll(() => edge.usage().bodyBytes).toBe(200_000);
    whole.socket.write(`${post(100_000)}${"x".repeat(100_000)}`);
    await expect.poll(() => waiting.length).toBe(1);
    other.socket.write(rawHead("POST /", { host: "a", from: "another", "content-length": "150000" }));
    await expect
      .poll(() => arriving.text())
      .toMatch(/^HTTP\/1\.1 503 .*retry-after: 2\r\n.*"reason":"bodies_in_flight"/is);
    expect([edge.usage().bodyBytes, edge.refusals.bodies]).toEqual([250_000, 1]);
    other.socket.write("y".repeat(150_000));
    await expect.poll(() => waiting.length).toBe(2);
    for (const { answer } of waiting) answer();
    await expect.poll(() => lines.map((line) => statuses(line.text()))).toEqual([["503"], ["200"], ["200"]]);
    await expect.poll(() => edge.usage().bodyBytes).toBe(0);
  });

  it("in chunks are given room as they come", async () => {
    const { edge, port, waiting } = await open({
      limits: { ...limits, bodyBytesPerCallerMax: 4_194_304, bodyBytesMax: 4_194_304 },
    });
    const line = await dial(port);
    line.socket.write(rawHead("POST /", { host: "a", "transfer-encoding": "chunked" }));
    line.socket.write(chunk("a".repeat(10_000)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(edge.usage().bodyBytes).toBe(0);
    line.socket.write(chunk("b".repeat(10_000)));
    await expect.poll(() => edge.usage().bodyBytes).toBe(2_097_152);
    line.socket.write("0\r\n\r\n");
    await expect.poll(() => waiting.length).toBe(1);
    expect(waiting[0]?.body).toBe("a".repeat(10_000) + "b".repeat(10_000));
    waiting[0]?.answer();
    await expect.poll(() => edge.usage().bodyBytes).toBe(0);
  });

  it("whose connection ends leave their room to others", async () => {
    const { edge, port } = await open({ limits });
    const line = await dial(port);
    line.socket.write(`${post(200_000)}x`);
    await expect.poll(() => edge.usage().bodyBytes).toBe(200_000);
    line.socket.destroy();
    await expect.poll(() => edge.usage().bodyBytes).toBe(0);
  });

  it("that come too slowly after the grace are given up, and fast enough ones are not", async () => {
    const { edge, port, waiting } = await open({
      limits: { bodyGraceMs: 100, bodyBytesPerSecondMin: 100_000 },
    });
    const [slow, steady] = [await dial(port), await dial(port)];
    slow.socket.write(`${post(100_000)}x`);
    steady.socket.write(post(60_000));
    for (let sent = 0; sent < 60_000; sent += 20_000) {
      steady.socket.write("y".repeat(20_000));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await expect.poll(() => statuses(slow.text())).toEqual(["408"]);
    await expect.poll(() => waiting.length).toBe(1);
    expect([edge.refusals.slow_bodies, edge.usage().bodyBytes]).toEqual([1, 60_000]);
  });
});

describe("answers that are not read (E3)", () => {
  // More than the operating system buffers for a connection.
  const large = new Uint8Array(16_777_216);

  it("are ended once nothing of them moves", async () => {
    const { edge, port, waiting } = await open({ limits: { answerStallMs: 200 } });
    const line = await dial(port);
    line.socket.pause();
    line.socket.write(post(0));
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.answer(large);
    await expect.poll(() => edge.usage().answerBytes).toBeGreaterThan(0);
    await expect.poll(() => edge.usage().answerBytes, { timeout: 5_000 }).toBe(0);
    expect([edge.refusals.stalled_readers, edge.usage().connections]).toEqual([1, 0]);
  });

  it("are whole for a peer that is slow and goes on", async () => {
    const { edge, port, waiting } = await open({ limits: { answerStallMs: 300 } });
    const line = await dial(port);
    line.socket.pause();
    line.socket.write(post(0));
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.answer(large);
    const slowly = setInterval(() => {
      line.socket.resume();
      setTimeout(() => line.socket.pause(), 5);
    }, 50);
    closing.push(() => clearInterval(slowly));
    await expect.poll(() => line.text().length, { timeout: 20_000 }).toBeGreaterThan(large.length);
    expect([edge.refusals.stalled_readers, edge.usage().answerBytes]).toEqual([0, 0]);
  });

  it("have a bound for each address: the one that has waited for longest goes", async () => {
    const { edge, port, waiting } = await open({ limits: { answerBytesPerAddressMax: 20_000_000 } });
    const lines = [await dial(port), await dial(port, "127.0.0.2"), await dial(port)];
    for (const [index, line] of lines.entries()) {
      line.socket.pause();
      line.socket.write(post(0));
      await expect.poll(() => waiting.length).toBe(index + 1);
      waiting[index]?.answer(large);
      await expect.poll(() => edge.usage().answerBytes).toBeGreaterThan(0);
    }
    await expect.poll(() => edge.refusals.unread_answers).toBe(1);
    await expect.poll(() => edge.usage().connections).toBe(2);
    for (const line of lines) line.socket.resume();
    await expect
      .poll(() => lines.map((line) => line.text().length > large.length), { timeout: 20_000 })
      .toEqual([false, true, true]);
  });
});
