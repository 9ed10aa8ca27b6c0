// The tool servers. Calls of the local one over stdio, against the same signed requests by the client library in this process; and
// verifications through the hosted one, while a thousand sessions are open, against a bare HTTP server that does the same
// verification, with what ten thousand sessions take.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { toolSessionLimits } from "../../api/tool-server/tool-sessions.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { startProcess } from "../../tools/process.ts";
import { fetchPlan } from "../catalogue.ts";
import type { Child } from "../child.ts";
import { compare, compareBy, figure, type Measured, median, sidesText, takeRounds } from "../figures.ts";
import type { ReceivedAnswer } from "../load.ts";
import { ask, requestBytes, timeLoad } from "../requests.ts";
import { inLanes, msOf } from "../work.ts";
import { numbersTo, type OpenNode, type World } from "../world.ts";

const search = {
  q: "diamond",
  filter: { all: [{ country: "US" }] },
  sort_by: "price_amount:asc",
  limit: 10,
} as const;
const parallel = 8;
const clientInfo = { name: "bench", version: "1" };
const session = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
const about = `Searches of ten rows over the samples. Ours is a message over stdio to svc-mcp, which signs and sends; the floor is the client library in the benchmark's process. Both reach the same node, and all run on the main thread of their process.`;

export async function measureMcp(world: World): Promise<readonly Measured[]> {
  await using node = await world.openNode(await world.seededHome());
  const home = world.path("mcp");
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "sandbox.json"), JSON.stringify(node.sandbox));
  await using tool = await startTool(home);
  const floor = await bareSearch(node.sandbox);
  const calls = world.size(200, 20);
  const alone = async (call: () => Promise<unknown>): Promise<number> =>
    median(await Array.fromAsync({ length: calls }, () => msOf(call)));
  const together = async (call: () => Promise<unknown>): Promise<number> =>
    (calls * 2_000) / (await msOf(() => inLanes(parallel, calls * 2, call)));
  const takeAll = (measure: typeof alone, warming: number) =>
    takeRounds(world.size(7, 1), { ours: () => measure(tool.search), floor: () => measure(floor) }, warming);
  const single = await takeAll(alone, 1);
  const rates = await takeAll(together, 0);
  const start = async (): Promise<void> => {
    await using started = await startTool(home);
    await started.search();
  };
  const starts = await Array.fromAsync({ length: world.size(5, 1) }, () => msOf(start));
  const added = median(single.map((round) => round.ours - round.floor));
  const note = `${about} p50 ${sidesText(single, (ms) => ms, 2)} ms.`;
  const noteOfStart =
    "From the start of svc-mcp to the rows of its first search, the session's opening included.";
  return [
    figure("what a tool call adds, p50, one at a time", "ms", added, { atMost: 2 }, note),
    figure(`tool calls, ${parallel} at once`, "answers/s", compare(rates), { atLeast: 0.8 }, about),
    figure("first answer of a new process", "ms", median(starts), { atMost: 1_000 }, noteOfStart),
  ];
}

/** The same search as the tool server sends it. */
async function bareSearch(sandbox: Sandbox): Promise<() => Promise<unknown>> {
  const [key] = sandbox.ai_companies[0]?.keys ?? [];
  const signing = await parseSigningKey(key?.private_jwk);
  if (key === undefined || !signing.ok) throw new Error("The sandbox has no company with a key.");
  const client = createSvcClient({
    baseUrl: sandbox.base_url,
    businessUrl: null,
    verifyUrl: null,
    key: signing.value,
    grant: key.grant,
    fetch: (url, init) => fetch(url, init),
  });
  const request = { ...search, collection: "products", session_ref: crypto.randomUUID() };
  return async () => {
    const { body } = await client.search(request);
    if (body.rows.length !== search.limit) throw new Error("A search found less than its limit.");
  };
}

interface Answer {
  readonly id?: number;
  readonly result?: { readonly isError?: boolean };
  readonly error?: { readonly message: string };
}

const graceMs = 5_000;

