// Everything the hosted tool server refuses, as plain requests: each in the protocol's own way, with the problem in it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAddressRate } from "../../service/authentication/request-rate.ts";
import { rawHead, sendRaw } from "../raw-request.fixture.ts";
import {
  holdTurns,
  openSurfaces,
  type ReceivedAnswer,
  type SentRequest,
  send,
  type TestSurfaces,
} from "../surfaces.fixture.ts";
import { createToolSessions, toolSessionLimits } from "./tool-sessions.ts";

let surfaces: TestSurfaces;
let nowMs = 0;
const elapsedMs = (): number => nowMs;

beforeAll(async () => {
  surfaces = await openSurfaces(
    { checkWaitMs: 500 },
    {
      toolSessions: createToolSessions(elapsedMs, { ...toolSessionLimits, perAddressMax: 8 }),
      toolOpenings: createAddressRate({ perMinute: 20, allPerMinute: Number.POSITIVE_INFINITY, elapsedMs }),
    },
  );
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const path = "/v1/mcp/public";
const accept = "application/json, text/event-stream";
type Headers = NonNullable<SentRequest["headers"]>;

const post = (body: unknown, headers: Headers = {}): Promise<ReceivedAnswer> =>
  send(surfaces.toolsUrl, null, {
    path,
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { accept, ...headers },
  });
const end = (headers: Headers): Promise<ReceivedAnswer> =>
  send(surfaces.toolsUrl, null, { path, method: "DELETE", headers });

const request = (method: string, params?: object, id: unknown = 1): object => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
const initialize = request("initialize", hello);
const ping = request("ping");

async function opened(headers: Headers = {}): Promise<Record<string, string | null>> {
  nowMs += 3_600_000;
  const { status, headers: answered } = await post(initialize, headers);
  expect(status).toBe(200);
  return { ...headers, "mcp-session-id": answered.get("mcp-session-id") };
}

const refusedAs = (status: number, rpc: number, code: string) => ({
  status,
  json: {
    jsonrpc: "2.0",
    id: null,
    error: { code: rpc, message: expect.any(String), data: { status, code } },
  },
});

describe("a request is refused", () => {
  it.each([
    ["application/json"],
    ["text/event-stream"],
    ["application/*"],
    ["*/*, text/event-stream;q=0"],
    ["application/json, text/event-stream;q=0"],
    ["text/html"],
    [""],
  ])("unless it accepts both media types: %s", async (given) => {
    expect(await post(initialize, { accept: given })).toMatchObject(
      refusedAs(406, -32_000, "not_acceptable"),
    );
  });

  it.each(["*/*", "application/*, text/*", "application/json, text/*;q=0.1"])(
    "by no range that contains both: %s",
    async (given) => {
      expect((await post(initialize, { accept: given })).status).toBe(200);
    },
  );

  it("in whatever case of letters they are named", async () => {
    const accept = "Application/JSON, TEXT/event-stream";
    expect((await newer("tools/list", {}, { accept })).status).toBe(200);
  });

  it("unless its body is said to be JSON", async () => {
    for (const type of ["text/plain", "application/jsonp", null])
      expect(await post(initialize, { "content-type": type })).toMatchObject(
        refusedAs(415, -32_000, "media_type_unsupported"),
      );
  });

  it.each([
    ["no JSON", "{", -32_700],
    ["empty", "", -32_700],
    ["ambiguous", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32_700],
    ["of too many values", `[${"0,".repeat(5_000)}0]`, -32_700],
    ["a batch", [ping], -32_600],
    ["an empty batch", [], -32_600],
    ["no message", {}, -32_600],
    ["a message of another version", { ...ping, jsonrpc: "1.0" }, -32_600],
    ["a message without an id that may be one", { ...ping, id: null }, -32_600],
    ["a text", '"ping"', -32_600],
  ])("when its body is %s", async (_what, body, code) => {
    expect(await post(body)).toMatchObject(refusedAs(400, code, "request_invalid"));
  });

  it("when it is a batch, which is said", async () => {
    expect((await post([ping])).json).toMatchObject({
      error: { message: expect.stringContaining("batches") },
    });
  });

  it("when its body is longer than 303,104 bytes", async () => {
    const bytesMax = 303_104;
    const whole = JSON.stringify(ping).padEnd(bytesMax, " ");
    expect(await post(whole, await opened())).toMatchObject({ status: 200, json: { id: 1, result: {} } });
    expect(await post(`${whole} `)).toMatchObject(refusedAs(413, -32_000, "record_too_large"));
  });

  it("with GET, which would be a stream", async () => {
    const answer = await send(surfaces.toolsUrl, null, { path, headers: { accept } });
    expect(answer).toMatchObject({ status: 405, json: { code: "method_not_allowed" } });
    expect(answer.headers.get("allow")).toBe("POST, DELETE");
  });

  it("under a foreign host, as of a page that uses DNS rebinding", async () => {
    const strict = await openSurfaces({}, { hosts: ["tools.svc.test"] });
    const ask = (host: string) =>
      sendRaw(strict.toolsUrl, rawHead(`POST ${path}`, { host, "content-length": "0" }));
    expect([(await ask("attacker.example")).status, (await ask("tools.svc.test")).status]).toEqual([
      421, 415,
    ]);
    await strict[Symbol.asyncDispose]();
  });
});

describe("initialize", () => {
  it("opens a session each time, and agrees on a revision that is served", async () => {
    const first = await post(initialize);
    const second = await post(request("initialize", { ...hello, protocolVersion: "2024-11-05" }));
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers.get("mcp-session-id")).not.toBe(second.headers.get("mcp-session-id"));
    expect(first.json).toMatchObject({
      result: { protocolVersion: "2025-11-25", capabilities: { tools: {} } },
    });
    expect(second.json).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
    const older = await post(request("initialize", { ...hello, protocolVersion: "2025-06-18" }));
    expect(older.json).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  });

  it("opens no session when it is not complete", async () => {
    const answer = await post(request("initialize", {}));
    expect(answer).toMatchObject({ status: 200, json: { id: 1, error: { code: -32_602 } } });
    expect(answer.headers.get("mcp-session-id")).toBeNull();
  });

  it("is refused in a session, which goes on", async () => {
    const session = await opened();
    expect(await post(initialize, session)).toMatchObject(refusedAs(400, -32_600, "request_invalid"));
    expect(await post(ping, session)).toMatchObject({ status: 200, json: { id: 1, result: {} } });
  });

  it("is refused when its address has as many sessions as it may", async () => {
    nowMs += 3_600_000;
    const sessions = await Promise.all(Array.from({ length: 8 }, () => post(initialize)));
    const full = await post(initialize);
    expect(full).toMatchObject(refusedAs(429, -32_000, "rate_limited"));
    expect(full.json).toMatchObject({ error: { data: { reason: "tool_sessions" } } });
    expect([full.headers.get("retry-after"), full.headers.get("mcp-session-id")]).toEqual(["60", null]);
    const [first] = sessions;
    const session = { "mcp-session-id": first?.headers.get("mcp-session-id") ?? null };
    expect((await post(ping, session)).status).toBe(200);
    expect((await end(session)).status).toBe(204);
    expect((await post(initialize)).status).toBe(200);
  });

  it("is refused when its address opened too many within a minute", async () => {
    nowMs += 3_600_000;
    for (let count = 0; count < 20; count += 1) {
      const { headers } = await post(initialize);
      await end({ "mcp-session-id": headers.get("mcp-session-id") });
    }
    const limited = await post(initialize);
    expect(limited).toMatchObject(refusedAs(429, -32_000, "rate_limited"));
    expect(limited.json).toMatchObject({
      error: { data: { reason: "address_rate", retry_after_seconds: 60 } },
    });
    nowMs += 60_000;
    expect((await post(initialize)).status).toBe(200);
  });
});

describe("a session", () => {
  it("is needed by every message but initialize", async () => {
    for (const message of [
      ping,
      request("tools/list"),
      { jsonrpc: "2.0", method: "notifications/initialized" },
    ])
      expect(await post(message)).toMatchObject(refusedAs(400, -32_000, "request_invalid"));
    expect(await end({})).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  });

  it("takes notifications and answers without an answer", async () => {
    const session = await opened();
    for (const message of [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 4, result: {} },
    ]) {
      const answer = await post(message, session);
      expect([answer.status, answer.text]).toEqual([202, ""]);
    }
  });

  it("is not known when it was never opened", async () => {
    for (const id of ["", "x", "0".repeat(36), "é".normalize()]) {
      const session = { "mcp-session-id": encodeURIComponent(id) };
      expect(await post(ping, session)).toMatchObject(refusedAs(404, -32_001, "not_found"));
      expect(await end(session)).toMatchObject({ status: 404, json: { code: "not_found" } });
    }
  });

  it("that is gone keeps nobody from opening another, which has an id of its own", async () => {
    nowMs += 3_600_000;
    const gone = { "mcp-session-id": "0".repeat(36) };
    const answer = await post(initialize, gone);
    const id = answer.headers.get("mcp-session-id");
    expect([answer.status, id]).toEqual([200, expect.not.stringMatching(/^0+$/)]);
    expect((await post(ping, { "mcp-session-id": id })).status).toBe(200);
    expect((await post(ping, gone)).status).toBe(404);
  });

  it("is bound to the credential that opened it, or to none", async () => {
    const own = await opened({ authorization: "Bearer a" });
    const none = await opened();
    const others = [
      { ...own, authorization: null },
      { ...own, authorization: "Bearer b" },
      { ...none, authorization: "Bearer a" },
    ];
    for (const other of others) {
      expect(await post(ping, other)).toMatchObject(refusedAs(404, -32_001, "not_found"));
      expect(await end(other)).toMatchObject({ status: 404 });
    }
    expect([(await post(ping, none)).status, (await end(none)).status]).toEqual([200, 204]);
  });

  it("ends after thirty minutes without a request", async () => {
    const session = await opened();
    for (const ms of [1_799_999, 1_799_999]) {
      nowMs += ms;
      expect((await post(ping, session)).status).toBe(200);
    }
    nowMs += 1_800_000;
    expect(await post(ping, session)).toMatchObject(refusedAs(404, -32_001, "not_found"));
  });

  it("ends with DELETE", async () => {
    const session = await opened();
    const ended = await end(session);
    expect([ended.status, ended.text]).toEqual([204, ""]);
    expect(await post(ping, session)).toMatchObject(refusedAs(404, -32_001, "not_found"));
    expect(await end(session)).toMatchObject({ status: 404 });
  });

  it("of a node that died is refused by another, which opens one", async () => {
    const dying = await openSurfaces();
    const body = JSON.stringify(initialize);
    const opening = await send(dying.toolsUrl, null, { path, body, headers: { accept } });
    const session = { "mcp-session-id": opening.headers.get("mcp-session-id") };
    await dying[Symbol.asyncDispose]();
    expect(session["mcp-session-id"]).not.toBeNull();
    expect(await post(ping, session)).toMatchObject(refusedAs(404, -32_001, "not_found"));
    expect((await post(ping, await opened())).status).toBe(200);
  });

  it.each(["2025-03-26", "2024-11-05", "2020-01-01", "x"])("does not speak revision %s", async (version) => {
    const session = await opened();
    const headers = { ...session, "mcp-protocol-version": version };
    const answer = await post(ping, headers);
    expect([answer.status, answer.json]).toMatchObject([400, { error: { code: expect.any(Number) } }]);
    expect(await end(headers)).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    expect((await post(ping, { ...session, "mcp-protocol-version": "2025-06-18" })).status).toBe(200);
  });

  it("answers a method that is not there as the protocol does", async () => {
    const session = await opened();
    for (const method of ["resources/list", "prompts/list", "tasks/list", "subscriptions/listen", "x"])
      expect(await post(request(method, {}, "a"), session)).toMatchObject({
        status: 200,
        json: { id: "a", error: { code: -32_601 } },
      });
  });
});

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const newer = (method: string, params: object = {}, headers: Headers = {}): Promise<ReceivedAnswer> =>
  post(request(method, { _meta: meta, ...params }), {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...headers,
  });

