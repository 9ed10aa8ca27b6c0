// What watching costs a node: the same searches and pushes while browsers watch it and while nobody does, in turn.

import { setTimeout as delay } from "node:timers/promises";
import { newSearches } from "../catalogue.ts";
import { compareBy, count, figure, type Measured, median, middleHalf, takeRounds } from "../figures.ts";
import { sendAll } from "../load.ts";
import { merchantOf } from "../parties.ts";
import { type Push, preparePush, productRanges, publish } from "../publishing.ts";
import { makeRequests } from "../requests.ts";
import { inLanes, type Spent } from "../work.ts";
import type { OpenNode, World } from "../world.ts";
import type { LedgerLoad } from "./fill-ledgers.ts";

export const ledgers = "ops/fill-ledgers.ts";

/** A node with many actors, as the figures of the operators' surface need it. */
export interface FilledNode {
  readonly world: World;
  readonly node: OpenNode;
  readonly load: LedgerLoad;
  /** The path of one of the accounts in memory. */
  readonly actor: string;
  readonly products: number;
}

/** Uses the actors in memory, so that they stay there: what had left would make every figure better than it is. */
export async function touch({ node: { child, sandbox }, load }: FilledNode): Promise<void> {
  await child.call(ledgers, "touch");
  const answer = await fetch(`${sandbox.ops_url}/ops/nodes`);
  const { nodes } = (await answer.json()) as {
    readonly nodes: readonly { readonly load: { readonly active: number } }[];
  };
  const found = nodes[0]?.load.active ?? 0;
  if (found < load.active) throw new Error(`${found} actors are in memory`);
}

const connections = 16;
const batchOf = 200;
const pairs = 16;

export async function measureWatching(filled: FilledNode): Promise<readonly Measured[]> {
  const { world, load, node } = filled;
  const { ops_url: opsUrl } = node.sandbox;
  const work = { searches: world.size(600, 150), pushes: world.size(2, 1) };
  const segments = segmentsOf(filled, work);
  const pushId = await segments.warmUp();
  const push = { businessUuid: merchantOf(node.sandbox).uuid, pushId };
  const watched: Watched = { opsUrl, actor: await busiest(opsUrl), push };
  const idle = await measureIdle(filled, watched);
  let [views, watchedMs] = [0, 0];
  const rounds = await takeRounds<Spent, Spent>(world.size(pairs, 2), {
    ours: async (round) => {
      world.say(`ops: watched and not, round ${round + 1}`);
      await using watchers = await watchPages(watched);
      const before = watchers.views;
      const segment = await segments.take();
      views += watchers.views - before;
      watchedMs += segment.elapsedMs;
      return segment;
    },
    floor: () => segments.take(),
  });
  if (views === 0) throw new Error("no view arrived, so nothing was watched");
  const done = work.searches + work.pushes * batchOf;
  const throughput = (by: string, msOf: (segment: Spent) => number, note: string): Measured => {
    const rateOf = (segment: Spent): number => (done / msOf(segment)) * 1_000;
    const spread = ` Half of the ${rounds.length} rounds are from ${middleHalf(rounds, rateOf, 3)}.`;
    const rates = compareBy(rounds, rateOf);
    return figure(`throughput${by} while watched`, "/s", rates, { atLeast: 0.98 }, note + spread);
  };
  const note =
    `The column of the floor is the same node while nobody watches. Each round: ${work.searches} searches over ${connections} connections while ${work.pushes} batches of ${batchOf} records are published. ` +
    `${count(load.active)} actors are in memory; an overview, an actor that changes all the time and a push are open, of which ${(views / (watchedMs / 1_000)).toFixed(1)} views a second arrived.`;
  const cpuNote = "Searches and records for each second of processor time of the node, all threads together.";
  const mainNote = "The same of the main thread, which does all the watching.";
  return [
    idle,
    throughput("", ({ elapsedMs }) => elapsedMs, note),
    throughput(" by processor time", ({ cpu }) => cpu.allMs, cpuNote),
    throughput(" by processor time of the main thread", ({ cpu }) => cpu.mainMs, mainNote),
  ];
}

const windowMs = 5_000;
const stirMs = 100;
const coreShareMax = 2;

/** What watching takes of a node with nothing else to do than to change what is watched: no other work blurs it. */
async function measureIdle(filled: FilledNode, given: Watched): Promise<Measured> {
  const { world, actor, node } = filled;
  const window = async (): Promise<number> => {
    await touch(filled);
    const { elapsedMs, cpu } = await node.child.spend(() => delay(world.size(windowMs, 2_000)));
    return (cpu.allMs / elapsedMs) * 100;
  };
  world.say("ops: what watching takes of an idle node");
  await node.child.call(ledgers, "stir", stirMs);
  const watched = async (): Promise<number> => {
    await using _watchers = await watchPages({ ...given, actor });
    return await window();
  };
  await watched();
  const rounds = await takeRounds(world.size(6, 1), { ours: watched, floor: window });
  await node.child.call(ledgers, "stopStirring");
  const shares = rounds.map(({ ours, floor }) => ours - floor);
  const note =
    `All threads of the node while an overview, an actor and a push are open, less those while nothing is; the actor and the counts change ${1_000 / stirMs} times a second, and nothing else happens. ` +
    `${rounds.length} rounds of ${windowMs / 1_000} seconds each, from ${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)}.`;
  const name = "processor time that watching takes";
  return figure(name, "% of a core", median(shares), { atMost: coreShareMax }, note);
}

