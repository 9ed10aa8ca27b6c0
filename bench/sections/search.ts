// Searches over a large catalogue against the same statements asked of SQLite directly plus a bare server.

import { join } from "node:path";
import type { Child } from "../child.ts";
import type { FloorPlan } from "../floor/serve.ts";
import { captureAnswers } from "../floor-plan.ts";
import { type LoadResult, type LoadTarget, sendAll } from "../load.ts";
import { queryKinds } from "../queries.ts";
import type { Figure } from "../report.ts";
import { type Caller, makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import { companyOf, type World } from "../world.ts";

const connections = 16;
const rowsWanted = 50;
const capturedAnswers = 90;

interface Query {
  readonly plan: RequestPlan;
  readonly statements: unknown;
}

interface Side {
  readonly p50Ms: number;
  readonly rate: number;
}

export async function measureSearch(world: World): Promise<readonly Figure[]> {
  const home = await world.filledHome();
  await using node = await world.openNode(home);
  await using direct = world.start("floor/search.ts");
  await direct.call("open", { file: join(home, "rows.db") });
  const { base_url: baseUrl } = node.sandbox;
  const caller = companyOf(node.sandbox);
  const count = roundCount(world);
  const each = world.size(600, 60);
  const queries = await planQueries(direct, (count + 1) * each);
  await using floor = world.start("floor/serve.ts");
  const plans = queries.map(({ plan }) => plan);
  const floorPlan: FloorPlan = {
    file: world.path("floor.db"),
    ...(await captureAnswers(baseUrl, caller, plans.slice(0, Math.min(capturedAnswers, each)))),
  };
  const floorTarget: LoadTarget = { host: "127.0.0.1", port: await floor.call<number>("listen", floorPlan) };
  const some = (round: number): readonly Query[] => queries.slice(round * each, (round + 1) * each);
  const ours = (round: number): Promise<Side> =>
    askServer(targetOf(baseUrl), { baseUrl, caller, queries: some(round) });
  const bare = async (round: number): Promise<Side> => {
    const server = await askServer(floorTarget, { baseUrl, caller, queries: some(round) });
    return combine(await askDirectly(direct, some(round)), server);
  };
  await ours(count);
  await bare(count);
  const rounds = await takeRounds(count, { ours, floor: bare });
  return figuresOf(rounds, world.products);
}

function roundCount(world: World): number {
  return world.size(5, 1);
}

/** Tries of a kind for one query that is wanted of it, at most. */
const triesMax = 4;

/** Distinct queries that each answer a full page, the kinds in turn. */
async function planQueries(direct: Child, count: number): Promise<readonly Query[]> {
  const each = Math.ceil(count / queryKinds.length);
  const ofKind: (readonly Query[])[] = [];
  for (const kind of queryKinds) {
    const queries: Query[] = [];
    for (let first = 0; queries.length < each && first < each * triesMax; first += each) {
      const bodies = Array.from({ length: each }, (_, index) => kind.body(first + index));
      const planned = await direct.call<readonly { statements: unknown; rows: number }[]>("plan", { bodies });
      for (const [index, { statements, rows }] of planned.entries()) {
        if (rows !== rowsWanted || queries.length === each) continue;
        const body = Buffer.from(JSON.stringify(bodies[index]));
        queries.push({
          plan: { method: "POST", path: "/v1/search", tag: "svc-retrieval", body },
          statements,
        });
      }
    }
    if (queries.length < each)
      throw new Error(`${kind.name}: only ${queries.length} of ${each} queries answer ${rowsWanted} rows`);
    ofKind.push(queries);
  }
  return Array.from({ length: each }, (_, index) => ofKind.flatMap((queries) => queries[index] ?? []))
    .flat()
    .slice(0, count);
}

interface Asking {
  readonly baseUrl: string;
  readonly caller: Caller;
  readonly queries: readonly Query[];
}

/** The same queries one at a time, for the latency, then many at once, for the throughput. */
async function askServer(target: LoadTarget, { baseUrl, caller, queries }: Asking): Promise<Side> {
  const plans = queries.map(({ plan }) => plan);
  const alone = await sendAll(target, await makeRequests(baseUrl, caller, plans), 1);
  const together: LoadResult = await sendAll(target, await makeRequests(baseUrl, caller, plans), connections);
  return { p50Ms: quantile(alone.latenciesMs, 0.5), rate: (together.requests / together.elapsedMs) * 1_000 };
}

async function askDirectly(direct: Child, queries: readonly Query[]): Promise<Side> {
  const tookMs = await direct.call<Float64Array>("run", {
    queries: queries.map(({ statements }) => statements),
  });
  const totalMs = tookMs.reduce((sum, ms) => sum + ms, 0);
  return { p50Ms: quantile(tookMs.toSorted(), 0.5), rate: (queries.length / totalMs) * 1_000 };
}

/** One after the other: latencies add up, and so do the times that an answer takes at full load. */
function combine(one: Side, other: Side): Side & { readonly direct: Side; readonly server: Side } {
  return {
    p50Ms: one.p50Ms + other.p50Ms,
    rate: 1 / (1 / one.rate + 1 / other.rate),
    direct: one,
    server: other,
  };
}

function figuresOf(
  rounds: readonly { readonly ours: Side; readonly floor: Side }[],
  products: number,
): readonly Figure[] {
  const parts = rounds.map(({ floor }) => floor as ReturnType<typeof combine>);
  const of = (pick: (part: ReturnType<typeof combine>) => number, digits: number): string =>
    median(parts.map(pick)).toFixed(digits);
  const what = `${products.toLocaleString("en")} rows, distinct queries, ${rowsWanted}-row answers`;
  return [
    {
      section: "search",
      name: `p50, one at a time, ${what}`,
      unit: "ms",
      ...compare(rounds.map(({ ours, floor }) => ({ ours: ours.p50Ms, floor: floor.p50Ms }))),
      goal: { atMost: 1.3 },
      note:
        `SQLite alone ${of(({ direct }) => direct.p50Ms, 2)} ms, the bare server ${of(({ server }) => server.p50Ms, 2)} ms. ` +
        "A third each: text with a filter in order of price, filters only, text by relevance.",
    },
    {
      section: "search",
      name: `throughput, ${connections} connections, ${what}`,
      unit: "answers/s",
      ...compare(rounds.map(({ ours, floor }) => ({ ours: ours.rate, floor: floor.rate }))),
      goal: { atLeast: 0.7 },
      note:
        `SQLite alone ${of(({ direct }) => direct.rate, 0)} queries/s in one thread, the bare server ${of(({ server }) => server.rate, 0)} answers/s; ` +
        "combined 1/(1/a + 1/b). Queries and verification on the main thread, signing on the thread pool (4), as on the floor.",
    },
  ];
}
