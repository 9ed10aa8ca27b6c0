// Searches over a large catalogue against the same statements asked of SQLite directly plus a bare server; and the same searches
// while a bulk file is uploaded and imported, against those while nothing else happens.

import { join } from "node:path";
import type { OpenContest } from "../against.ts";
import { newSearches, type PlannedQuery, planQueries, queryKinds, rowsWanted } from "../catalogue.ts";
import type { Child } from "../child.ts";
import {
  compareBy,
  count,
  figure,
  type Measured,
  median,
  quantile,
  type Rounds,
  takeRounds,
} from "../figures.ts";
import { sendAll, sendPaced } from "../load.ts";
import { merchantOf } from "../parties.ts";
import { prepareImport, publish, sendUpload, writeBulkFile } from "../publishing.ts";
import { captureAnswers, loadOf, makeRequests, type Server } from "../requests.ts";
import type { OpenNode, World } from "../world.ts";

const connections = 16;
const capturedAnswers = 90;

type Query = PlannedQuery<{ readonly rows: number }>;

interface Side {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Medians by kind of query. */
  readonly kindsMs: readonly number[];
  readonly rate: number;
}

/** The floor: SQLite asked directly, and then the bare server. */
interface Combined extends Side {
  readonly direct: Side;
  readonly server: Side;
}

export async function measureSearch(world: World): Promise<readonly Measured[]> {
  const home = await world.filledHome();
  await using node = await world.openNode(home);
  const sizes = { products: world.products, rounds: world.size(5, 1), each: world.size(600, 60) };
  const [p50, _p99, throughput] = await measureSearchOf(world, node, { home, ...sizes });
  return [p50, throughput];
}

/** Measures searches of a node over a home with so many products: p50, p99 and throughput. */
export async function measureSearchOf(
  world: World,
  node: OpenNode,
  of: {
    readonly home: string;
    readonly products: number;
    readonly rounds: number;
    /** Queries of a round; the same number again warms up. */
    readonly each: number;
  },
): Promise<readonly [Measured, Measured, Measured]> {
  const { home, products, each } = of;
  await using opening = new AsyncDisposableStack();
  const opened = await openFloor(world, opening, { node, home, wanted: (of.rounds + 1) * each });
  const { direct, queries, floor } = opened;
  const some = (round: number): readonly Query[] => queries.slice(round * each, (round + 1) * each);
  const sides = {
    ours: (round: number) => askServer(node, node, some(round)),
    floor: async (round: number) =>
      combine(await askDirectly(direct, some(round)), await askServer(node, floor, some(round))),
  };
  return searchFigures(await takeRounds(of.rounds, sides, 1), products);
}

/** SQLite, the bare server, and so many queries that the index and the plain tables answer alike. */
async function openFloor(
  world: World,
  opening: AsyncDisposableStack,
  of: { readonly node: OpenNode; readonly home: string; readonly wanted: number },
) {
  const direct = opening.use(world.startFloor());
  world.say("making plain tables of the index");
  const paths = { index: join(of.home, "rows.db"), plain: world.path("plain.db") };
  await direct.call("floor/search.ts", "open", paths);
  const queries = await planQueries(of.wanted, (bodies) =>
    direct.call("floor/search.ts", "countRows", bodies),
  );
  const captured = queries.slice(0, capturedAnswers).map(({ plan }) => plan);
  return { direct, queries, captured, floor: opening.use(await world.openBareServer(of.node, captured)) };
}

/** The same searches of the nodes of two checkouts, many at once. */
export const contestOfSearches: OpenContest = async ({ present, other, pairs, opening }) => {
  const [home, each, warmingTurns] = [await present.filledHome(), 150, 4];
  const ours = opening.use(await present.openNode(home));
  const theirs = opening.use(await other.openNode(await other.filledHome()));
  const { direct, queries, captured, floor } = await openFloor(present, opening, {
    node: ours,
    home,
    wanted: (pairs + warmingTurns) * each,
  });
  // As many of theirs, so that both are equally warm.
  await captureAnswers(theirs.baseUrl, theirs.caller, captured);
  const load = { plans: queries.map(({ plan }) => plan), each, connections };
  const bare = loadOf(ours, load)(floor);
  return {
    name: `search: distinct queries, ${connections} connections, ${each} in each turn`,
    warmingTurns,
    present: loadOf(ours, load)(ours),
    other: loadOf(theirs, load)(theirs),
    floor: async (turn) => {
      const { rate } = await askDirectly(direct, queries.slice(turn * each, (turn + 1) * each));
      return { micros: 1_000_000 / rate + (await bare(turn)).micros };
    },
  };
};

/** The same queries one at a time, for the latency, then many at once, for the throughput. */
async function askServer(node: OpenNode, { target }: Server, queries: readonly Query[]): Promise<Side> {
  const plans = queries.map(({ plan }) => plan);
  const send = async (open: number) =>
    await sendAll(target, await makeRequests(node.baseUrl, node.caller, plans), open);
  const { latenciesMs } = await send(1);
  const { elapsedMs } = await send(connections);
  return { ...latencies(queries, [...latenciesMs]), rate: (plans.length / elapsedMs) * 1_000 };
}

