// Whatever the operations surface refuses is a problem document with a request id, also what the platform would answer by
// itself (specification, «Endpoints»: every surface answers errors as problem details).

import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawAnswer, sendRaw } from "../api/raw-request.fixture.ts";
import { problemMediaType } from "../protocol/problem.ts";
import { createMetrics } from "./metrics.ts";
import { buildOps } from "./server.ts";

const logged: Readonly<Record<string, unknown>>[] = [];
let server: FastifyInstance;
let base = "";

beforeAll(async () => {
  server = buildOps({
    logger: pino({ level: "info" }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    incarnation: "t",
    access: { hosts: ["ops.example:80"], token: "an-operators-token-of-32-characters", isLoopback: true },
    metrics: createMetrics(),
    gauges: () => [],
    ready: async () => ({ ready: true, checks: {}, plain_text: [] }),
    inspect: async () => null,
    listActors: async () => [],
    cluster: null,
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  base = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const host = "host: ops.example:80";
const lines = (...all: readonly string[]): string => `${all.join("\r\n")}\r\n\r\n`;

function expectProblem(answer: RawAnswer, status: number, code: string): void {
  expect(answer, answer.body).toMatchObject({
    status,
    headers: { "content-type": problemMediaType, "cache-control": "no-store" },
  });
  expect(JSON.parse(answer.body)).toMatchObject({ status, code, type: `urn:svc:problem:${code}` });
  expect(answer.headers["request-id"]).toMatch(/^ops-t-/);
}

describe("a request of an operator", () => {
  it.each<readonly [string, string, number, string]>([
    ["without Host", lines("GET /healthz HTTP/1.1"), 400, "request_invalid"],
    ["with two Hosts", lines("GET /healthz HTTP/1.1", host, "host: b"), 400, "request_invalid"],
    [
      "with a Host that is none",
      lines("GET /healthz HTTP/1.1", "host: ops.example:80.b"),
      400,
      "request_invalid",
    ],
    ["for another host", lines("GET /healthz HTTP/1.1", "host: b"), 421, "host_not_allowed"],
    ["that expects tea", lines("GET /healthz HTTP/1.1", host, "expect: tea"), 417, "expectation_failed"],
    ["of HTTP/1.2", lines("GET /healthz HTTP/1.2", host), 505, "http_version_unsupported"],
    ["that is none", lines("FROB"), 400, "request_invalid"],
    ["with a long head", lines(`GET /${"a".repeat(40_000)} HTTP/1.1`, host), 431, "header_too_large"],
    ["for a tunnel", lines("CONNECT a.example:443 HTTP/1.1", host), 405, "method_not_allowed"],
    ["for a target that cannot be read", lines("GET /%zz HTTP/1.1", host), 400, "request_invalid"],
    ["for no address", lines("GET /nowhere HTTP/1.1", host), 404, "not_found"],
    ["for no actor", lines("GET /ops/actors/push/x HTTP/1.1", host), 404, "not_found"],
  ])("%s is refused with a problem", async (_what, text, status, code) => {
    expectProblem(await sendRaw(base, text), status, code);
  });

  it("that never became one is in the log under the id that it was answered with", async () => {
    const answer = await sendRaw(base, lines("FROB"));
    expect(logged).toContainEqual(
      expect.objectContaining({ request_id: answer.headers["request-id"], status: 400 }),
    );
  });
});
