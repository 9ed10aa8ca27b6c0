// The turns of what anyone may have checked: nobody is refused for asking much, and nobody waits for another's many requests.

import { connect, type Socket } from "node:net";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { answerJson, type Outcome, refused } from "../service/answer.ts";
import { addressBlock } from "../std/ip-address.ts";
import { closeUnread } from "./body.ts";
import { checkOf } from "./checks.ts";
import { createEdge, type Edge } from "./edge.ts";
import type { HttpLimits } from "./http-limits.ts";
import { buildServer } from "./http-server.ts";
import { rawHead } from "./raw-request.fixture.ts";
import { send } from "./request-parts.ts";
import type { Route } from "./route.ts";
import { holdTurns, openSurfaces, type TestSurfaces } from "./surfaces.fixture.ts";

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Answering {
  readonly from: string;
  readonly length: number;
  readonly answer: () => void;
}

interface Opened {
  readonly edge: Edge;
  readonly port: number;
  /** The checks whose turn it is, until the test answers them. */
  readonly answering: Answering[];
  /** The bytes that were read of each connection, in the order of the connections. */
  readonly bytesRead: () => readonly number[];
}

/** A surface whose only address takes checks; the test answers them. */
async function open(limits: Partial<HttpLimits>): Promise<Opened> {
  const edge = createEdge({ limits });
  const answering: Answering[] = [];
  const route: Route = {
    method: "POST",
    path: "/",
    tags: [],
    doc: { summary: "", answers: {} },
    handle: async (request, reply) => {
      const check = checkOf(request.raw, edge);
      const body = await edge.checks.readBody(check, { bytesMax: 1_048_576, edge });
      if (!body.ok) {
        closeUnread(request, reply);
        return send(reply, refused(body.problem));
      }
      const work = () =>
        new Promise<Outcome>((resolve) =>
          answering.push({
            from: request.raw.socket.remoteAddress ?? "",
            length: body.bytes.length,
            answer: () => resolve(answerJson(200, {})),
          }),
        );
      const outcome = await edge.checks.answer(check, work);
      body.release();
      return send(reply, outcome);
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
    { name: "checks", info: { title: "", description: "", servers: [] }, routes: [route], isPublic: false },
  );
  const sockets: Socket[] = [];
  server.server.on("connection", (socket) => sockets.push(socket));
  await server.listen({ host: "127.0.0.1", port: 0 });
  closing.push(() => server.close());
  closing.push(() => server.server.closeAllConnections());
  const address = server.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { edge, port, answering, bytesRead: () => sockets.map(({ bytesRead }) => bytesRead) };
}

interface Line {
  readonly socket: Socket;
  readonly text: () => string;
  readonly statuses: () => readonly number[];
}

async function dial(port: number, localAddress: string): Promise<Line> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  closing.push(() => socket.destroy());
  let text = "";
  socket.on("data", (part: Buffer) => {
    text += part.toString("latin1");
  });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((each) => Number(each[1]));
  return { socket, text: () => text, statuses };
}

const post = (length: number): string => rawHead("POST /", { host: "a", "content-length": String(length) });
const [busy, other] = ["127.0.0.2", "127.0.0.3"];
const answerNext = ({ answering }: Opened): void => answering.shift()?.answer();

