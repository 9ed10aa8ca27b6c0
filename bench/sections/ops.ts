// The operators' surface of a node with many actors: how soon its pages are painted, what live updates leave behind, and what
// watching costs the node.

import { setTimeout as delay } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { findBrowser } from "../../tools/browser.ts";
import { count, figure, type Measured, median } from "../figures.ts";
import { type FilledNode, ledgers, measureWatching, touch } from "../ops/watching.ts";
import { msOf } from "../work.ts";
import type { World } from "../world.ts";

const goal = { atMost: 1_000 };
const megabyte = 1_000_000;

export async function measureOps(world: World): Promise<readonly Measured[]> {
  const products = world.size(10_000, 2_000);
  await using node = await world.openNode(await world.filledHome(products));
  const load = { known: world.size(100_000, 5_000), active: world.size(5_000, 500) };
  world.say(`ops: making ${load.known} actors`);
  const { kind, id } = await node.child.call(ledgers, "fill", load);
  const filled: FilledNode = { world, node, load, actor: `${kind}/${id}`, products };
  const about = `${count(load.known)} known accounts, ${count(load.active)} of them in memory`;
  const list = "/ops/actors?scope=known&kind=ledger&limit=200";
  return [
    ...(await measurePages(filled, about)),
    await measureRead(filled, about, "a page of the actors in memory", "/ops/actors?limit=200"),
    await measureRead(filled, about, "a page of the known actors of a kind", list),
    ...(await measureWatching(filled)),
  ];
}

async function measurePages(filled: FilledNode, about: string): Promise<readonly Measured[]> {
  const executablePath = findBrowser();
  if (executablePath === null) {
    filled.world.say("NOT MEASURED: pages, because there is no Chromium");
    return [];
  }
  const pages = {
    "the overview": "/ui/",
    "a list of the actors in memory": "/ui/actors",
    "a list of the known actors of a kind": "/ui/actors?scope=known&kind=ledger",
    "one actor": `/ui/actors/${filled.actor}`,
    "the nodes": "/ui/nodes",
  };
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const paints = await Array.fromAsync(Object.entries(pages), async ([name, path]) => {
      const { world, node } = filled;
      world.say(`ops: first paints of ${name}`);
      await touch(filled);
      const url = node.sandbox.ops_url + path;
      const tookMs = await Array.fromAsync({ length: world.size(6, 3) }, () => firstPaintMs(browser, url));
      const note = `In Chromium, with nothing in its cache; ${about}. The slowest of ${tookMs.length} loads took ${Math.max(...tookMs).toFixed(0)} ms and the first of them ${tookMs[0]?.toFixed(0)} ms.`;
      return figure(`first contentful paint of ${name}`, "ms", median(tookMs), goal, note);
    });
    return [...paints, ...(await measureGrowth(filled, browser))];
  } finally {
    await browser.close();
  }
}

/** Waits for it, because a page may have loaded before it is painted. */
const firstPaint = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [entry] = list.getEntriesByName("first-contentful-paint");
    if (entry !== undefined) resolve(entry.startTime);
  }).observe({ type: "paint", buffered: true });
})`;
const viewport = { width: 1280, height: 900 };

/** Milliseconds from the navigation until the browser paints the first content of the page; nothing is in its cache. */
async function firstPaintMs(browser: Browser, url: string): Promise<number> {
  await using page = await browser.newPage({ viewport });
  const answer = await page.goto(url);
  if (answer?.status() !== 200) throw new Error(`${url} answers ${answer?.status()}`);
  return (await page.evaluate(firstPaint)) as number;
}

async function measureRead(filled: FilledNode, about: string, name: string, path: string): Promise<Measured> {
  const { world, node } = filled;
  await touch(filled);
  const read = async (): Promise<void> => {
    const answer = await fetch(node.sandbox.ops_url + path);
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`);
  };
  const tookMs = await Array.fromAsync({ length: world.size(30, 5) }, () => msOf(read));
  const note = `${about}; 200 rows, each with why it waits. The slowest took ${Math.max(...tookMs).toFixed(0)} ms.`;
  return figure(name, "ms", median(tookMs), goal, note);
}

