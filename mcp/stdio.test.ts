// The protocol as raw lines, as a client that is not the SDK's may write them.

import { PassThrough } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { serveOverStdio } from "./program.ts";
import { type Reply, testServer } from "./tool-server.fixture.ts";

type Line = Readonly<Record<string, unknown>>;

/** Writes the lines and reads until there are `count` answers; then the peer leaves. */
async function answers(
  lines: readonly string[],
  count: number,
  replies: readonly Reply[] = [],
): Promise<readonly Line[]> {
  const { server } = await testServer(replies);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const served = serveOverStdio(server, { stdin, stdout, log: () => {} });
  for (const line of lines) stdin.write(`${line}\n`);
  const found: Line[] = [];
  let text = "";
  for await (const chunk of stdout) {
    text += String(chunk);
    const whole = text.split("\n");
    text = whole.pop() ?? "";
    found.push(...whole.map((line) => JSON.parse(line) as Line));
    if (found.length >= count) break;
  }
  stdin.end();
  await served.ended;
  return found;
}

const request = (id: number, method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const opening = (protocolVersion: string): string =>
  request(1, "initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } });
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const alone = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

describe("a session over stdio", () => {
  it("answers a version that it does not know with one that it does", async () => {
    const [first] = await answers([opening("1999-01-01")], 1);
    expect(first).toMatchObject({
      id: 1,
      result: { protocolVersion: "2025-11-25", serverInfo: { name: "masterdb-mcp" } },
    });
  });

  it("goes on after lines that are not messages, and ends with its peer", async () => {
    const bad = ["rubbish", "[]", '{"jsonrpc":"2.0","id":7}', opening("2025-11-25")];
    const lines = [
      opening("2025-11-25"),
      initialized,
      ...bad,
      request(8, "no/such"),
      request(9, "tools/list"),
    ];
    const found = await answers(lines, 7);
    const codeOf = (id: unknown) =>
      found.filter((each) => each["id"] === id).map((each) => (each["error"] as Line | undefined)?.["code"]);
    expect(codeOf(null)).toEqual([-32700, -32600]);
    expect([codeOf(7), codeOf(8), codeOf(9)]).toEqual([[-32600], [-32601], [undefined]]);
    expect(codeOf(1)).toEqual(expect.arrayContaining([undefined, -32600]));
  });

  it.each<[string, object]>([
    ["no name", {}],
    ["arguments that are a list", { name: "fetch", arguments: [] }],
    ["an unknown tool", { name: "nope", arguments: {} }],
  ])("refuses a call with %s", async (_name, params) => {
    const found = await answers([opening("2025-11-25"), initialized, request(2, "tools/call", params)], 2);
    expect(found[1]).toMatchObject({ id: 2, error: { code: -32602 } });
  });
});

describe("requests that stand alone over stdio", () => {
  it("are answered with the metadata of each call", async () => {
    const meta = { ...alone, "masterdb.ai/country": "DE" };
    const params = { name: "search_products", arguments: { sort_by: "published_at:desc" }, _meta: meta };
    const body = '{"rows":[]}';
    const [found] = await answers([request(1, "tools/call", params)], 1, [{ body }]);
    expect(JSON.stringify(found)).toContain('{\\"code\\":\\"DE\\",\\"from\\":\\"metadata\\"}');
  });

  it("of another revision are refused with those that are served", async () => {
    const _meta = { ...alone, "io.modelcontextprotocol/protocolVersion": "2031-01-01" };
    const [found] = await answers([request(1, "tools/list", { _meta })], 1);
    expect(found).toMatchObject({
      id: 1,
      error: { data: { supported: ["2026-07-28"], requested: "2031-01-01" } },
    });
  });
});

describe("a peer that does not read (B4)", () => {
  it("is read no further once its answers wait, and is answered whatever it asked when it reads", async () => {
    const { server } = await testServer([]);
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const served = serveOverStdio(server, { stdin, stdout, log: () => {} });
    const count = 400;
    stdin.write(`${opening("2025-11-25")}\n${initialized}\n`);
    // More than the streams between hold, so that a line that is read was asked for.
    const padding = "x".repeat(4_096);
    const write = async (): Promise<void> => {
      for (let at = 0; at < count; at += 1)
        if (!stdin.write(`${request(at + 2, "tools/list", { padding })}\n`))
          await new Promise((resolve) => stdin.once("drain", resolve));
    };
    const written = write();
    await vi.waitFor(() => expect(stdout.writableLength).toBeGreaterThan(1_048_576), { timeout: 30_000 });
    const answerBytes = 60_000;
    // What is in the streams is at most a few chunks of requests; each is answered.
    expect(stdout.writableLength).toBeLessThan(1_048_576 + 64 * answerBytes);
    let lines = 0;
    stdout.on("data", (chunk: Buffer) => {
      lines += String(chunk).split("\n").length - 1;
    });
    await written;
    await vi.waitFor(() => expect(lines).toBe(count + 1), { timeout: 30_000 });
    stdin.end();
    await served.ended;
  });
});
