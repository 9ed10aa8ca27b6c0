// One machine on the embedded store: how soon it answers after its start, and every kind of request with as many records as it is
// meant for. The latter is not part of a run that names no sections, because the home alone takes as long as everything else.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts, surfacePorts } from "../../tools/free-ports.ts";
import { startProcess } from "../../tools/process.ts";
import { queryKinds, searchPlan } from "../catalogue.ts";
import { compare, count, figure, type Measured, takeRounds } from "../figures.ts";
import { refused, sendOne } from "../load.ts";
import { makeRequest } from "../requests.ts";
import { msOf } from "../work.ts";
import type { OpenNode, World } from "../world.ts";
import { measureFetchOf } from "./fetch.ts";
import { measurePushInto } from "./push.ts";
import { measureSearchOf } from "./search.ts";

const pollMs = 5;
const patienceMs = 300_000;

export async function measureStart(world: World): Promise<readonly Measured[]> {
  const prepared = await world.seededHome();
  const rounds = world.size(5, 1);
  return [
    await measureStartOf("first answer, prepared home", rounds, () => prepared),
    await measureStartOf("first answer, empty home", rounds, () => world.path("empty")),
  ];
}

async function measureStartOf(name: string, rounds: number, home: () => string): Promise<Measured> {
  const floor = () => msOf(() => startProcess(process.execPath, ["-e", "0"]).ended);
  const compared = compare(await takeRounds(rounds, { ours: () => firstAnswerMs(home()), floor }));
  const note = "`svc start` until GET /healthz answers, against `node -e 0` from start to end.";
  return figure(name, "ms", compared, null, note);
}

async function firstAnswerMs(home: string): Promise<number> {
  const portBase = await freePorts(surfacePorts);
  const url = `http://127.0.0.1:${portBase + 4}/healthz`;
  const startedMs = performance.now();
  const started = startProcess(process.execPath, [
    "cli/main.ts",
    "start",
    "--home",
    home,
    "--port-base",
    String(portBase),
  ]);
  try {
    while (performance.now() - startedMs < patienceMs) {
      const answer = await fetch(url).catch(() => null);
      if (answer?.status === 200) return performance.now() - startedMs;
      await delay(pollMs);
    }
    throw new Error("the node did not answer");
  } finally {
    started.signal("SIGTERM");
    await started.ended;
  }
}

const megabyte = 1_000_000;

export async function measureMillion(world: World): Promise<readonly Measured[]> {
  const products = world.size(1_000_000, 20_000);
  const home = await world.filledHome(products);
  const disk = await diskOf(home, products);
  const rounds = world.size(3, 1);
  const start = await measureStartOf("start: first answer", rounds, () => home);
  const asked = await askNode(world, { home, products, rounds });
  const pushed = await measurePushInto(world, rounds, async () => home, products);
  return [{ ...start, goal: { atMost: 300 } }, ...asked, ...pushed.map(named("push")), disk];
}

function named(section: string): (measured: Measured) => Measured {
  return (measured) => ({ ...measured, name: `${section}: ${measured.name}` });
}

async function askNode(
  world: World,
  of: { readonly home: string; readonly products: number; readonly rounds: number },
): Promise<readonly Measured[]> {
  const { home, products } = of;
  await using node = await world.openNode(home);
  const first = await firstSearch(node);
  const searches = await measureSearchOf(world, node, { ...of, each: world.size(180, 60) });
  // Spread over the whole catalogue, so that reads have no locality.
  const fetched = Math.min(products, world.size(80_000, 20_000));
  const numbers = Array.from({ length: fetched }, (_, index) => Math.floor((index * products) / fetched));
  const fetches = await measureFetchOf(world, node, numbers);
  return [first, ...searches.map(named("search")), named("fetch")(fetches), ...(await memoryOf(node))];
}

/** The first search with a text since the start: until then no texts are in memory. */
async function firstSearch({ baseUrl, caller, target }: OpenNode): Promise<Measured> {
  const request = await makeRequest(baseUrl, caller, searchPlan(queryKinds[0]?.body(0) ?? {}));
  const answer = await sendOne(target, request);
  if (answer.status !== 200) throw refused("answer", answer);
  const note =
    "What is kept of every row's texts is read then, and the terms asked for, by the thread that searches.";
  const name = "first search with a text after the start";
  return figure(name, "ms", answer.tookMs, { atMost: 10_000 }, note);
}

async function memoryOf({ child }: OpenNode): Promise<readonly Measured[]> {
  const highest = await child.memoryBytes("VmHWM");
  const own = await child.memoryBytes("RssAnon");
  if (highest === null || own === null) return [];
  const note = `${(own / megabyte).toFixed(0)} MB of it the process's own in the end; the rest are pages of the index file, which the system takes back when it needs them.`;
  const name = "highest resident memory after all searches and fetches";
  return [figure(name, "MB", highest / megabyte, { atMost: 2_048 }, note)];
}

async function diskOf(home: string, products: number): Promise<Measured> {
  const sizeOf = async (name: string): Promise<number> => (await stat(join(home, name))).size;
  const [store, rows] = [await sizeOf("store.db"), await sizeOf("rows.db")];
  const inMegabytes = (bytes: number): string => `${(bytes / megabyte).toFixed(0)} MB`;
  const note = `store.db ${inMegabytes(store)}, rows.db ${inMegabytes(rows)}, for ${count(products)} records.`;
  return figure("disk for each record", "kB", (store + rows) / products / 1_000, null, note);
}