describe("a check", () => {
  it("waits for others of its address and for no other address's (C2)", async () => {
    const opened = await open({ checksMax: 2, checksPerAddressMax: 1 });
    const lines = [await dial(opened.port, busy), await dial(opened.port, busy)];
    for (const { socket } of lines) socket.write(post(0));
    await expect.poll(() => [opened.answering.length, opened.edge.checks.usage().waiting]).toEqual([1, 1]);
    const later = await dial(opened.port, other);
    later.socket.write(post(0));
    await expect.poll(() => opened.answering.map(({ from }) => from)).toEqual([busy, other]);
    answerNext(opened);
    await expect.poll(() => opened.answering.map(({ from }) => from)).toEqual([other, busy]);
    answerNext(opened);
    answerNext(opened);
    await expect
      .poll(() => [...lines, later].map(({ statuses }) => statuses()))
      .toEqual([[200], [200], [200]]);
    expect(opened.edge.checks.usage()).toEqual({ waiting: 0, answering: 0 });
  });

  it("has its body read when its turn comes, and not before (C1)", async () => {
    const opened = await open({ checkBodiesMax: 1, slowBodyMs: 60_000 });
    const first = await dial(opened.port, busy);
    first.socket.write(`${post(2)}x`);
    await expect.poll(() => opened.edge.checks.usage().waiting).toBe(0);
    await expect.poll(() => opened.bytesRead()[0]).toBe(post(2).length + 1);
    const second = await dial(opened.port, other);
    second.socket.write(post(1_048_576) + "x".repeat(1_048_576));
    await expect.poll(() => opened.edge.checks.usage().waiting).toBe(1);
    expect(opened.edge.usage().bodyBytes).toBe(0);
    expect(opened.bytesRead()[1]).toBeLessThan(262_144);
    first.socket.write("x");
    await expect.poll(() => opened.answering.map(({ length }) => length)).toEqual([2]);
    answerNext(opened);
    await expect.poll(() => opened.answering.map(({ length }) => length)).toEqual([1_048_576]);
    answerNext(opened);
    await expect.poll(() => [first.statuses(), second.statuses()]).toEqual([[200], [200]]);
  });

  it("loses its place when its body arrives slowly and another waits, and keeps it otherwise (C4)", async () => {
    const opened = await open({ checkBodiesMax: 1, slowBodyMs: 200, bodyGraceMs: 60_000 });
    const slow = await dial(opened.port, busy);
    slow.socket.write(`${post(2)}x`);
    await expect.poll(() => opened.bytesRead()[0]).toBe(post(2).length + 1);
    const beganMs = performance.now();
    await expect.poll(() => performance.now() - beganMs).toBeGreaterThan(400);
    expect(slow.statuses()).toEqual([]);
    const quick = await dial(opened.port, other);
    quick.socket.write(`${post(1)}x`);
    await expect.poll(() => opened.answering.map(({ from }) => from)).toEqual([other]);
    await expect.poll(slow.statuses).toEqual([408]);
    expect(opened.edge.refusals).toMatchObject({ slow_bodies: 1, late_checks: 0, excess_checks: 0 });
    answerNext(opened);
    await expect.poll(quick.statuses).toEqual([200]);
  });

  it("keeps its place while it is answered, however long that takes (C4)", async () => {
    const opened = await open({ checkBodiesMax: 1, slowBodyMs: 100 });
    const [first, second] = [await dial(opened.port, busy), await dial(opened.port, other)];
    first.socket.write(`${post(1)}x`);
    await expect.poll(() => opened.answering.length).toBe(1);
    second.socket.write(`${post(1)}x`);
    await expect.poll(() => opened.edge.checks.usage().waiting).toBe(1);
    const beganMs = performance.now();
    await expect.poll(() => performance.now() - beganMs).toBeGreaterThan(300);
    expect([opened.edge.checks.usage().waiting, opened.edge.refusals.slow_bodies]).toEqual([1, 0]);
    answerNext(opened);
    await expect.poll(() => opened.answering.length).toBe(1);
    answerNext(opened);
    await expect.poll(() => [first.statuses(), second.statuses()]).toEqual([[200], [200]]);
  });

  describe("that has arrived, and waits for what its address sent before it (SR3)", () => {
    async function waiting() {
      const opened = await open({ checkBodiesMax: 1, slowBodyMs: 100 });
      const before = opened.edge.openBody(addressBlock(busy), () => {});
      before.take(32 * 1_048_576);
      before.arrived(() => {});
      const line = await dial(opened.port, busy);
      line.socket.write(post(20_000) + "x".repeat(20_000));
      await expect.poll(() => opened.bytesRead()[0]).toBe(post(20_000).length + 20_000);
      return { opened, before, line, held: () => opened.edge.usage().bodyBytes - 32 * 1_048_576 };
    }

    it("is answered in its turn", async () => {
      const { opened, before, line } = await waiting();
      expect(opened.answering).toEqual([]);
      before.release();
      await expect.poll(() => opened.answering.length).toBe(1);
      answerNext(opened);
      await expect.poll(line.statuses).toEqual([200]);
      expect(opened.edge.usage().bodyBytes).toBe(0);
    });

    it("gives back what it holds when its caller is gone (C6)", async () => {
      const { opened, before, line, held } = await waiting();
      expect(held()).toBe(20_000);
      line.socket.destroy();
      await expect.poll(held).toBe(0);
      before.release();
      expect(opened.answering).toEqual([]);
    });

    it("is told that there is no room, and not that it is slow, where another waits for its place", async () => {
      const { opened, line, held } = await waiting();
      const next = await dial(opened.port, other);
      next.socket.write(`${post(1)}x`);
      await expect.poll(line.statuses).toEqual([503]);
      expect(line.text()).toMatch(/"reason":"bodies_in_flight"/);
      expect(opened.edge.refusals).toMatchObject({ slow_bodies: 0, bodies: 1 });
      expect(held()).toBe(0);
      await expect.poll(() => opened.answering.length).toBe(1);
      answerNext(opened);
      await expect.poll(next.statuses).toEqual([200]);
    });
  });

  it.each([
    ["after it waited for too long", { checkWaitMs: 300 }, "late_checks"],
    ["at once when the node is full", { checksWaitingMax: 1 }, "excess_checks"],
  ] as const)("is answered 503 %s (C3)", async (_when, limits, kind) => {
    const opened = await open({ checksMax: 1, ...limits });
    const lines: Line[] = [];
    for (let count = 0; count < 3; count += 1) {
      const line = await dial(opened.port, busy);
      lines.push(line);
      line.socket.write(post(0));
      await expect
        .poll(() => opened.answering.length + opened.edge.checks.usage().waiting)
        .toBeGreaterThan(0);
    }
    const turnedAway = (): readonly Line[] => lines.filter(({ statuses }) => statuses()[0] === 503);
    await expect.poll(() => turnedAway().length).toBe(opened.edge.refusals[kind]);
    await expect.poll(() => opened.edge.refusals[kind]).toBe(kind === "late_checks" ? 2 : 1);
    await expect
      .poll(() => turnedAway()[0]?.text())
      .toMatch(/"code":"unavailable".*"reason":"checks_waiting"/);
    expect(turnedAway()[0]?.text()).toMatch(/\r\nretry-after: 5\r\n/);
    for (let count = 0; count < 2; count += 1) answerNext(opened);
  });

  it("whose caller is gone leaves nothing behind (C6)", async () => {
    const opened = await open({ checksMax: 1, checkBodiesMax: 1, slowBodyMs: 60_000 });
    const [first, second, third] = [
      await dial(opened.port, busy),
      await dial(opened.port, busy),
      await dial(opened.port, other),
    ];
    first.socket.write(post(0));
    await expect.poll(() => opened.answering.length).toBe(1);
    second.socket.write(post(0));
    third.socket.write(`${post(2)}x`);
    await expect.poll(() => opened.edge.checks.usage().waiting).toBe(1);
    second.socket.destroy();
    await expect.poll(() => opened.edge.checks.usage().waiting).toBe(0);
    third.socket.destroy();
    const next = await dial(opened.port, busy);
    next.socket.write(`${post(1)}x`);
    answerNext(opened);
    await expect.poll(() => opened.answering.map(({ length }) => length)).toEqual([1]);
    answerNext(opened);
    await expect.poll(next.statuses).toEqual([200]);
  });
});

