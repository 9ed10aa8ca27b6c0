// The doctor at a running node's operations surface, and at one behind a proxy.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { type RunningNode, startNode } from "../composition/start.ts";
import { runningFindings } from "./examine.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-doctor-running-"));
let node: RunningNode | null = null;
let proxy: Server | null = null;
afterEach(async () => {
  proxy?.close();
  await node?.[Symbol.asyncDispose]();
  [node, proxy] = [null, null];
  rmSync(folder, { recursive: true, force: true });
});

async function opsOf(): Promise<URL> {
  node = await startNode({ home: folder, portBase: 0, logLevel: "silent" });
  await node.seeded;
  return new URL(node.urls.ops_url);
}

const found = async (url: URL, now = Date.now): Promise<readonly string[]> =>
  (await runningFindings(url, now)).map(({ code }) => code);

it("finds nothing at a node as it is", async () => {
  expect(await found(await opsOf())).toEqual([]);
});

it("finds files of lists that are not used any more", async () => {
  const file = join(folder, "urls.txt");
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, "bad.example\n");
  vi.stubEnv("SVC_BLOCKED_URLS", file);
  const url = await opsOf();
  vi.unstubAllEnvs();
  expect(await found(url)).toEqual([]);
  const act = { by: "Ada", reason: "Complaint 4713" };
  const bytes = Buffer.from("worse.example\n");
  await node?.services.listActs.set({ list: "blocked-urls", bytes, act });
  const [finding, ...more] = await runningFindings(url, Date.now);
  expect([finding?.code, finding?.warning, more]).toEqual(["list_file_unused", true, []]);
  expect(finding?.problem).toContain("for blocked-urls");
});

it("finds clocks that are apart", async () => {
  expect(await found(await opsOf(), () => Date.now() + 5_000)).toEqual(["clock_off"]);
});

it("finds what stands before a node and rewrites Host, or adds the token", async () => {
  const ops = await opsOf();
  const server = createServer((asked, answer) => {
    const headers = { host: ops.host, "content-length": "0" };
    const options = { method: asked.method ?? "GET", headers };
    request(new URL(asked.url ?? "/", ops), options, (from) => {
      // The node's answer to a caller for whom the proxy vouches.
      answer.writeHead(from.statusCode === 401 ? 200 : (from.statusCode ?? 0), from.headers);
      from.pipe(answer);
    }).end();
  });
  proxy = server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await found(new URL(`http://127.0.0.1:${port}`))).toEqual(["ops_unguarded", "ops_unguarded"]);
});

it("finds a node that is not ready, speaks in the clear, or is none", async () => {
  const report = {
    ready: false,
    checks: { lease: "ok", cassandra: "no answer" },
    plain_text: ["cassandra", "nodes"],
  };
  let text = JSON.stringify(report);
  const server = createServer((asked, answer) => {
    answer.statusCode = asked.method === "POST" ? 401 : asked.url === "/readyz" ? 503 : 421;
    answer.end(text);
  });
  proxy = server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  expect(await found(url)).toEqual(["node_not_ready", "plain_text_allowed", "plain_text_allowed"]);
  text = "<html>";
  expect(await found(url)).toEqual(["node_unreachable"]);
  server.close();
  server.closeAllConnections();
  expect(await found(url)).toEqual(["node_unreachable"]);
});