function latencies(queries: readonly Query[], tookMs: readonly number[]): Omit<Side, "rate"> {
  const ofKind = (kind: number) => tookMs.filter((_ms, index) => queries[index]?.kind === kind);
  const kindsMs = queryKinds.map((_, kind) => median(ofKind(kind)));
  return { p50Ms: median(tookMs), p99Ms: quantile(tookMs, 0.99), kindsMs };
}

/** Uses the faster way for each kind. */
async function askDirectly(direct: Child, queries: readonly Query[]): Promise<Side> {
  const bodies = queries.map(({ body }) => body);
  const { plainMs, indexMs } = await direct.call("floor/search.ts", "run", bodies);
  const totalOf = (times: readonly number[], kind: number): number =>
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

function searchFigures(
  rounds: Rounds<Side, Combined>,
  products: number,
): readonly [Measured, Measured, Measured] {
  const parts = (pick: (part: Side) => number, digits: number) => {
    const of = (side: "direct" | "server"): string =>
      median(rounds.map(({ floor }) => pick(floor[side]))).toFixed(digits);
    return { direct: of("direct"), server: of("server") };
  };
  const what = `${count(products)} rows, distinct queries, ${rowsWanted}-row answers`;
  const latency = (name: string, pick: (side: Side) => number, atMost: number, more: string): Measured => {
    const { direct, server } = parts(pick, 2);
    const note = `SQLite directly ${direct} ms, the bare server ${server} ms.${more}`;
    return figure(`${name}, one at a time, ${what}`, "ms", compareBy<Side>(rounds, pick), { atMost }, note);
  };
  const rates = parts(({ rate }) => rate, 0);
  const rate = compareBy<Side>(rounds, (side) => side.rate);
  const note =
    `SQLite directly ${rates.direct} queries/s in one thread, the bare server ${rates.server} answers/s; ` +
    "combined 1/(1/a + 1/b). Verification on the main thread; ours queries and signs in threads of their own, the floor signs on the thread pool (4).";
  const throughput = `throughput, ${connections} connections, ${what}`;
  return [
    latency("p50", ({ p50Ms }) => p50Ms, 1.25, ` ${kindsText(rounds)}`),
    latency("p99", ({ p99Ms }) => p99Ms, 2, ""),
    figure(throughput, "answers/s", rate, { atLeast: 0.8 }, note),
  ];
}

function kindsText(rounds: Rounds<Side>): string {
  const kinds = queryKinds.map(({ name }, kind) => {
    const { ours, floor, ratio } = compareBy(rounds, ({ kindsMs }) => kindsMs[kind] ?? 0);
    return `${name} ${ours.toFixed(2)} ms against ${floor.toFixed(2)} (${ratio.toFixed(2)})`;
  });
  return `By kind, a third each: ${kinds.join("; ")}.`;
}

const perSecond = 20;
/** More than are sent during the longest import: all of them are signed beforehand. */
const searchesMax = 4_000;

export async function measureMeanwhile(world: World): Promise<readonly Measured[]> {
  const records = world.bulkRecords;
  await using node = await world.openNode(await world.filledHome());
  const idle = world.size(400, 40);
  const searches = newSearches();
  const send = async (count: number, until: AbortSignal | null, meanwhile: () => Promise<void>) => {
    const requests = await makeRequests(node.baseUrl, node.caller, searches(count));
    const addressed = requests.map((bytes) => ({ target: node.target, bytes }));
    const [tookMs] = await Promise.all([sendPaced(addressed, perSecond, until), meanwhile()]);
    return { p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99), searches: tookMs.length };
  };
  const undisturbed = () => send(idle, null, async () => {});
  await undisturbed();
  const ours = async (round: number) => {
    world.say(`meanwhile, round ${round + 1}`);
    const range = { first: world.products + round * records, count: records };
    const file = await writeBulkFile(world.path("file.txt"), range);
    const prepared = await prepareImport(node.businessUrl, merchantOf(node.sandbox), file);
    const ended = new AbortController();
    const importAll = async (): Promise<void> => {
      await sendUpload(prepared);
      await publish(node, prepared);
    };
    return await send(searchesMax, ended.signal, () => importAll().finally(() => ended.abort()));
  };
  const rounds = await takeRounds(world.size(3, 1), { ours, floor: undisturbed });
  const during = median(rounds.map(({ ours }) => ours.searches));
  const note =
    `The column of the floor is the same node with nothing else to do. ${perSecond} searches a second, each counted from when it was due; ${during} in a round during the import, ${idle} without. ` +
    `${count(world.products)} products at first, and ${count(records)} more after each import.`;
  const [p99, p50] = [compareBy(rounds, ({ p99Ms }) => p99Ms), compareBy(rounds, ({ p50Ms }) => p50Ms)];
  return [
    figure("p99 of searches during a bulk import", "ms", p99, { atMost: 2 }, note),
    figure("p50 of searches during a bulk import", "ms", p50, null, ""),
  ];
}
