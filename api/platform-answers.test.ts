// What the platform would otherwise answer or drop by itself: every refusal is a problem document (specification,
// «Errors»).

import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { problemMediaType } from "../protocol/problem.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { type RawAnswer, rawHead, sendRaw } from "./raw-request.fixture.ts";
import { openSurfaces, send, signed, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;

beforeAll(async () => {
  surfaces = await openSurfaces({ headTimeoutMs: 500 });
  business = await openBusiness(surfaces.services);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const bases = (): Readonly<Record<string, string>> => ({
  retrieval: surfaces.retrievalUrl,
  business: surfaces.businessUrl,
  verification: surfaces.verifyUrl,
  tools: surfaces.toolsUrl,
});

const path = "/v1/ai-policy-key";
const lines = (start: string, ...fields: readonly string[]): string =>
  `${[start, ...fields].join("\r\n")}\r\n\r\n`;

function expectProblem(answer: RawAnswer, status: number, code: string): void {
  expect(answer, answer.body).toMatchObject({ status, headers: { "content-type": problemMediaType } });
  expect(JSON.parse(answer.body)).toMatchObject({ status, code, type: `/docs/problems/${code}` });
  expect(answer.headers["request-id"]).toMatch(/^[0-9a-f-]{36}$/);
}

const refusals: readonly (readonly [string, string, number, string])[] = [
  ["without Host", lines(`GET ${path} HTTP/1.1`), 400, "request_invalid"],
  ["with an empty Host", lines(`GET ${path} HTTP/1.1`, "host:"), 400, "request_invalid"],
  ["with two Hosts", lines(`GET ${path} HTTP/1.1`, "host: a", "host: b"), 400, "request_invalid"],
  ["with one Host twice", lines(`GET ${path} HTTP/1.1`, "host: a", "HOST: a"), 400, "request_invalid"],
  [
    "with two Hosts, of HTTP/1.0",
    lines(`GET ${path} HTTP/1.0`, "host: a", "host: b"),
    400,
    "request_invalid",
  ],
  ["with a Host that is none", lines(`GET ${path} HTTP/1.1`, "host: a b/c"), 400, "request_invalid"],
  ["that expects tea", lines(`GET ${path} HTTP/1.1`, "host: a", "expect: tea"), 417, "expectation_failed"],
  [
    "that expects tea, with a body",
    lines("POST /v1/verify HTTP/1.1", "host: a", "expect: tea", "content-length: 9000000"),
    417,
    "expectation_failed",
  ],
  [
    "that expects tea besides",
    lines(`GET ${path} HTTP/1.1`, "host: a", "expect: 100-continue, tea"),
    417,
    "expectation_failed",
  ],
  [
    "of HTTP/2 on a connection of HTTP/1",
    lines(`GET ${path} HTTP/2.0`, "host: a"),
    505,
    "http_version_unsupported",
  ],
  ["of HTTP/1.2", lines(`GET ${path} HTTP/1.2`, "host: a"), 505, "http_version_unsupported"],
  ["of HTTP/3", lines(`GET ${path} HTTP/3`, "host: a"), 505, "http_version_unsupported"],
  ["of HTTP/0.9", lines(`GET ${path}`), 505, "http_version_unsupported"],
  ["that begins HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version_unsupported"],
  [
    "with 1,001 fields",
    lines(`GET ${path} HTTP/1.1`, "host: a", ...Array<string>(1_000).fill("a: b")),
    431,
    "header_too_large",
  ],
  [
    "with 2,500 fields",
    lines(`GET ${path} HTTP/1.1`, "host: a", ...Array<string>(2_499).fill("a: b")),
    431,
    "header_too_large",
  ],
  [
    "for a longer target than fits",
    lines(`GET /${"a".repeat(40_000)} HTTP/1.1`, "host: a"),
    431,
    "header_too_large",
  ],
  ["for a tunnel", lines("CONNECT a.example:443 HTTP/1.1", "host: a.example:443"), 405, "method_not_allowed"],
  ["with a method that nobody knows", lines(`FROB ${path} HTTP/1.1`, "host: a"), 400, "request_invalid"],
  [
    "with a space in a field's name",
    lines(`GET ${path} HTTP/1.1`, "host: a", "b c: d"),
    400,
    "request_invalid",
  ],
  ["with a NUL in a field", lines(`GET ${path} HTTP/1.1`, "host: a", "b: \0"), 400, "request_invalid"],
  [
    "with a length that is none",
    lines("POST /v1/verify HTTP/1.1", "host: a", "content-length: x"),
    400,
    "request_invalid",
  ],
  [
    "with an absolute target without a host",
    lines(`GET http://${path} HTTP/1.1`, "host: a"),
    400,
    "request_invalid",
  ],
];

describe.each(["retrieval", "business", "verification", "tools"])("on the %s surface a request", (name) => {
  it.each(refusals)("%s is refused with a problem", async (_what, bytes, status, code) => {
    expectProblem(await sendRaw(bases()[name] ?? "", bytes), status, code);
  });
});

it("what is refused before it is a request is in the logs and the metrics, and any origin may read it", async () => {
  const answer = await sendRaw(surfaces.verifyUrl, lines(`GET ${path} HTTP/1.2`, "host: a"));
  const refused = { surface: "verification", status: 505 };
  expect(surfaces.log).toContainEqual(
    expect.objectContaining({ ...refused, request_id: answer.headers["request-id"] }),
  );
  expect(surfaces.observed).toContainEqual(expect.objectContaining({ ...refused, route: "unmatched" }));
  expect(answer.headers["access-control-allow-origin"]).toBe("*");
});

describe("what is wrong with a body", () => {
  const chunked = lines("POST /v1/verify HTTP/1.1", "host: a", "transfer-encoding: chunked");

  it.each([
    ["a coding that nobody knows", lines("POST /v1/verify HTTP/1.1", "host: a", "transfer-encoding: gzip")],
    ["a chunk without a size", `${chunked}zz\r\n`],
    ["a chunk longer than its size", `${chunked}2\r\nabcd\r\n`],
  ])("is a problem: %s", async (_what, bytes) => {
    expectProblem(await sendRaw(surfaces.verifyUrl, bytes), 400, "request_invalid");
  });

  it("is not answered a second time", async () => {
    const unsigned = lines("POST /v1/search HTTP/1.1", "host: a", "transfer-encoding: gzip");
    const text = await everything(surfaces.retrievalUrl, unsigned);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401"]);
    // What follows an answered request on its connection is a request of its own.
    const followed = await everything(
      surfaces.retrievalUrl,
      lines(`GET ${path} HTTP/1.1`, "host: a"),
      "?\r\n\r\n",
    );
    expect(followed.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  });
});

/** Everything that the server sends until it closes the connection; `next` is sent once something has arrived. */
function everything(base: string, bytes: string, next = ""): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(base).port), "127.0.0.1", () => socket.write(bytes));
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    if (text === "") socket.write(next);
    text += part;
  });
  socket.once("close", () => resolve(text));
  return promise;
}

