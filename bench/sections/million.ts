// One machine on the embedded store with as many records as it is meant for: every kind of request, and what it costs.
// Not part of a run that names no sections, because the home alone takes as long as everything else.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { sendOne } from "../load.ts";
import { queryKinds } from "../queries.ts";
import type { Figure, Goal } from "../report.ts";
import { makeRequest, targetOf } from "../requests.ts";
import { companyOf, type OpenNode, type World } from "../world.ts";
import { measureFetchOf } from "./fetch.ts";
import { measurePushInto } from "./push.ts";
import { measureSearchOf } from "./search.ts";
import { measureStartOf } from "./start.ts";

const searchRounds = 3;
const pushRounds = 3;
const startRounds = 3;
const megabyte = 1_000_000;
const files = ["store.db", "rows.db"] as const;

export async function measureMillion(world: World): Promise<readonly Figure[]> {
  const products = world.size(1_000_000, 20_000);
  const home = await world.filledHome(products);
  const disk = await diskOf(home, products);
  const start = await measureStartOf({
    name: "first answer",
    home: () => home,
    rounds: world.size(startRounds, 1),
  });
  const asked = await askNode(world, { home, products });
  const pushed = await measurePushInto(world, world.size(pushRounds, 1), { home, products });
  const figures = [{ ...start, goal: { atMost: 300 } }, ...asked, ...pushed, disk];
  return figures.map(({ section, name, ...rest }) => ({
    ...rest,
    section: "million",
    name: section === "million" ? name : `${section}: ${name}`,
  }));
}

async function askNode(
  world: World,
  { home, products }: { readonly home: string; readonly products: number },
): Promise<readonly Figure[]> {
  await using node = await world.openNode(home);
  const first = await firstSearch(node);
  const { p50, p99, throughput } = await measureSearchOf(world, node, {
    home,
    products,
    rounds: world.size(searchRounds, 1),
    each: world.size(180, 60),
  });
  // Spread over the whole catalogue, so that reads have no locality.
  const fetched = Math.min(products, world.size(80_000, 20_000));
  const numbers = Array.from({ length: fetched }, (_, index) => Math.floor((index * products) / fetched));
  const fetches = await measureFetchOf(world, node, numbers);
  return [first, p50, p99, throughput, ...fetches, ...(await memoryOf(node))];
}

/** The first search with a text since the start: until then no texts are in memory. */
async function firstSearch({ sandbox }: OpenNode): Promise<Figure> {
  const bytes = Buffer.from(JSON.stringify(queryKinds[0]?.body(0)));
  const plan = { method: "POST", path: "/v1/search", tag: "svc-retrieval", body: bytes } as const;
  const request = await makeRequest(sandbox.base_url, companyOf(sandbox), plan);
  const startedMs = performance.now();
  const { status, body } = await sendOne(targetOf(sandbox.base_url), request);
  if (status !== 200) throw new Error(`answer ${status}: ${body.slice(0, 500)}`);
  return alone("first search with a text after the start", performance.now() - startedMs, {
    unit: "ms",
    goal: { atMost: 10_000 },
    note: "What is kept of every row's texts is read then, and the terms asked for; nobody else is answered meanwhile.",
  });
}

async function memoryOf({ child }: OpenNode): Promise<readonly Figure[]> {
  const highest = await child.highestResidentBytes();
  const own = await child.ownBytes();
  if (highest === null || own === null) return [];
  return [
    alone("highest resident memory after all searches and fetches", highest / megabyte, {
      unit: "MB",
      goal: { atMost: 2_048 },
      note: `${(own / megabyte).toFixed(0)} MB of it the process's own in the end; the rest are pages of the index file, which the system takes back when it needs them.`,
    }),
  ];
}

async function diskOf(home: string, products: number): Promise<Figure> {
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(home, name))).size));
  const each = files.map((name, index) => `${name} ${((sizes[index] ?? 0) / megabyte).toFixed(0)} MB`);
  return alone("disk for each record", sizes.reduce((sum, size) => sum + size, 0) / products / 1_000, {
    unit: "kB",
    goal: null,
    note: `${each.join(", ")}, for ${products.toLocaleString("en")} records.`,
  });
}

function alone(
  name: string,
  ours: number,
  rest: { readonly unit: string; readonly goal: Goal | null; readonly note: string },
): Figure {
  return { section: "million", name, ours, floor: null, ratio: null, ...rest };
}
