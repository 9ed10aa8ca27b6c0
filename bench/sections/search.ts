// Searches over a large catalogue against the same statements asked of SQLite directly plus a bare server.

import { join } from "node:path";
import type { Child } from "../child.ts";
import type { DirectTimes } from "../floor/search.ts";
import type { FloorPlan } from "../floor/serve.ts";
import { captureAnswers } from "../floor-plan.ts";
import { Connection, type LoadTarget, sendAll } from "../load.ts";
import { queryKinds } from "../queries.ts";
import type { Figure } from "../report.ts";
import { type Caller, makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import { companyOf, type OpenNode, type World } from "../world.ts";

const connections = 16;
const rowsWanted = 50;
const capturedAnswers = 90;

interface Query {
  /** Index in {@link queryKinds}. */
  readonly kind: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly plan: RequestPlan;
}

interface Side {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Medians by kind of query. */
  readonly kindsMs: readonly number[];
  readonly rate: number;
}

export async function measureSearch(world: World): Promise<readonly Figure[]> {
  const home = await world.filledHome();
  await using node = await world.openNode(home);
  const { p50, throughput } = await measureSearchOf(world, node, {
    home,
    products: world.products,
    rounds: world.size(5, 1),
    each: world.size(600, 60),
  });
  return [p50, throughput];
}

/** Measures searches of a node over a home with this many products. */
export async function measureSearchOf(
  world: World,
  node: OpenNode,
  { home, products, rounds: count, each }: SearchedHome,
): Promise<SearchFigures> {
  await using direct = world.start("floor/search.ts");
  world.say("making plain tables of the index");
  await direct.call("open", { index: join(home, "rows.db"), plain: world.path("plain.db") });
  const { base_url: baseUrl } = node.sandbox;
  const caller = companyOf(node.sandbox);
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
  const bare = async (round: number): Promise<Combined> => {
    const server = await askServer(floorTarget, { baseUrl, caller, queries: some(round) });
    return combine(await askDirectly(direct, some(round)), server);
  };
  await ours(count);
  await bare(count);
  const rounds = await takeRounds(count, { ours, floor: bare });
  return figuresOf(rounds, products);
}

export interface SearchedHome {
  readonly home: string;
  readonly products: number;
  readonly rounds: number;
  /** Queries of a round; the same number again warms up. */
  readonly each: number;
}

/** Maximum number of candidates tried for each query wanted of a kind. */
const triesMax = 4;

/** Distinct queries that each return a full page, alternating between the kinds. */
async function planQueries(direct: Child, count: number): Promise<readonly Query[]> {
  const each = Math.ceil(count / queryKinds.length);
  const ofKind: (readonly Query[])[] = [];
  for (const [kind, { name, body: bodyOf }] of queryKinds.entries()) {
    const queries: Query[] = [];
    for (let first = 0; queries.length < each && first < each * triesMax; first += each) {
      const bodies = Array.from({ length: each }, (_, index) => bodyOf(first + index));
      const counts = await direct.call<readonly number[]>("countRows", { bodies });
      queries.push(
        ...bodies.filter((_, index) => counts[index] === rowsWanted).map((body) => queryOf(kind, body)),
      );
    }
    if (queries.length < each)
      throw new Error(`${name}: only ${queries.length} of ${each} queries answer ${rowsWanted} rows`);
    ofKind.push(queries);
  }
  return Array.from({ length: each }, (_, index) => ofKind.flatMap((queries) => queries[index] ?? []))
    .flat()
    .slice(0, count);
}

function queryOf(kind: number, body: Query["body"]): Query {
  const bytes = Buffer.from(JSON.stringify(body));
  return { kind, body, plan: { method: "POST", path: "/v1/search", tag: "svc-retrieval", body: bytes } };
}

interface Asking {
  readonly baseUrl: string;
  readonly caller: Caller;
  readonly queries: readonly Query[];
}

/** The same queries one at a time, for the latency, then many at once, for the throughput. */
async function askServer(target: LoadTarget, { baseUrl, caller, queries }: Asking): Promise<Side> {
  const plans = queries.map(({ plan }) => plan);
  const tookMs: number[] = [];
  const connection = await Connection.open(target);
  try {
    for (const request of await makeRequests(baseUrl, caller, plans)) {
      const startedMs = performance.now();
      const { status } = await connection.exchange(request);
      tookMs.push(performance.now() - startedMs);
      if (status !== 200) throw new Error(`answer ${status}`);
    }
  } finally {
    connection.close();
  }
  const together = await sendAll(target, await makeRequests(baseUrl, caller, plans), connections);
  return { ...latencies(queries, tookMs), rate: (together.requests / together.elapsedMs) * 1_000 };
}

function latencies(queries: readonly Query[], tookMs: readonly number[]): Omit<Side, "rate"> {
  const kindsMs = queryKinds.map((_, kind) =>
    median(tookMs.filter((_ms, index) => queries[index]?.kind === kind)),
  );
  return { p50Ms: median(tookMs), p99Ms: quantile(Float64Array.from(tookMs).sort(), 0.99), kindsMs };
}

/** Uses the faster way for each kind. */
async function askDirectly(direct: Child, queries: readonly Query[]): Promise<Side> {
  const { plainMs, indexMs } = await direct.call<DirectTimes>("run", {
    bodies: queries.map(({ body }) => body),
  });
  const totalOf = (times: Float64Array, kind: number): number =>
    times.reduce((sum, ms, index) => (queries[index]?.kind === kind ? sum + ms : sum), 0);
  const faster = queryKinds.map((_, kind) =>
    totalOf(plainMs, kind) < totalOf(indexMs, kind) ? plainMs : indexMs,
  );
  const tookMs = queries.map(({ kind }, index) => faster[kind]?.[index] ?? Number.NaN);
  const totalMs = tookMs.reduce((sum, ms) => sum + ms, 0);
  return { ...latencies(queries, tookMs), rate: (queries.length / totalMs) * 1_000 };
}

/** The two run in sequence: latencies add up, and so do the times per answer at full load. */
function combine(direct: Side, server: Side): Combined {
  return {
    p50Ms: direct.p50Ms + server.p50Ms,
    p99Ms: direct.p99Ms + server.p99Ms,
    kindsMs: direct.kindsMs.map((ms, kind) => ms + (server.kindsMs[kind] ?? 0)),
    rate: 1 / (1 / direct.rate + 1 / server.rate),
    direct,
    server,
  };
}

interface Combined extends Side {
  readonly direct: Side;
  readonly server: Side;
}

interface Round {
  readonly ours: Side;
  readonly floor: Side;
}

/** The result of each kind of query. */
function kindsText(rounds: readonly Round[]): string {
  const kinds = queryKinds.map(({ name }, kind) => {
    const { ours, floor, ratio } = compare(
      rounds.map((round) => ({ ours: round.ours.kindsMs[kind] ?? 0, floor: round.floor.kindsMs[kind] ?? 0 })),
    );
    return `${name} ${ours.toFixed(2)} ms against ${floor.toFixed(2)} (${ratio.toFixed(2)})`;
  });
  return `By kind, a third each: ${kinds.join("; ")}.`;
}

export interface SearchFigures {
  readonly p50: Figure;
  readonly p99: Figure;
  readonly throughput: Figure;
}

function figuresOf(
  rounds: readonly { readonly ours: Side; readonly floor: Combined }[],
  products: number,
): SearchFigures {
  const parts = rounds.map(({ floor }) => floor);
  const of = (pick: (part: Combined) => number, digits: number): string =>
    median(parts.map(pick)).toFixed(digits);
  const compared = (pick: (side: Side) => number) =>
    compare(rounds.map(({ ours, floor }) => ({ ours: pick(ours), floor: pick(floor) })));
  const what = `${products.toLocaleString("en")} rows, distinct queries, ${rowsWanted}-row answers`;
  const section = "search";
  return {
    p50: {
      section,
      name: `p50, one at a time, ${what}`,
      unit: "ms",
      ...compared((side) => side.p50Ms),
      goal: { atMost: 1.3 },
      note:
        `SQLite directly ${of(({ direct }) => direct.p50Ms, 2)} ms, the bare server ${of(({ server }) => server.p50Ms, 2)} ms. ` +
        kindsText(rounds),
    },
    p99: {
      section,
      name: `p99, one at a time, ${what}`,
      unit: "ms",
      ...compared((side) => side.p99Ms),
      goal: { atMost: 2 },
      note: `SQLite directly ${of(({ direct }) => direct.p99Ms, 2)} ms, the bare server ${of(({ server }) => server.p99Ms, 2)} ms.`,
    },
    throughput: {
      section,
      name: `throughput, ${connections} connections, ${what}`,
      unit: "answers/s",
      ...compared((side) => side.rate),
      goal: { atLeast: 0.7 },
      note:
        `SQLite directly ${of(({ direct }) => direct.rate, 0)} queries/s in one thread, the bare server ${of(({ server }) => server.rate, 0)} answers/s; ` +
        "combined 1/(1/a + 1/b). Queries and verification on the main thread; signing off it, ours in one thread, the floor on the thread pool (4).",
    },
  };
}
