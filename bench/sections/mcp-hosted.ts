// Verifications through the hosted tool server, while a thousand sessions are open, against a bare HTTP server that does
// the same verification; and what ten thousand sessions take.

import { toolSessionLimits } from "../../api/tool-server/tool-sessions.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { exactMember } from "../../protocol/exact-member.ts";
import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import { type LoadTarget, sendAll, sendOne } from "../load.ts";
import type { Figure } from "../report.ts";
import { type Caller, makeRequest, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { companyOf, type World } from "../world.ts";

const connections = 32;
const openSessions = 1_000;
const openers = 32;
const path = "/v1/mcp/public";

export async function measureMcpHosted(world: World): Promise<readonly Figure[]> {
  await using node = await world.openNode(await world.seededHome());
  const { child, sandbox } = node;
  const evidence = await evidenceOf(sandbox.base_url, companyOf(sandbox));
  const ports = await child.call<{ readonly tools: number; readonly bare: number }>("openTools", null);
  const tools = { host: "127.0.0.1", port: ports.tools };
  const bare = { host: "127.0.0.1", port: ports.bare };
  const ids = await open(ports.tools, openSessions);
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "verify", arguments: evidence },
  };
  const each = world.size(1_000, 100);
  const ours = Array.from({ length: each }, (_, at) =>
    plain(path, call, { "mcp-session-id": ids[at % ids.length] ?? "" }),
  );
  const theirs = Array.from({ length: each }, () => plain("/v1/verify", evidence));
  const sides = {
    ours: () => timed(child, tools, ours, isValidCall),
    floor: () => timed(child, bare, theirs, (text) => text.startsWith('{"valid":true')),
  };
  await sides.ours();
  await sides.floor();
  const rounds = await takeRounds(world.size(5, 1), sides);
  const rates = rounds.map(({ ours: own, floor }) => ({ ours: own.rate, floor: floor.rate }));
  const micros = (side: "ours" | "floor"): string =>
    median(rounds.map((round) => round[side].mainMicros)).toFixed(0);
  return [
    {
      ...{ section: "mcp-hosted", name: `verify, ${connections} connections, ${openSessions} sessions` },
      ...{ unit: "answers/s", ...compare(rates), goal: { atLeast: 0.5 } },
      note:
        "A call of the tool `verify` with a record, its seal, sidecar and row, each call in the next session; the floor is a bare `node:http` server in the same process, with the same verification and the same signed statement. " +
        `Processor time of the main thread ${micros("ours")} µs an answer against ${micros("floor")}.`,
    },
    await measureMemory(world, child, ports.tools),
  ];
}

type Held = { readonly sessions: number; readonly bytes: number };

async function measureMemory(world: World, child: Child, port: number): Promise<Figure> {
  const before = await child.call<Held>("heldByTools", null);
  const wanted = world.size(toolSessionLimits.sessionsMax, 2_000) - before.sessions;
  await open(port, wanted);
  const after = await child.call<Held>("heldByTools", null);
  if (after.sessions !== before.sessions + wanted) throw new Error(`${after.sessions} sessions are open`);
  if (after.sessions === toolSessionLimits.sessionsMax) await expectFull(port);
  return {
    ...{ section: "mcp-hosted", name: `memory of a session, up to ${after.sessions}`, unit: "bytes" },
    ...{ ours: (after.bytes - before.bytes) / wanted, floor: null, ratio: null, goal: { atMost: 1_024 } },
    note: `Heap in use after a full collection, with ${before.sessions} and with ${after.sessions} sessions. One more than ${toolSessionLimits.sessionsMax} is refused with 503.`,
  };
}

const initialize = {
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
};

function initializeAt(port: number): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(initialize),
  });
}

/** Opens sessions, each with a request of its own, and returns their ids. */
async function open(port: number, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  let begun = 0;
  const opener = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const answer = await initializeAt(port);
      await answer.arrayBuffer();
      const id = answer.headers.get("mcp-session-id");
      if (id === null) throw new Error(`initialize answered ${answer.status}`);
      ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: openers }, opener));
  return ids;
}

async function expectFull(port: number): Promise<void> {
  const answer = await initializeAt(port);
  await answer.arrayBuffer();
  if (answer.status !== 503) throw new Error(`one session too many answered ${answer.status}`);
}

/** A record with everything that it is verified against, as a company was served it. */
async function evidenceOf(baseUrl: string, caller: Caller): Promise<JsonObject> {
  const ask = async (plan: RequestPlan): Promise<string> => {
    const answer = await sendOne(targetOf(baseUrl), await makeRequest(baseUrl, caller, plan));
    if (answer.status !== 200) throw new Error(`answer ${answer.status}: ${answer.body.slice(0, 500)}`);
    return answer.body;
  };
  const query = { filter: { all: [{ country: "US" }] }, sort_by: "published_at:desc", limit: 1 };
  const tag = "svc-retrieval";
  const body = utf8(JSON.stringify(query));
  const found = JSON.parse(await ask({ method: "POST", path: "/v1/products/search", tag, body })) as {
    readonly rows: readonly JsonObject[];
  };
  const row = found.rows[0] ?? {};
  const text = await ask({ method: "GET", path: `/v1/records/${String(row["record_id"])}`, tag });
  const { seal = null, sidecar = null } = JSON.parse(text) as JsonObject;
  return { record_base64: toBase64(utf8(exactMember(text, "record") ?? "")), seal, sidecar, row };
}

/** The bytes of a request that nobody signed. */
function plain(at: string, body: object, headers: Readonly<Record<string, string>> = {}): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(body));
  const all = {
    ...{
      host: "127.0.0.1",
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    ...{ "content-length": String(bytes.length), ...headers },
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${at} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), bytes]);
}

function isValidCall(text: string): boolean {
  const { result } = JSON.parse(text) as { readonly result?: { readonly content?: readonly JsonObject[] } };
  return String(result?.content?.[0]?.["text"]).startsWith('{"valid":true');
}

interface Timed {
  readonly rate: number;
  readonly mainMicros: number;
}

async function timed(
  child: Child,
  target: LoadTarget,
  requests: readonly Uint8Array[],
  isRight: (text: string) => boolean,
): Promise<Timed> {
  const before = await child.call<CpuTimes>("cpuTimes", null);
  let wrong = "";
  const { elapsedMs } = await sendAll(target, requests, connections, (answer, index) => {
    // The last one stands for all: reading each would slow down the side that is measured.
    if (index === requests.length - 1 && !isRight(answer.body())) wrong = answer.body();
  });
  if (wrong !== "") throw new Error(`not verified: ${wrong.slice(0, 500)}`);
  const cpu = cpuBetween(before, await child.call<CpuTimes>("cpuTimes", null));
  return { rate: (requests.length / elapsedMs) * 1_000, mainMicros: (cpu.mainMs * 1_000) / requests.length };
}