/** The path of the actor in memory with the most commits: the company's, which notes every nonce. */
async function busiest(opsUrl: string): Promise<string> {
  const answer = await fetch(`${opsUrl}/ops/actors?kind=integration-key&limit=200`);
  const { actors } = (await answer.json()) as {
    readonly actors: readonly { readonly kind: string; readonly id: string; readonly head: number }[];
  };
  const [first] = actors.toSorted((a, b) => b.head - a.head);
  if (first === undefined) throw new Error("there is no actor to watch");
  return `${first.kind}/${encodeURIComponent(first.id)}`;
}

/** Takes segments of work, each of as many searches and pushes; the warm-up returns the id of a push. */
function segmentsOf(filled: FilledNode, work: { readonly searches: number; readonly pushes: number }) {
  const { node, products } = filled;
  const searches = newSearches();
  const next = productRanges(products);
  const prepare = (records: number) => preparePush(node.businessUrl, merchantOf(node.sandbox), next(records));
  const take = async (): Promise<Spent> => {
    const requests = await makeRequests(node.baseUrl, node.caller, searches(work.searches));
    const pushes = await Array.fromAsync({ length: work.pushes }, () => prepare(batchOf));
    await touch(filled);
    const publishAll = () => inLanes(1, pushes.length, (at) => publish(node, pushes[at] as Push));
    return await node.child.spend(() =>
      Promise.all([sendAll(node.target, requests, connections), publishAll()]),
    );
  };
  const warmUp = async (): Promise<string> => {
    await take();
    await take();
    const prepared = await prepare(1);
    await publish(node, prepared);
    return prepared.pushId;
  };
  return { take, warmUp };
}

interface Watched {
  readonly opsUrl: string;
  /** `kind/id`, percent-encoded. */
  readonly actor: string;
  readonly push: { readonly businessUuid: string; readonly pushId: string };
}

/** How often an overview reads what is not sent to it. */
const pollMs = 3_000;

interface View {
  readonly attention?: unknown;
  readonly head?: number;
}

/**
 * Watches a node as browsers do in which an overview, one actor and one push are open: they follow what is live, and read what
 * their pages read. They cost the machine less than browsers, and the node as much.
 */
async function watchPages({ opsUrl, actor, push }: Watched) {
  const { businessUuid, pushId } = push;
  const pushActor = `push/${encodeURIComponent(`${businessUuid}.${pushId}`)}`;
  const stop = new AbortController();
  const { signal } = stop;
  const following: Promise<void>[] = [];
  const watching = {
    views: 0,
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(polling);
      stop.abort();
      await Promise.allSettled(following);
    },
  };
  const read = (...paths: readonly string[]): void => {
    for (const path of paths)
      fetch(opsUrl + path, { signal }).then(
        (answer) => answer.arrayBuffer().catch(() => {}),
        () => {},
      );
  };
  /** Follows a view, and reads the path whenever what `of` says of it changes. Resolves once the first has arrived. */
  const follow = async (name: string, path: string, of: (view: View) => unknown): Promise<void> => {
    const answer = await fetch(`${opsUrl}/ops/live/${name}`, { signal });
    if (answer.status !== 200 || answer.body === null) throw new Error(`${name} answers ${answer.status}`);
    const first = Promise.withResolvers<void>();
    let last: unknown = null;
    const views = readViews(answer.body as ReadableStream<Uint8Array>, (view) => {
      watching.views += 1;
      first.resolve();
      const said = of(view);
      if (said !== last) read(path);
      last = said;
    });
    views.catch(first.reject);
    following.push(views);
    await first.promise;
  };
  const poll = (): void => read("/ops/nodes", "/ops/attention");
  const polling = setInterval(poll, pollMs);
  await Promise.all([
    follow("counts", "/ops/attention", ({ attention }) => JSON.stringify(attention)),
    follow(`actors/${actor}`, `/ops/actors/${actor}/journal`, ({ head }) => head),
    follow(`actors/${pushActor}`, `/ops/actors/${pushActor}/journal`, ({ head }) => head),
  ]);
  poll();
  return watching;
}

async function readViews(body: ReadableStream<Uint8Array>, note: (view: View) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const [, data] = /^event: \w+\ndata: (.*)$/s.exec(event) ?? [];
      if (data !== undefined) note(JSON.parse(data) as View);
    }
  }
}
