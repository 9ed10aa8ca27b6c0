// A surface that is being stopped: what arrives over open connections is answered, and each answer is the last one.

import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { FastifyBaseLogger } from "fastify";
import { pino } from "pino";
import { expect, it } from "vitest";
import { createEdge } from "./edge.ts";
import { buildServer } from "./http-server.ts";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

async function open(leaveMs?: number) {
  const logger: FastifyBaseLogger = pino({ level: "silent" });
  const http = {
    logger,
    clock: { now: () => 0 },
    observer: { observe: () => {} },
    edge: createEdge(),
    hosts: null,
  };
  const server = buildServer(leaveMs === undefined ? http : { ...http, leaveMs }, {
    name: "leaving",
    info: { title: "", description: "", servers: [] },
    isPublic: false,
    routes: [
      {
        method: "GET",
        path: "/:what",
        tags: [],
        doc: { summary: "", answers: {} },
        handle: async (_asked, reply) => reply.code(204).send(),
      },
    ],
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (path: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port, path, agent }, (answer) => {
        answer.resume();
        answer.once("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }));
      });
      asked.once("error", reject);
      asked.end();
    });
  return { server, port, ask };
}

const untilRefused = async (port: number): Promise<void> => {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const socket = connect(port, "127.0.0.1", () => resolve(undefined));
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    const code = await promise;
    socket.destroy();
    if (code === "ECONNREFUSED") return;
  }
};

it("serves the connections that are open for a moment, and takes no others", async () => {
  const { server, port, ask } = await open(1_500);
  expect(await ask("/a")).toMatchObject({ status: 204, headers: { connection: "keep-alive" } });
  const closing = server.close();
  await untilRefused(port);
  expect(await ask("/b")).toMatchObject({ status: 204, headers: { connection: "close" } });
  await closing;
});

it("a request that is half there when the server closes is answered like any other", async () => {
  const { server, port, ask } = await open();
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const ended = new Promise((resolve) => socket.once("close", resolve));
  socket.write("GET /a HTTP/1.1\r\nhost: ");
  // Its answer arrives once the server has read what was sent before it.
  await ask("/b");
  const closing = server.close();
  await new Promise((resolve) => setImmediate(resolve));
  socket.write("x\r\n\r\n");
  await Promise.all([closing, ended]);
  expect(text).toMatch(/^HTTP\/1\.1 204 .*connection: close/is);
});