describe("the public surface", () => {
  let surfaces: TestSurfaces;
  beforeAll(async () => {
    surfaces = await openSurfaces();
  });
  afterAll(() => surfaces[Symbol.asyncDispose]());

  const nobody = "00000000-0000-4000-8000-0000000000ff";
  const body = '{"record_base64":"e30=","seal":{}}';
  const verification = `${rawHead("POST /v1/verify", { host: "a", "content-length": String(body.length) })}${body}`;
  const dialVerify = (address: string): Promise<Line> =>
    dial(Number(new URL(surfaces.verifyUrl).port), address);

  it("answers 600 checks in a row from one address", async () => {
    const lines = await Promise.all(Array.from({ length: 60 }, () => dialVerify(busy)));
    surfaces.observed.length = 0;
    for (const { socket } of lines) socket.write(verification.repeat(10));
    await expect.poll(() => surfaces.observed.length, { timeout: 30_000 }).toBe(600);
    expect(new Set(surfaces.observed.map(({ status }) => status))).toEqual(new Set([200]));
    expect(surfaces.edge.refusals).toMatchObject({ late_checks: 0, excess_checks: 0, bodies: 0 });
  });

  it.each([
    `GET /v1/certificates/${nobody}`,
    `GET /v1/certificates/${nobody}/keys`,
    `GET /v1/certificates/${nobody}/key-custody`,
    "GET /.well-known/svc-keys",
    `GET /v1/verify/svc_${"a".repeat(26)}?origin=sha256:${"0".repeat(64)}`,
    "POST /v1/verify",
  ])("lets what is looked up or judged wait for its turn: %s", async (line) => {
    const turns = holdTurns(surfaces.edge, busy);
    const [waiting, passing] = [await dialVerify(busy), await dialVerify(other)];
    for (const { socket } of [waiting, passing])
      socket.write(rawHead(line, { host: "a", "content-length": "0" }));
    await expect.poll(() => passing.statuses().length).toBe(1);
    expect([waiting.statuses(), surfaces.edge.checks.usage().waiting]).toEqual([[], 1]);
    turns.end();
    await expect.poll(waiting.statuses).toEqual(passing.statuses());
  });

  it.each([
    "/.well-known/keys",
    "/v1/projections/products/1",
    "/v1/ai-policy-key",
    "/v1/vocabularies/countries",
    "/v1/envelope-specification",
  ])("lets nobody wait for what is the same for everybody: %s", async (path) => {
    const turns = holdTurns(surfaces.edge, busy);
    const line = await dialVerify(busy);
    line.socket.write(rawHead(`GET ${path}`, { host: "a" }));
    await expect.poll(line.statuses).toEqual([200]);
    turns.end();
  });
});
