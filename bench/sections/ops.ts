// The operators' surface of a node with many actors: how soon its pages and lists are there, and what watching costs the node.

import { sendAll } from "../load.ts";
import type { LedgerLoad } from "../ops/fill-ledgers.ts";
import { watchOverview } from "../ops/watch-overview.ts";
import { productId } from "../products.ts";
import type { Figure } from "../report.ts";
import { makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { companyOf, merchantOf, type OpenNode, type World } from "../world.ts";

const connections = 64;
const secondMs = 1_000;

export async function measureOps(world: World): Promise<readonly Figure[]> {
  const products = world.size(20_000, 2_000);
  await using node = await world.openNode(await world.filledHome(products));
  const load: LedgerLoad = { known: world.size(100_000, 5_000), active: world.size(5_000, 500) };
  world.say(`ops: making ${load.known} actors`);
  await node.child.call("fillLedgers", load);
  const figures = [
    await reads(world, node, load, {
      name: "first paint of the overview",
      paths: await overviewOf(node),
      note: "The page as it is complete without its script, and then its stylesheet, each read whole by one client; what a browser takes to lay it out is not counted.",
    }),
    await reads(world, node, load, {
      name: "a page of the actors in memory",
      paths: ["/ops/actors?limit=200"],
      note: "200 rows, each with why it waits.",
    }),
    await reads(world, node, load, {
      name: "a page of the known actors of a kind",
      paths: ["/ops/actors?scope=known&kind=ledger&limit=200"],
      note: "200 rows, most of them read from the store.",
    }),
    await watching(world, node, load, products),
  ];
  return figures;
}

/** Uses the actors in memory, so that they stay there: what had left would make every figure better than it is. */
async function touch({ child, sandbox }: OpenNode, { active }: LedgerLoad): Promise<void> {
  await child.call("touchLedgers", null);
  const answer = await fetch(`${sandbox.ops_url}/ops/counts`);
  const { kinds } = (await answer.json()) as {
    readonly kinds: readonly { readonly kind: string; readonly active: number }[];
  };
  const found = kinds.find(({ kind }) => kind === "ledger")?.active ?? 0;
  if (found < active) throw new Error(`${found} accounts are in memory`);
}

/** The page and what it needs before it is shown. */
async function overviewOf({ sandbox }: OpenNode): Promise<readonly string[]> {
  const page = await (await fetch(`${sandbox.ops_url}/ui/`)).text();
  const [, style] = /href="(\/ui\/assets\/style[^"]+)"/.exec(page) ?? [];
  if (style === undefined) throw new Error("the overview has no stylesheet");
  return ["/ui/", style];
}

interface Reads {
  readonly name: string;
  /** Read one after another. */
  readonly paths: readonly string[];
  readonly note: string;
}

async function reads(
  world: World,
  node: OpenNode,
  load: LedgerLoad,
  { name, paths, note }: Reads,
): Promise<Figure> {
  const { known, active } = load;
  const { ops_url } = node.sandbox;
  await touch(node, load);
  const tookMs: number[] = [];
  for (let round = 0; round < world.size(30, 5); round += 1) {
    const startedMs = performance.now();
    for (const path of paths) {
      const answer = await fetch(ops_url + path);
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`);
    }
    tookMs.push(performance.now() - startedMs);
  }
  return {
    ...{ section: "ops", name, unit: "ms", ours: median(tookMs) },
    ...{ floor: null, ratio: null, goal: { atMost: secondMs } },
    note: `${known.toLocaleString("en")} known accounts, ${active.toLocaleString("en")} of them in memory; the slowest took ${Math.max(...tookMs).toFixed(0)} ms. ${note}`,
  };
}

async function watching(world: World, node: OpenNode, load: LedgerLoad, products: number): Promise<Figure> {
  const { child, sandbox } = node;
  const businessUuid = merchantOf(sandbox).uuid;
  const localIds = Array.from({ length: products }, (_, index) => productId(index));
  const ids = await child.call<readonly string[]>("recordIds", { businessUuid, kind: "products", localIds });
  const plans = ids.map(
    (id): RequestPlan => ({ method: "GET", path: `/v1/records/${id}`, tag: "svc-retrieval" }),
  );
  const caller = companyOf(sandbox);
  const each = world.size(10_000, 1_000);
  const rate = async (): Promise<number> => {
    const some = Array.from({ length: each }, (_, index) => plans[index % plans.length] as RequestPlan);
    const requests = await makeRequests(sandbox.base_url, caller, some);
    await touch(node, load);
    return (each / (await sendAll(targetOf(sandbox.base_url), requests, connections)).elapsedMs) * 1_000;
  };
  let views = 0;
  const watched = async (): Promise<number> => {
    await using watcher = await watchOverview(sandbox.ops_url);
    const found = await rate();
    views += watcher.views();
    return found;
  };
  await rate();
  const rounds = await takeRounds(world.size(15, 1), { ours: watched, floor: rate });
  if (views === 0) throw new Error("no view arrived, so nothing was watched");
  return {
    ...{ section: "ops", name: `fetches while the overview is watched, ${connections} connections` },
    ...{ unit: "answers/s", ...compare(rounds), goal: { atLeast: 0.98 } },
    note: `The column of the floor is the same node while nobody watches. ${load.active.toLocaleString("en")} accounts are in memory and counted for the view; ${views} views arrived.`,
  };
}