/** Starts a process of the local tool server and opens its session. It is spoken to in bare lines: no client library is measured with it. */
async function startTool(home: string): Promise<AsyncDisposable & { readonly search: () => Promise<void> }> {
  const args = ["mcp/main.mjs", "--sandbox", "--home", home];
  const started = startProcess(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const { stdin, stdout } = started.child;
  if (stdin === null || stdout === null) throw new Error("The tool server has no channel.");
  const waiting: PromiseWithResolvers<Answer>[] = [];
  createInterface({ input: stdout }).on("line", (line) => {
    const answer = JSON.parse(line) as Answer;
    waiting[answer.id ?? 0]?.resolve(answer);
  });
  void started.ended.then(() => {
    for (const { reject } of waiting) reject(new Error("The tool server ended."));
  });
  const write = (message: object): void => void stdin.write(`${JSON.stringify(message)}\n`);
  const ask = async (method: string, params: object): Promise<Answer> => {
    const asked = Promise.withResolvers<Answer>();
    write({ jsonrpc: "2.0", id: waiting.push(asked) - 1, method, params });
    const answer = await asked.promise;
    if (answer.error !== undefined) throw new Error(answer.error.message);
    return answer;
  };
  await ask("initialize", session);
  write({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    search: async () => {
      const { result } = await ask("tools/call", { name: "search_products", arguments: search });
      if (result?.isError === true) throw new Error("The tool refused the call.");
    },
    [Symbol.asyncDispose]: async () => {
      stdin.end();
      await started.stop(graceMs);
    },
  };
}

const connections = 32;
const openSessions = 1_000;
const openers = 32;
const host = "127.0.0.1";
const path = "/v1/mcp/public";
const accept = "application/json, text/event-stream";

export async function measureMcpHosted(world: World): Promise<readonly Measured[]> {
  await using node = await world.openNode(await world.seededHome());
  const { child } = node;
  const evidence = await evidenceOf(node);
  const ports = await child.call("node-surfaces.ts", "openTools");
  const ids = await openAll(ports.tools, openSessions);
  const params = { name: "verify", arguments: evidence };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const request = (port: number, at: string, body: object, headers: Readonly<Record<string, string>>) =>
    requestBytes("POST", new URL(`http://${host}:${port}${at}`), Buffer.from(JSON.stringify(body)), headers);
  const side = (port: number, isRight: (text: string) => boolean, make: (at: number) => Uint8Array) => {
    const requests = numbersTo(world.size(1_000, 100)).map(make);
    const note = (answer: ReceivedAnswer, index: number): void => {
      // The last one stands for all: reading each would slow down the side that is measured.
      if (index === requests.length - 1 && !isRight(answer.body()))
        throw new Error(`not verified: ${answer.body().slice(0, 500)}`);
    };
    return () => timeLoad({ child, target: { host, port } }, requests, connections, note);
  };
  const sides = {
    ours: side(ports.tools, isValidCall, (at) =>
      request(ports.tools, path, call, { accept, "mcp-session-id": ids[at % ids.length] ?? "" }),
    ),
    floor: side(ports.bare, isValid, () => request(ports.bare, "/v1/verify", evidence, { accept })),
  };
  const rounds = await takeRounds(world.size(5, 1), sides, 1);
  const note =
    "A call of the tool `verify` with a record, its seal, sidecar and row, each call in the next session; the floor is a bare `node:http` server in the same process, with the same verification and the same signed statement. " +
    `Processor time of the main thread ${sidesText(rounds, ({ mainMicros }) => mainMicros)} µs an answer.`;
  const name = `verify, ${connections} connections, ${openSessions} sessions`;
  const rates = compareBy(rounds, ({ rate }) => rate);
  return [
    figure(name, "answers/s", rates, { atLeast: 0.5 }, note),
    await measureSessions(world, child, ports.tools),
  ];
}

async function measureSessions(world: World, child: Child, port: number): Promise<Measured> {
  const held = () => child.call("node-surfaces.ts", "heldByTools");
  const { sessionsMax } = toolSessionLimits;
  const before = await held();
  const wanted = world.size(sessionsMax, 2_000) - before.sessions;
  await openAll(port, wanted);
  const after = await held();
  if (after.sessions !== before.sessions + wanted) throw new Error(`${after.sessions} sessions are open`);
  if (after.sessions === sessionsMax) {
    const { status } = await open(port);
    if (status !== 503) throw new Error(`one session too many answered ${status}`);
  }
  const note = `Heap in use after a full collection, with ${before.sessions} and with ${after.sessions} sessions. One more than ${sessionsMax} is refused with 503.`;
  const bytes = (after.bytes - before.bytes) / wanted;
  return figure(`memory of a session, up to ${after.sessions}`, "bytes", bytes, { atMost: 1_024 }, note);
}

async function open(port: number): Promise<{ readonly status: number; readonly id: string | null }> {
  const answer = await fetch(`http://${host}:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: session }),
  });
  await answer.arrayBuffer();
  return { status: answer.status, id: answer.headers.get("mcp-session-id") };
}

async function openAll(port: number, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  await inLanes(openers, count, async () => {
    const { status, id } = await open(port);
    if (id === null) throw new Error(`initialize answered ${status}`);
    ids.push(id);
  });
  return ids;
}

/** A record with everything that it is verified against, as a company was served it. */
async function evidenceOf({ baseUrl, caller }: OpenNode): Promise<JsonObject> {
  const query = { filter: { all: [{ country: "US" }] }, sort_by: "published_at:desc", limit: 1 };
  const body = utf8(JSON.stringify(query));
  const plan = { method: "POST", path: "/v1/products/search", tag: "svc-retrieval", body } as const;
  const found = JSON.parse(await ask(baseUrl, caller, plan)) as { readonly rows: readonly JsonObject[] };
  const row = found.rows[0] ?? {};
  const text = await ask(baseUrl, caller, fetchPlan(String(row["record_id"])));
  const { seal = null, sidecar = null } = JSON.parse(text) as JsonObject;
  return { record_base64: toBase64(utf8(exactMember(text, "record") ?? "")), seal, sidecar, row };
}

function isValid(text: string): boolean {
  return text.startsWith('{"valid":true');
}

function isValidCall(text: string): boolean {
  const { result } = JSON.parse(text) as { readonly result?: { readonly content?: readonly JsonObject[] } };
  return isValid(String(result?.content?.[0]?.["text"]));
}
