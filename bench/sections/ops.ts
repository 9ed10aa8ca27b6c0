// The operators' surface of a node with many actors: how soon its pages are painted, what live updates leave behind, and what
// watching costs the node.

import type { Browser } from "playwright-core";
import { firstPaintMs, openBrowser } from "../ops/browser.ts";
import type { LedgerLoad } from "../ops/fill-ledgers.ts";
import { aboutOf, type FilledNode, fillNode, touch } from "../ops/filled-node.ts";
import { measureGrowth } from "../ops/growth.ts";
import { measureWatching } from "../ops/watching.ts";
import type { Figure } from "../report.ts";
import { median } from "../rounds.ts";
import type { World } from "../world.ts";

const secondMs = 1_000;

export async function measureOps(world: World): Promise<readonly Figure[]> {
  const products = world.size(10_000, 2_000);
  await using node = await world.openNode(await world.filledHome(products));
  const load: LedgerLoad = { known: world.size(100_000, 5_000), active: world.size(5_000, 500) };
  const filled = await fillNode(world, node, { products, load });
  const figures: Figure[] = [];
  const browser = await openBrowser();
  if (browser === null) world.say("NOT MEASURED: pages, because there is no Chromium");
  else
    try {
      figures.push(...(await paints(filled, browser)), ...(await measureGrowth(filled, browser)));
    } finally {
      await browser.close();
    }
  figures.push(
    await reads(filled, "a page of the actors in memory", "/ops/actors?limit=200"),
    await reads(
      filled,
      "a page of the known actors of a kind",
      "/ops/actors?scope=known&kind=ledger&limit=200",
    ),
    ...(await measureWatching(filled)),
  );
  return figures;
}

async function paints(filled: FilledNode, browser: Browser): Promise<readonly Figure[]> {
  const { world, node, load, actor } = filled;
  const pages = [
    ["the overview", "/ui/"],
    ["a list of the actors in memory", "/ui/actors"],
    ["a list of the known actors of a kind", "/ui/actors?scope=known&kind=ledger"],
    ["one actor", `/ui/actors/${actor}`],
    ["the nodes", "/ui/nodes"],
  ] as const;
  const figures: Figure[] = [];
  for (const [name, path] of pages) {
    world.say(`ops: first paints of ${name}`);
    await touch(filled);
    const tookMs: number[] = [];
    for (let turn = 0; turn < world.size(6, 3); turn += 1)
      tookMs.push(await firstPaintMs(browser, node.sandbox.ops_url + path));
    figures.push({
      ...{ section: "ops", name: `first contentful paint of ${name}`, unit: "ms", ours: median(tookMs) },
      ...{ floor: null, ratio: null, goal: { atMost: secondMs } },
      note: `In Chromium, with nothing in its cache; ${aboutOf(load)}. The slowest of ${tookMs.length} loads took ${Math.max(...tookMs).toFixed(0)} ms and the first of them ${tookMs[0]?.toFixed(0)} ms.`,
    });
  }
  return figures;
}

async function reads(filled: FilledNode, name: string, path: string): Promise<Figure> {
  const { world, node, load } = filled;
  await touch(filled);
  const tookMs: number[] = [];
  for (let round = 0; round < world.size(30, 5); round += 1) {
    const startedMs = performance.now();
    const answer = await fetch(node.sandbox.ops_url + path);
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`);
    tookMs.push(performance.now() - startedMs);
  }
  return {
    ...{ section: "ops", name, unit: "ms", ours: median(tookMs) },
    ...{ floor: null, ratio: null, goal: { atMost: secondMs } },
    note: `${aboutOf(load)}; 200 rows, each with why it waits. The slowest took ${Math.max(...tookMs).toFixed(0)} ms.`,
  };
}
