// Calls of the local tool server over stdio, against the same signed requests by the client library in this process.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { ToolProcess } from "../mcp/tool-process.ts";
import type { Figure } from "../report.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import type { World } from "../world.ts";

const search = {
  ...{ q: "diamond", filter: { all: [{ country: "US" }] }, sort_by: "price_amount:asc", limit: 10 },
} as const;
const parallel = 8;
const about = `Searches of ten rows over the samples. Ours is a message over stdio to svc-mcp, which signs and sends; the floor is the client library in the benchmark's process. Both reach the same node, and all run on the main thread of their process.`;

export async function measureMcp(world: World): Promise<readonly Figure[]> {
  await using node = await world.openNode(await world.seededHome());
  const home = world.path("mcp");
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "sandbox.json"), JSON.stringify(node.sandbox));
  await using tool = await ToolProcess.start(home);
  const sides = {
    ours: () => tool.callTool("search_products", search),
    floor: await bareSearch(node.sandbox),
  };
  const calls = world.size(200, 20);
  const alone = async (call: () => Promise<unknown>): Promise<number> => {
    const times = new Float64Array(calls);
    for (let at = 0; at < calls; at += 1) times[at] = await timed(call);
    return quantile(times.sort(), 0.5);
  };
  const together = async (call: () => Promise<unknown>): Promise<number> => {
    let left = calls * 2;
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await call();
      }
    };
    const ms = await timed(() => Promise.all(Array.from({ length: parallel }, worker)));
    return (calls * 2_000) / ms;
  };
  await alone(sides.ours);
  await alone(sides.floor);
  const rounds = world.size(7, 1);
  const both = (measure: typeof alone) => ({
    ours: () => measure(sides.ours),
    floor: () => measure(sides.floor),
  });
  const single = await takeRounds(rounds, both(alone));
  const rates = await takeRounds(rounds, both(together));
  const starts: number[] = [];
  for (let round = 0; round < world.size(5, 1); round += 1) starts.push(await firstAnswerMs(home));
  return figuresOf(single, rates, starts);
}

type Rounds = readonly { readonly ours: number; readonly floor: number }[];

function figuresOf(single: Rounds, rates: Rounds, starts: readonly number[]): readonly Figure[] {
  const section = "mcp";
  const { ours, floor } = compare(single);
  return [
    {
      ...{ section, name: "what a tool call adds, p50, one at a time", unit: "ms", floor: null, ratio: null },
      ours: median(single.map((round) => round.ours - round.floor)),
      goal: { atMost: 2 },
      note: `${about} p50 ${ours.toFixed(2)} ms against ${floor.toFixed(2)} ms.`,
    },
    {
      ...{ section, name: `tool calls, ${parallel} at once`, unit: "answers/s", ...compare(rates) },
      goal: { atLeast: 0.8 },
      note: about,
    },
    {
      ...{ section, name: "first answer of a new process", unit: "ms", floor: null, ratio: null },
      ours: median(starts),
      goal: { atMost: 1_000 },
      note: "From the start of svc-mcp to the rows of its first search, the session's opening included.",
    },
  ];
}

async function firstAnswerMs(home: string): Promise<number> {
  return await timed(async () => {
    await using tool = await ToolProcess.start(home);
    await tool.callTool("search_products", search);
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** The same search as the tool server sends it. */
async function bareSearch(sandbox: Sandbox): Promise<() => Promise<unknown>> {
  const [key] = sandbox.ai_companies[0]?.keys ?? [];
  const signing = await parseSigningKey(key?.private_jwk);
  if (key === undefined || !signing.ok) throw new Error("The sandbox has no company with a key.");
  const client = createSvcClient({
    ...{ baseUrl: sandbox.base_url, businessUrl: null, verifyUrl: null, key: signing.value },
    ...{ grant: key.grant, fetch: (url, init) => fetch(url, init) },
  });
  const request = { ...search, collection: "products", session_ref: crypto.randomUUID() };
  return async () => {
    const { body } = await client.search(request);
    if (body.rows.length !== search.limit) throw new Error("A search found less than its limit.");
  };
}
