// An AI company's own receipts of a month with a million of them: the first page of a window, and the usage of the month.

import { compare, count, type Figure, figuresOf, median, quantile, takeRounds } from "../figures.ts";
import type { PagesLoad, ReceiptsLoad } from "../receipts/reads.ts";
import type { World } from "../world.ts";

const program = "receipts/reads.ts";
const figure = figuresOf("receipts");

export async function measureReceipts(world: World): Promise<readonly Figure[]> {
  const month = await prepareMonth(world, world.size(1_000_000, 20_000));
  const small = await prepareMonth(world, world.size(10_000, 2_000));
  return [
    ...(await measurePages(world, month)),
    await measureUsage(world, month),
    await measureHeap(world, month, small),
  ];
}

async function prepareMonth(world: World, size: number): Promise<ReceiptsLoad> {
  const folder = await world.prepared(`receipts-${size}`, async (made) => {
    world.say(`preparing a month of ${size} receipts`);
    await world.callIn(program, "build", { folder: made, size });
  });
  return { folder, size };
}

/** Windows that begin all over the month, in an order that has no locality. */
function windows(month: ReceiptsLoad, count: number): PagesLoad {
  const room = month.size - 100;
  return { ...month, starts: Array.from({ length: count }, (_, at) => (at * 7_919 * 31 + at) % room) };
}

async function measurePages(world: World, month: ReceiptsLoad): Promise<readonly Figure[]> {
  const load = windows(month, world.size(500, 50));
  const slowest: number[] = [];
  const side = (name: "pages" | "bare") => async (): Promise<number> => {
    const times = await world.callIn(program, name, load);
    if (name === "pages") slowest.push(quantile(times, 0.99));
    return median(times);
  };
  const rounds = await takeRounds(world.size(5, 1), { ours: side("pages"), floor: side("bare") });
  const name = `first page in a month of ${count(month.size)} receipts`;
  const note =
    "Fifty receipts from anywhere in the month, one in ten of a search with fifty rows, one page after another, from the system's page cache on both sides. Ours finds them by company and instant and says of each what it is; the floor reads as many envelopes by their place in the same file.";
  return [
    figure(name, "ms", compare(rounds), { atMost: 4 }, note),
    figure(`${name}, p99`, "ms", median(slowest), { atMost: 50 }, "The same pages."),
  ];
}

async function measureUsage(world: World, month: ReceiptsLoad): Promise<Figure> {
  const times = await Array.fromAsync({ length: world.size(5, 1) }, async () => {
    const { requests, ms } = await world.callIn(program, "usage", month);
    if (requests !== month.size) throw new Error(`the usage counts ${requests} receipts of ${month.size}`);
    return ms;
  });
  const note =
    "In a new process, by day, key, kind, collection and country; it counts every receipt, or the run ends.";
  return figure("usage of the whole month", "ms", median(times), { atMost: 50 }, note);
}

async function measureHeap(world: World, month: ReceiptsLoad, small: ReceiptsLoad): Promise<Figure> {
  const heap = async (of: ReceiptsLoad): Promise<number> =>
    (await world.callIn(program, "heapAfter", windows(of, world.size(500, 50)))) / 1_000_000;
  const note = `After as many pages of ${count(month.size)} receipts, less that of ${count(small.size)}.`;
  const grown = (await heap(month)) - (await heap(small));
  return figure("heap in use, largest month less smallest", "MB", grown, { atMost: 3 }, note);
}
