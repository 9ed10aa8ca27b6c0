// Answers in parts over real connections: the memory they are joined in is used again, and no reader may notice.

import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createEdge } from "./edge.ts";
import { buildServer } from "./http-server.ts";
import { send } from "./request-parts.ts";
import type { Route } from "./route.ts";

const partBytes = 25_000;
const parts = 16;
const text = (letter: string): string => letter.repeat(parts * (partBytes + 1));

/** Answers with the letter that the path names. */
const route: Route = {
  method: "GET",
  path: "/:letter",
  tags: [],
  doc: { summary: "", answers: {} },
  handle: async (request, reply) => {
    const { letter } = request.params as { readonly letter: string };
    const some = [letter, Buffer.alloc(partBytes, letter)] as const;
    const all = Array.from({ length: parts }, () => some).flat();
    return send(reply, { kind: "answer", status: 200, headers: {}, body: { parts: all } });
  },
};

let server: FastifyInstance;
let port = 0;

beforeAll(async () => {
  server = buildServer(
    {
      logger: pino({ level: "silent" }),
      clock: { now: () => 0 },
      observer: { observe: () => {} },
      edge: createEdge(),
      hosts: null,
    },
    { name: "parts", info: { title: "", description: "", servers: [] }, routes: [route], isPublic: false },
  );
  await server.listen({ host: "127.0.0.1", port: 0 });
  port = (server.server.address() as AddressInfo).port;
});
afterAll(() => server.close());

async function ask(letter: string): Promise<IncomingMessage> {
  const request = get({ host: "127.0.0.1", port, path: `/${letter}` });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return answer;
}

async function read(answer: IncomingMessage): Promise<string> {
  let whole = "";
  for await (const chunk of answer) whole += String(chunk);
  return whole;
}

/** So many answers that the system does not take them all without a reader. */
const answersMax = 40;

it("are whole for a slow reader while others come, and for those after one who leaves", async () => {
  const slow = connect(port, "127.0.0.1");
  slow.pause();
  slow.write("GET /a HTTP/1.1\r\nhost: x\r\n\r\n".repeat(answersMax));
  const leaving = await ask("b");
  leaving.destroy();
  for (let round = 0; round < 20; round += 1) {
    const letters = ["c", "d", "e"];
    const bodies = await Promise.all(letters.map(async (letter) => read(await ask(letter))));
    expect(bodies.map((body, at) => body === text(letters[at] ?? ""))).toEqual([true, true, true]);
    await wait(5);
  }
  const bytes = { a: 0, others: 0 };
  const whole = answersMax * text("a").length;
  slow.on("data", (chunk: Buffer) => {
    const heads = chunk.toString("latin1");
    bytes.a += heads.match(/a{100}/g)?.length ?? 0;
    bytes.others += heads.match(/[cde]{100}/g)?.length ?? 0;
  });
  slow.resume();
  await vi.waitFor(() => expect(bytes.a * 100).toBeGreaterThan(0.99 * whole), { timeout: 30_000 });
  expect(bytes.others).toBe(0);
  slow.destroy();
});
