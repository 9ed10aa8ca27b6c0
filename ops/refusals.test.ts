// Every refusal of an operator's request is a problem document, including the platform's own refusals, and the surface's
// OpenAPI document lists them (specification, «Errors»).

import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawAnswer, sendRaw } from "../api/raw-request.fixture.ts";
import { type ProblemCode, problemCodes, problemMediaType } from "../protocol/problem.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { createMetrics } from "./metrics.ts";
import {
  noActing,
  noApplications,
  noBlocks,
  noBrands,
  noCampaigns,
  noEnrolment,
  noHeldDeletions,
  noInspection,
  noLedgers,
  noLists,
  noPurges,
  noRecoveries,
  noRevocations,
  noTakedowns,
} from "./ops.fixture.ts";
import { buildOps } from "./server.ts";
import { signedIn } from "./sign-in.fixture.ts";

const token = "an-operators-token-of-32-characters";
const authorization = signedIn(token);
const hosts: string[] = [];
const server = buildOps({
  logger: pino({ level: "silent" }),
  incarnation: "t",
  access: { hosts, token, isLoopback: true },
  metrics: createMetrics(),
  readings: () => [],
  ready: async () => ({ ready: true, degraded: [], checks: {}, plain_text: [] }),
  inspection: noInspection,
  acting: noActing,
  stalledPushes: () => [],
  purges: noPurges,
  revocations: noRevocations,
  enrolment: noEnrolment,
  applications: noApplications,
  recoveries: noRecoveries,
  ledgers: noLedgers,
  blocks: noBlocks,
  brands: noBrands,
  takedowns: noTakedowns,
  campaigns: noCampaigns,
  heldDeletions: noHeldDeletions,
  lists: noLists,
  audit: { record: () => {} },
  cluster: rubbish({}),
});
let base = "";
let host = "";

beforeAll(async () => {
  base = await server.listen({ port: 0, host: "127.0.0.1" });
  host = `host: ${new URL(base).host}`;
  hosts.push(new URL(base).host);
});
afterAll(() => server.close());

const lines = (start: string, ...fields: readonly string[]): string =>
  `${[start, ...fields].join("\r\n")}\r\n\r\n`;

function expectProblem(answer: RawAnswer, code: ProblemCode): void {
  const { status } = problemCodes[code];
  expect(answer, answer.body).toMatchObject({ status, headers: { "content-type": problemMediaType } });
  expect(JSON.parse(answer.body)).toMatchObject({ status, code, type: `/docs/problems/${code}` });
  expect(answer.headers["request-id"]).toMatch(/^ops-t-/);
}

describe("a request of an operator", () => {
  it.each<[string, () => string, ProblemCode]>([
    ["without Host", () => lines("GET /healthz HTTP/1.1"), "request_invalid"],
    ["with two Hosts", () => lines("GET /healthz HTTP/1.1", host, "host: b"), "request_invalid"],
    [
      "for another host in the absolute form",
      () => lines("GET HTTP://b.example/healthz HTTP/1.1", host),
      "host_not_allowed",
    ],
    ["with another Host", () => lines("GET /healthz HTTP/1.1", "host: b"), "host_not_allowed"],
    [
      "with a Host that is none",
      () => lines("GET /healthz HTTP/1.1", `${host}.b.example`),
      "request_invalid",
    ],
    ["that expects tea", () => lines("GET /healthz HTTP/1.1", host, "expect: tea"), "expectation_failed"],
    ["that begins HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http_version_unsupported"],
    ["that is no HTTP", () => "tea\r\n\r\n", "request_invalid"],
    [
      "with too long a head",
      () => lines("GET /healthz HTTP/1.1", host, `x: ${"a".repeat(40_000)}`),
      "header_too_large",
    ],
    ["for a tunnel", () => lines("CONNECT a.example:443 HTTP/1.1", host), "method_not_allowed"],
    ["for a target that cannot be read", () => lines("GET /%zz HTTP/1.1", host), "request_invalid"],
    ["with a parameter that there is not", () => lines("GET /healthz?x=1 HTTP/1.1", host), "request_invalid"],
    ["without the token", () => lines("POST /ops/cluster/moves HTTP/1.1", host), "token_invalid"],
    [
      "with a body that is none",
      () =>
        `${lines("POST /ops/cluster/moves HTTP/1.1", host, `authorization: ${authorization}`, "content-type: application/json", "content-length: 1")}{`,
      "request_invalid",
    ],
    ["for what is not there", () => lines("GET /nowhere HTTP/1.1", host), "not_found"],
  ])("%s is refused with a problem document", async (_what, request, code) => {
    expectProblem(await sendRaw(base, request()), code);
  });

  it("is answered where nothing is wrong with it", async () => {
    expect((await sendRaw(base, lines("GET /healthz HTTP/1.1", host))).status).toBe(200);
  });

  const bearer = `authorization: ${authorization}`;
  it.each([
    ["POST", "/healthz", "GET, HEAD"],
    ["DELETE", "/readyz", "GET, HEAD"],
    ["PUT", "/ops/actors/push/bat_1", "GET, HEAD"],
    ["GET", "/ops/cluster/moves", "POST"],
    ["OPTIONS", "/ops/keys/k/revoke", "POST"],
    ["LOCK", "/ops/keys/k", "GET, HEAD"],
  ])("is told what may be done there instead: %s %s", async (method, path, allow) => {
    const body = ["content-type: text/plain", "content-length: 3"];
    const answer = await sendRaw(base, `${lines(`${method} ${path} HTTP/1.1`, host, bearer, ...body)}tea`);
    expect(answer.headers["allow"]).toBe(allow);
    expectProblem(answer, "method_not_allowed");
    expect(JSON.parse(answer.body).allowed).toEqual(allow.split(", "));
  });

  it("is told nothing of that without the token", async () => {
    expectProblem(await sendRaw(base, lines("POST /healthz HTTP/1.1", host)), "token_invalid");
  });

  it("finds what it may be refused with in the OpenAPI document", async () => {
    const { paths, components } = (
      await server.inject({ url: "/openapi.json", headers: { host: hosts[0] } })
    ).json();
    expect(components.schemas.Problem.required).toContain("code");
    for (const [path, operations] of Object.entries<Record<string, { responses: object }>>(paths)) {
      for (const { responses } of Object.values(operations)) {
        const described = JSON.stringify(responses);
        for (const code of ["request_invalid", "token_invalid", "host_not_allowed", "internal_error"])
          expect(described, path).toContain(`\`${code}\``);
      }
    }
    expect(JSON.stringify(paths["/ops/actors/{kind}/{id}"])).toContain("`not_found`");
  });
});
