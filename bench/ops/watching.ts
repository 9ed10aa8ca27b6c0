// What watching costs a node: the same searches and pushes while browsers watch it and while nobody does, in turn.

import { setTimeout as delay } from "node:timers/promises";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import { sendAll } from "../load.ts";
import { queryKinds } from "../queries.ts";
import type { Figure } from "../report.ts";
import { makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { companyOf, merchantOf, preparePush, push } from "../world.ts";
import { type FilledNode, touch } from "./filled-node.ts";
import { type Watched, watchPages } from "./watch-pages.ts";

const connections = 16;
const batchOf = 200;
const pairs = 16;

interface Segment {
  readonly elapsedMs: number;
  readonly cpu: CpuTimes;
}

/** The work of one segment: as many searches and pushes each time. */
interface Work {
  readonly searches: number;
  readonly pushes: number;
}

export async function measureWatching(filled: FilledNode): Promise<readonly Figure[]> {
  const { world, load } = filled;
  const work: Work = { searches: world.size(600, 150), pushes: world.size(2, 1) };
  const segments = new Segments(filled, work);
  const pushId = await segments.warmUp();
  const watched: Watched = {
    opsUrl: filled.node.sandbox.ops_url,
    actor: await busiest(filled),
    push: { businessUuid: merchantOf(filled.node.sandbox).uuid, pushId },
  };
  const idle = await measureIdle(filled, watched);
  let views = 0;
  let watchedMs = 0;
  const whileWatched = async (): Promise<Segment> => {
    await using watchers = await watchPages(watched);
    const before = watchers.views();
    const segment = await segments.take();
    views += watchers.views() - before;
    watchedMs += segment.elapsedMs;
    return segment;
  };
  const rounds = await takeRounds(world.size(pairs, 2), {
    ours: (round) => {
      world.say(`ops: watched and not, round ${round + 1}`);
      return whileWatched();
    },
    floor: () => segments.take(),
  });
  if (views === 0) throw new Error("no view arrived, so nothing was watched");
  const note =
    `The column of the floor is the same node while nobody watches. Each round: ${work.searches} searches over ${connections} connections while ${work.pushes} batches of ${batchOf} records are published. ` +
    `${load.active.toLocaleString("en")} actors are in memory; an overview, an actor that changes all the time and a push are open, of which ${(views / (watchedMs / 1_000)).toFixed(1)} views a second arrived.`;
  const figure = (name: string, unit: string, of: (segment: Segment) => number, noted: string): Figure => {
    const sides = rounds.map(({ ours, floor }) => ({ ours: of(ours), floor: of(floor) }));
    return {
      ...{ section: "ops", name, unit, ...compare(sides), goal: { atLeast: 0.98 } },
      note: `${noted}${spread(sides)}`,
    };
  };
  const perSecond = work.searches + work.pushes * batchOf;
  return [
    idle,
    figure("throughput while watched", "/s", ({ elapsedMs }) => (perSecond / elapsedMs) * 1_000, note),
    figure(
      "throughput by processor time while watched",
      "/s",
      ({ cpu }) => (perSecond / cpu.allMs) * 1_000,
      "Searches and records for each second of processor time of the node, all threads together.",
    ),
    figure(
      "throughput by processor time of the main thread while watched",
      "/s",
      ({ cpu }) => (perSecond / cpu.mainMs) * 1_000,
      "The same of the main thread, which does all the watching.",
    ),
  ];
}

const windowMs = 5_000;
const stirMs = 100;
const coreShareMax = 2;

/** What watching takes of a node with nothing else to do than to change what is watched: no other work blurs it. */
async function measureIdle(filled: FilledNode, given: Watched): Promise<Figure> {
  const { world, actor, node } = filled;
  const { child } = node;
  const window = async (): Promise<number> => {
    await touch(filled);
    const before = await child.call<CpuTimes>("cpuTimes", null);
    const startedMs = performance.now();
    await delay(world.size(windowMs, 2_000));
    const { allMs } = cpuBetween(before, await child.call<CpuTimes>("cpuTimes", null));
    return (allMs / (performance.now() - startedMs)) * 100;
  };
  world.say("ops: what watching takes of an idle node");
  await child.call("stirLedgers", stirMs);
  const watched = async (): Promise<number> => {
    await using _watchers = await watchPages({ ...given, actor });
    return await window();
  };
  await watched();
  const rounds = await takeRounds(world.size(6, 1), { ours: watched, floor: window });
  await child.call("stopStirring", null);
  const shares = rounds.map(({ ours, floor }) => ours - floor);
  return {
    ...{ section: "ops", name: "processor time that watching takes", unit: "% of a core" },
    ...{ ours: median(shares), floor: null, ratio: null, goal: { atMost: coreShareMax } },
    note:
      `All threads of the node while an overview, an actor and a push are open, less those while nothing is; the actor and the counts change ${1_000 / stirMs} times a second, and nothing else happens. ` +
      `${rounds.length} rounds of ${windowMs / 1_000} seconds each, from ${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)}.`,
  };
}

/** Where half of the rounds were. */
function spread(pairs: readonly { readonly ours: number; readonly floor: number }[]): string {
  const ratios = pairs.map(({ ours, floor }) => ours / floor).sort((a, b) => a - b);
  const at = (share: number): string => (ratios[Math.floor(ratios.length * share)] ?? Number.NaN).toFixed(3);
  return ` Half of the ${ratios.length} rounds are from ${at(0.25)} to ${at(0.75)}.`;
}

/** The path of the actor in memory with the most commits: the company's, which notes every nonce. */
async function busiest({ node: { sandbox } }: FilledNode): Promise<string> {
  const answer = await fetch(`${sandbox.ops_url}/ops/actors?kind=integration-key&limit=200`);
  const { actors } = (await answer.json()) as {
    readonly actors: readonly { readonly kind: string; readonly id: string; readonly head: number }[];
  };
  const [first] = [...actors].sort((a, b) => b.head - a.head);
  if (first === undefined) throw new Error("there is no actor to watch");
  return `${first.kind}/${encodeURIComponent(first.id)}`;
}

class Segments {
  readonly #filled: FilledNode;
  readonly #work: Work;
  #searched = 0;
  #published: number;

  constructor(filled: FilledNode, work: Work) {
    this.#filled = filled;
    this.#work = work;
    this.#published = filled.products;
  }

  /** Returns the id of a push. */
  async warmUp(): Promise<string> {
    await this.take();
    await this.take();
    const { node } = this.#filled;
    const prepared = await preparePush(node.sandbox, { first: this.#published, count: 1 });
    this.#published += 1;
    await push(node, prepared);
    return prepared.batch.push_id;
  }

  async take(): Promise<Segment> {
    const { node } = this.#filled;
    const { child, sandbox } = node;
    const searches = await makeRequests(sandbox.base_url, companyOf(sandbox), this.#nextSearches());
    const pushes: Awaited<ReturnType<typeof preparePush>>[] = [];
    for (let each = 0; each < this.#work.pushes; each += 1) {
      pushes.push(await preparePush(sandbox, { first: this.#published, count: batchOf }));
      this.#published += batchOf;
    }
    await touch(this.#filled);
    const before = await child.call<CpuTimes>("cpuTimes", null);
    const startedMs = performance.now();
    const publishing = async (): Promise<void> => {
      for (const each of pushes) await push(node, each);
    };
    await Promise.all([sendAll(targetOf(sandbox.base_url), searches, connections), publishing()]);
    const elapsedMs = performance.now() - startedMs;
    return { elapsedMs, cpu: cpuBetween(before, await child.call<CpuTimes>("cpuTimes", null)) };
  }

  #nextSearches(): readonly RequestPlan[] {
    return Array.from({ length: this.#work.searches }, (): RequestPlan => {
      const kind = queryKinds[this.#searched % queryKinds.length];
      const body = Buffer.from(JSON.stringify(kind?.body(Math.floor(this.#searched / queryKinds.length))));
      this.#searched += 1;
      return { method: "POST", path: "/v1/search", tag: "svc-retrieval", body };
    });
  }
}