describe("revision 2026-07-28", () => {
  it("needs no session, and gets none", async () => {
    const answer = await newer("server/discover");
    expect(answer).toMatchObject({ status: 200, json: { result: { supportedVersions: ["2026-07-28"] } } });
    expect(answer.headers.get("mcp-session-id")).toBeNull();
    expect((await newer("tools/list", {}, { "mcp-session-id": "of another revision" })).status).toBe(200);
  });

  it("has the media types checked as well", async () => {
    expect(await newer("tools/list", {}, { accept: "application/json" })).toMatchObject(
      refusedAs(406, -32_000, "not_acceptable"),
    );
  });

  it.each<[string, number, number, () => Promise<ReceivedAnswer>]>([
    ["a header of another method", 400, -32_020, () => newer("tools/list", {}, { "mcp-method": "ping" })],
    ["no header of the tool", 400, -32_020, () => newer("tools/call", { name: "spec", arguments: {} })],
    ["no envelope", 400, -32_602, () => newer("tools/list", { _meta: {} })],
    [
      "a revision that nobody serves",
      400,
      -32_022,
      () =>
        newer(
          "tools/list",
          { _meta: { ...meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" } },
          { "mcp-protocol-version": "2099-01-01" },
        ),
    ],
    ["a method that is not there", 404, -32_601, () => newer("resources/list")],
    ["a subscription", 404, -32_601, () => newer("subscriptions/listen", { notifications: {} })],
    [
      "an unknown tool",
      200,
      -32_602,
      () => newer("tools/call", { name: "fetch", arguments: {} }, { "mcp-name": "fetch" }),
    ],
  ])("refuses %s", async (_what, status, code, ask) => {
    expect(await ask()).toMatchObject({ status, json: { error: { code } } });
  });
});

describe("one address", () => {
  const called = async (name: string, given: object): Promise<unknown> => {
    const answer = await newer("tools/call", { name, arguments: given }, { "mcp-name": name });
    const { result } = answer.json as { readonly result: { readonly content: readonly { text: string }[] } };
    const problem = JSON.parse(result.content[0]?.text ?? "") as { readonly code?: string };
    return [problem.code, JSON.parse(result.content[1]?.text ?? "").masterdb_mcp_notes.retry_after_seconds];
  };
  const nobody = "90000000-0000-4000-8000-000000000009";

  it.each([
    ["certificate", { uuid: nobody }, "not_found"],
    ["keys", { of: "business", uuid: nobody }, "not_found"],
    ["verify", { record_base64: "e30=", seal: {} }, undefined],
  ])(
    "waits for the turns of its address, through tools as through the API: %s",
    async (name, given, code) => {
      const turns = holdTurns(surfaces.edge, "127.0.0.1");
      const answer = called(name, given);
      await expect.poll(() => surfaces.edge.checks.usage().waiting).toBe(1);
      turns.end();
      expect(await answer).toEqual([code, undefined]);
    },
  );

  it("is told to come again when its turn does not come in time", async () => {
    const turns = holdTurns(surfaces.edge, "127.0.0.1");
    expect(await called("verify", { record_base64: "e30=", seal: {} })).toEqual(["unavailable", 5]);
    turns.end();
  });

  it("waits for nothing that is the same for everybody", async () => {
    const turns = holdTurns(surfaces.edge, "127.0.0.1");
    expect(await called("projection", { type: "products", version: 1 })).toEqual([undefined, undefined]);
    turns.end();
  });

  it("is told when a record is too long", async () => {
    nowMs += 3_600_000;
    const long = { record_base64: "AAAA", seal: { text: "x".repeat(287_000) } };
    expect(await called("verify", long)).toEqual(["record_too_large", undefined]);
  });
});