describe("Host", () => {
  it("may be left out by HTTP/1.0 where nothing is signed", async () => {
    expect((await sendRaw(surfaces.verifyUrl, lines(`GET ${path} HTTP/1.0`))).status).toBe(200);
  });

  it.each(["a", "a.example:8080", "127.0.0.1:1", "[::1]:1", "a-b_c.example."])("may be %s", async (host) => {
    expect((await sendRaw(surfaces.verifyUrl, lines(`GET ${path} HTTP/1.1`, `host: ${host}`))).status).toBe(
      200,
    );
  });

  it("sent twice on a signed request is nobody's address: signature_invalid; and left out it is 400", async () => {
    const caller = { key: business.signingKey, grant: "" };
    const request = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
    const host = new URL(surfaces.businessUrl).host;
    const { headers } = await signed(surfaces.businessUrl, caller, request);
    const head = rawHead(`GET ${request.path}`, headers).slice(0, -2);
    const ask = (hosts: string) => sendRaw(surfaces.businessUrl, `${head}${hosts}\r\n`);
    expectProblem(await ask(`host: ${host}\r\nhost: ${host}\r\n`), 401, "signature_invalid");
    expectProblem(await ask(""), 400, "request_invalid");
    expect((await ask(`host: ${host}\r\n`)).status).toBe(200);
  });
});

describe("what is no refusal", () => {
  it("an upgrade that is offered is not taken, and the request is answered", async () => {
    const fields = ["host: a", "connection: upgrade", "upgrade: websocket"];
    expect((await sendRaw(surfaces.verifyUrl, lines(`GET ${path} HTTP/1.1`, ...fields))).status).toBe(200);
  });

  it("100-continue is told to go on", async () => {
    const head = lines("POST /v1/verify HTTP/1.1", "host: a", "expect: 100-Continue", "content-length: 2");
    const answer = await sendRaw(surfaces.verifyUrl, `${head}{}`);
    expect(answer.status).toBe(100);
    expect(answer.body).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("a thousand fields are read, the last one too", async () => {
    const fields = ["host: a", ...Array<string>(998).fill("a: b"), "accept: text/html"];
    const target = "/v1/certificates/00000000-0000-4000-8000-000000000001";
    const answer = await sendRaw(surfaces.verifyUrl, lines(`GET ${target} HTTP/1.1`, ...fields));
    expect(answer.headers["content-type"]).toMatch(/^text\/html/);
  });
});

describe("a method that is not allowed", () => {
  it.each([
    ["PROPFIND", path, "GET, HEAD, OPTIONS"],
    ["QUERY", path, "GET, HEAD, OPTIONS"],
    ["TRACE", path, "GET, HEAD, OPTIONS"],
    ["POST", "/openapi.json", "GET, HEAD, OPTIONS"],
    ["PUT", "/v1/verify", "POST, OPTIONS"],
    ["HEAD", "/v1/search", "POST"],
    ["OPTIONS", "/v1/search", "POST"],
    ["DELETE", `/v1/records/svc_${"a".repeat(26)}`, "GET, HEAD"],
  ])("is 405 and told what is: %s %s", async (method, target, allow) => {
    const answer = await sendRaw(surfaces.retrievalUrl, lines(`${method} ${target} HTTP/1.1`, "host: a"), {
      isHead: method === "HEAD",
    });
    expect([answer.status, answer.headers["allow"]]).toEqual([405, allow]);
    if (method !== "HEAD") {
      expectProblem(answer, 405, "method_not_allowed");
      expect(JSON.parse(answer.body)).toMatchObject({ allowed: allow.split(", ") });
    }
  });

  it("is told by the preflight of a public address as well", async () => {
    const answer = await send(surfaces.verifyUrl, null, { path, method: "OPTIONS" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    expect(answer.headers.get("access-control-allow-methods")).toBe("GET, HEAD, OPTIONS");
  });
});
