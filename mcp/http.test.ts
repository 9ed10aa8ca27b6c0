// The HTTP transport on loopback, with requests as they come on the wire.

import { request as send } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "./config.ts";
import {
  bodyBytesMax,
  HttpSessions,
  idleMs,
  type ServedHttp,
  serveOverHttp,
  sessionsMax,
  yieldMs,
} from "./http.ts";
import { testServer } from "./tool-server.fixture.ts";

const token = "a-token-of-this-test";
const origin = "http://app.example";
let open: ServedHttp;
let closed: ServedHttp;

async function serve(bearerToken: string | null): Promise<ServedHttp> {
  const members = { type: "http", port: 0, allowed_origins: [origin] };
  const config = parseConfig({ version: 1, api_base_url: "https://a.example", transport: members }, {});
  if (!config.ok || config.value.transport.type !== "http") throw new Error("The configuration is wrong.");
  const { server } = await testServer([]);
  return await serveOverHttp(server, { transport: config.value.transport, bearerToken, log: () => {} });
}

beforeAll(async () => {
  open = await serve(null);
  closed = await serve(token);
});
afterAll(async () => {
  await Promise.all([open?.close(), closed?.close()]);
});

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const usual = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function ask(on: ServedHttp, { method = "POST", path, headers = {}, body }: Asked): Promise<Answered> {
  const url = new URL(path ?? on.url, on.url);
  return new Promise((resolve, reject) => {
    const sent = send(url, { method, headers: { ...usual, ...headers } }, (answer) => {
      let text = "";
      answer.on("data", (chunk) => (text += String(chunk)));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const rpc = (method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const initialize = rpc("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "t", version: "1" },
});

describe("the head of a request (H1, H2)", () => {
  it.each<[string, Asked, number, string]>([
    ["another Host", { headers: { host: "evil.example" } }, 403, "allowed_hosts"],
    [
      "a Host that only begins well",
      { headers: { host: "localhost.evil.example:80" } },
      403,
      "allowed_hosts",
    ],
    ["another Origin", { headers: { origin: "http://evil.example" } }, 403, "allowed_origins"],
    ["the Origin null", { headers: { origin: "null" } }, 403, "allowed_origins"],
    [
      "the Origin of another port of this machine",
      { headers: { host: "localhost:1", origin: "http://localhost:1" } },
      403,
      "allowed_origins",
    ],
    ["another path", { path: "/other" }, 404, "/mcp"],
    ["another method", { method: "PUT" }, 405, "POST, GET, DELETE"],
    ["a preflight of nobody", { method: "OPTIONS" }, 405, "POST"],
  ])("with %s is refused", async (_name, asked, status, said) => {
    const answer = await ask(open, { body: initialize, ...asked });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(said)]);
  });

  it.each([undefined, "Bearer wrong-token-of-this-test", `Basic ${token}`, "Bearer ", token])(
    "with the authorization %s is refused",
    async (authorization) => {
      const answer = await ask(closed, {
        body: initialize,
        headers: authorization === undefined ? {} : { authorization },
      });
      expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
      expect(answer.text).not.toContain(token);
    },
  );

  it("with the token is served, whatever is missing beside it is refused first", async () => {
    const authorization = `Bearer ${token}`;
    expect((await ask(closed, { body: initialize, headers: { authorization } })).status).toBe(200);
    const elsewhere = await ask(closed, {
      body: initialize,
      headers: { authorization, host: "evil.example" },
    });
    expect(elsewhere.status).toBe(403);
  });

  it("of an allowed origin is served to its page", async () => {
    const preflight = await ask(closed, { method: "OPTIONS", headers: { origin } });
    expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([204, origin]);
    const answer = await ask(open, { body: initialize, headers: { origin, host: "localhost" } });
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([200, origin]);
  });
});

describe("the origin of the endpoint itself (H1)", () => {
  it.each(["127.0.0.1", "localhost", "[::1]"])(
    "is allowed under %s, and no other name or scheme",
    async (name) => {
      const host = `${name}:${new URL(open.url).port}`;
      const statusOf = async (own: ServedHttp, origin: string): Promise<number> =>
        (await ask(own, { body: initialize, headers: { host, origin } })).status;
      expect(await statusOf(open, `http://${host}`)).toBe(200);
      expect(await statusOf(open, `https://${host}`)).toBe(403);
      expect(await statusOf(open, `http://${name}.evil.example:${new URL(open.url).port}`)).toBe(403);
    },
  );

  it("still needs the token", async () => {
    const host = `localhost:${new URL(closed.url).port}`;
    const answer = await ask(closed, { body: initialize, headers: { host, origin: `http://${host}` } });
    expect(answer.status).toBe(401);
  });
});

describe("the body of a request (H3)", () => {
  it.each<[string, string, number, number]>([
    ["not JSON", "{", 400, -32700],
    ["empty", "", 400, -32700],
    ["a batch", `[${initialize}]`, 400, -32600],
    ["over the limit", `"${"x".repeat(bodyBytesMax)}"`, 413, -32600],
    ["not a message", "7", 400, -32600],
  ])("that is %s is refused", async (_name, body, status, code) => {
    const answer = await ask(open, { body });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text).error.code).toBe(code);
  });

  it("may have a mebibyte, and no byte more", async () => {
    expect(bodyBytesMax).toBe(1_048_576);
    expect((await ask(open, { body: initialize.padEnd(bodyBytesMax, " ") })).status).toBe(200);
    expect((await ask(open, { body: initialize.padEnd(bodyBytesMax + 1, " ") })).status).toBe(413);
  });

  it("over the limit is refused while it arrives, where no length is declared", async () => {
    const headers = { "transfer-encoding": "chunked" };
    expect((await ask(open, { headers, body: "x".repeat(bodyBytesMax + 1) })).status).toBe(413);
  });

  it.each<[string, Readonly<Record<string, string>>, number]>([
    ["of another type", { "content-type": "text/plain" }, 415],
    ["whose answer cannot be accepted", { accept: "text/html" }, 406],
  ])("%s is refused", async (_name, headers, status) => {
    expect((await ask(open, { headers, body: initialize })).status).toBe(status);
  });
});

it.each(["*/*", "application/*, text/*", "APPLICATION/JSON, Text/Event-Stream"])(
  "a client that accepts both types of answer as %s is served",
  async (accept) => {
    expect((await ask(open, { headers: { accept }, body: initialize })).status).toBe(200);
  },
);

describe("a session", () => {
  const opened = async (): Promise<string> => {
    const answer = await ask(open, { body: initialize });
    return String(answer.headers["mcp-session-id"]);
  };

  it("is opened, used and ended", async () => {
    const headers = { "mcp-session-id": await opened() };
    const list = await ask(open, { headers, body: rpc("tools/list") });
    expect([list.status, list.text]).toEqual([200, expect.stringContaining("search_products")]);
    expect((await ask(open, { method: "DELETE", headers })).status).toBe(200);
    expect((await ask(open, { headers, body: rpc("tools/list") })).status).toBe(404);
  });

  it.each<[string, string | null, string, number]>([
    ["of nobody", "11111111-1111-4111-8111-111111111111", rpc("tools/list"), 404],
    ["that was never opened", null, rpc("tools/list"), 400],
  ])("%s is refused", async (_name, id, body, status) => {
    expect((await ask(open, { headers: id === null ? {} : { "mcp-session-id": id }, body })).status).toBe(
      status,
    );
  });

  it("that is gone keeps nobody from opening another", async () => {
    const headers = { "mcp-session-id": "11111111-1111-4111-8111-111111111111" };
    const answer = await ask(open, { headers, body: initialize });
    expect([answer.status, answer.headers["mcp-session-id"]]).toEqual([
      200,
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
    expect(answer.headers["mcp-session-id"]).not.toBe(headers["mcp-session-id"]);
  });

  it("is not initialized again, nor served in another version", async () => {
    const headers = { "mcp-session-id": await opened() };
    expect((await ask(open, { headers, body: initialize })).status).toBe(400);
    const other = { ...headers, "mcp-protocol-version": "1999-01-01" };
    expect((await ask(open, { headers: other, body: rpc("tools/list") })).status).toBe(400);
  });
});

describe("sessions", () => {
  const opening = (): Request =>
    new Request("http://127.0.0.1/mcp", { method: "POST", headers: usual, body: initialize });

  it("are bounded, and end without requests (N1, N2)", async () => {
    let nowMs = 0;
    const { server } = await testServer([]);
    const sessions = new HttpSessions(server, () => nowMs);
    const statusOf = async (): Promise<number> =>
      (await sessions.answer(opening(), JSON.parse(initialize))).status;
    for (let count = 0; count < sessionsMax; count += 1) expect(await statusOf()).toBe(200);
    expect(await statusOf()).toBe(503);
    nowMs = idleMs - 1;
    await sessions.sweep();
    expect(sessions.open).toBe(sessionsMax);
    nowMs = idleMs;
    await sessions.sweep();
    expect(sessions.open).toBe(0);
    expect(await statusOf()).toBe(200);
    await sessions.close();
  });

  it("make room for another one if they are idle, the one first that is so for the longest time (N1)", async () => {
    let nowMs = 0;
    const { server } = await testServer([]);
    const sessions = new HttpSessions(server, () => nowMs);
    const ids: string[] = [];
    const openOne = async (): Promise<number> => {
      const answer = await sessions.answer(opening(), JSON.parse(initialize));
      ids.push(answer.headers.get("mcp-session-id") ?? "");
      return answer.status;
    };
    for (let count = 0; count < sessionsMax; count += 1) await openOne();
    const use = async (id: string | undefined): Promise<number> => {
      const headers = { ...usual, "mcp-session-id": id ?? "" };
      const body = rpc("tools/list");
      const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body });
      return (await sessions.answer(request, JSON.parse(body))).status;
    };
    nowMs = yieldMs;
    expect(await use(ids[0])).toBe(200);
    expect(await openOne()).toBe(200);
    expect([await use(ids[0]), await use(ids[1]), sessions.open]).toEqual([200, 404, sessionsMax]);
    nowMs -= 1;
    expect(await openOne()).toBe(503);
    await sessions.close();
  });

  it("are bounded however many are opened at the same moment (N1)", async () => {
    const { server } = await testServer([]);
    const sessions = new HttpSessions(server);
    const asked = Array.from({ length: sessionsMax + 9 }, () =>
      sessions.answer(opening(), JSON.parse(initialize)),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(sessionsMax);
    expect(statuses.filter((status) => status === 503)).toHaveLength(9);
    await sessions.close();
  });
});

describe("requests that stand alone", () => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };

  it("are answered without a session", async () => {
    const answer = await ask(open, { headers, body: rpc("tools/list", { _meta }) });
    expect([answer.status, answer.headers["mcp-session-id"]]).toEqual([200, undefined]);
    expect(answer.text).toContain("search_products");
  });

  it("of another revision are refused", async () => {
    const name = "io.modelcontextprotocol/protocolVersion";
    const body = rpc("tools/list", { _meta: { ..._meta, [name]: "2031-01-01" } });
    const answer = await ask(open, { headers: { ...headers, "mcp-protocol-version": "2031-01-01" }, body });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("2026-07-28")]);
  });
});

describe("an address", () => {
  it("that is in use is refused in one sentence", async () => {
    const config = parseConfig(
      {
        version: 1,
        api_base_url: "https://a.example",
        transport: { type: "http", port: Number(new URL(open.url).port) },
      },
      {},
    );
    if (!config.ok || config.value.transport.type !== "http") throw new Error("The configuration is wrong.");
    const { server } = await testServer([]);
    const options = { transport: config.value.transport, bearerToken: null, log: () => {} };
    await expect(serveOverHttp(server, options)).rejects.toThrow("cannot be listened on (EADDRINUSE)");
  });
});