/** How often the views follow, and what they show changes. An account takes 5,000 entries a month, which a run must not reach. */
const everyMs = 10;
const stirMs = 20;
/** A view has some kilobytes, and so has what would be left of each. Less is the noise of compilers and caches. */
const perUpdateMax = 1_000;
/** The first of them fills what is bounded: caches, compiled code, and rings of recent events. */
const stretches = 4;
const stretchMs = 15_000;
/** So long nothing changes before a reading, so that no page is in the middle of an update. */
const restMs = 1_000;

interface Held {
  /** Bytes of the page's scripts and of its document, once what nobody needs has been collected. */
  readonly bytes: number;
  readonly nodes: number;
  readonly listeners: number;
  readonly updates: number;
}

interface Reading {
  readonly node: number;
  readonly overview: Held;
  readonly actor: Held;
}

/** What live updates leave behind: in the heap of the node, and in the pages that follow it. */
async function measureGrowth(filled: FilledNode, browser: Browser): Promise<readonly Measured[]> {
  const { world, actor } = filled;
  const { child } = filled.node;
  world.say("ops: live updates");
  await touch(filled);
  const url = await child.call("node-surfaces.ts", "openQuickSurface", everyMs);
  await using overview = await followPage(browser, `${url}/ui/`, "counts");
  await using one = await followPage(browser, `${url}/ui/actors/${actor}`, "actor");
  const readings = await Array.fromAsync({ length: stretches }, async (): Promise<Reading> => {
    await touch(filled);
    await child.call(ledgers, "stir", stirMs);
    await delay(world.size(stretchMs, 2_000));
    await child.call(ledgers, "stopStirring");
    await delay(restMs);
    const node = await child.call("work.ts", "heldBytes");
    return { node, overview: await overview.held(), actor: await one.held() };
  });
  const [first, last] = [readings[0] as Reading, readings.at(-1) as Reading];
  const grown = (name: string, of: (reading: Reading) => number, updates: number, more: string): Measured => {
    const all = readings.map((each) => (of(each) / megabyte).toFixed(2)).join(", ");
    const note = `${count(updates)} updates. Megabytes in use, in the order of the readings: ${all}.${more}`;
    const [what, perUpdate] = [`growth of ${name} with live updates`, (of(last) - of(first)) / updates];
    return figure(what, "B/update", perUpdate, { atMost: perUpdateMax }, note);
  };
  const sent = (which: "overview" | "actor"): number => last[which].updates - first[which].updates;
  const ofPage = (name: string, which: "overview" | "actor"): Measured => {
    const list = (what: keyof Held): string => readings.map((each) => each[which][what]).join(", ");
    const more = ` Nodes of the document: ${list("nodes")}; listeners: ${list("listeners")}.`;
    return grown(`the heap of ${name}`, (reading) => reading[which].bytes, sent(which), more);
  };
  const aboutNode =
    " An overview and one actor are open in Chromium, and all changes; what nobody needs is collected before each reading.";
  return [
    grown("the node's heap", ({ node }) => node, sent("overview") + sent("actor"), aboutNode),
    ofPage("the overview's page", "overview"),
    ofPage("an actor's page", "actor"),
  ];
}

/** Opens a page that follows the node, and counts the views that its browser receives. */
async function followPage(browser: Browser, url: string, event: string) {
  const page = await browser.newPage({ viewport });
  const session = await page.context().newCDPSession(page);
  let updates = 0;
  session.on("Network.eventSourceMessageReceived", ({ eventName }) => {
    if (eventName === event) updates += 1;
  });
  // The browser would keep what it receives, in case somebody asks for it.
  await session.send("Network.enable", { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
  await page.goto(url);
  const live = page.locator("[data-live=on]");
  await live.waitFor();
  const held = async (): Promise<Held> => {
    if ((await live.count()) === 0) throw new Error("the page does not follow any more");
    // What is collected first may be what kept something else.
    await session.send("HeapProfiler.collectGarbage");
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize, embedderHeapUsedSize } = await session.send("Runtime.getHeapUsage");
    const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
    return { bytes: usedSize + embedderHeapUsedSize, nodes, listeners: jsEventListeners, updates };
  };
  return { held, [Symbol.asyncDispose]: () => page.close() };
}
