// The transparency log: appends until they are sequenced, against Tessera's POSIX storage; and inclusion reads in trees of several
// sizes, against bare reads of the tiles that they need.

import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { buildGoPrograms } from "../../tools/go-programs.ts";
import type { CallResult } from "../child.ts";
import {
  compare,
  compareBy,
  count,
  type Figure,
  figuresOf,
  type Goal,
  median,
  takeRounds,
} from "../figures.ts";
import type { ProofLoad } from "../log/proofs.ts";
import type { World } from "../world.ts";

const run = promisify(execFile);
const warmUp = 2_048;
const megabyte = 1_000_000;

export async function measureLogAppend(world: World): Promise<readonly Figure[]> {
  const built = await buildGoPrograms({ append: "./append-floor" });
  if (built === null) {
    world.say("NOT MEASURED: log-append, because its floor is a program in Go");
    return [];
  }
  try {
    const loads = [
      { writers: 16, entries: world.size(2_000, 64) },
      { writers: 256, entries: world.size(20_000, 512) },
      { writers: 1_024, entries: world.size(40_000, 2_048) },
    ];
    return (await Array.fromAsync(loads, (load) => measureWriters(world, built.paths.append, load))).flat();
  } finally {
    await rm(built.folder, { recursive: true });
  }
}

async function measureWriters(
  world: World,
  program: string,
  { writers, entries }: { readonly writers: number; readonly entries: number },
): Promise<readonly Figure[]> {
  world.say(`log-append: ${writers} writers`);
  const results: CallResult<"log/append.ts", "run">[] = [];
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => {
      const folder = world.path("log-append");
      await mkdir(folder);
      const result = await world.callIn("log/append.ts", "run", { folder, writers, warmUp, entries });
      results.push(result);
      return (entries / result.elapsedMs) * 1_000;
    },
    floor: async () => {
      const folder = world.path("log-append-floor");
      const { stdout } = await run(program, [folder, String(writers), String(warmUp), String(entries)]);
      return (entries / Number(stdout)) * 1_000;
    },
  });
  const perHead = Math.round(entries / median(results.map(({ heads }) => heads)));
  const heap = median(results.map(({ addedHeapBytes }) => addedHeapBytes)) / megabyte;
  const note =
    "Each writer waits until the committed tree head contains its leaf. Ours acknowledges a leaf durably before it is sequenced, refuses doubles and " +
    `publishes each head; Tessera does neither. One thread and those of the file system, against all cores. ${perHead} leaves a head.`;
  const figure = figuresOf("log-append");
  const kept = `heap that ${count(entries)} more leaves keep, ${count(writers)} writers`;
  const keptNote = "Heap in use after a collection, less that after the warm-up.";
  return [
    figure(`leaves sequenced, ${count(writers)} writers`, "leaves/s", compare(rounds), { atLeast: 1 }, note),
    figure(kept, "MB", heap, { atMost: 5 }, keptNote),
  ];
}

interface Tree {
  readonly size: number;
  readonly folder: string;
}

const proofs = "log/proofs.ts";
const proofFigure = figuresOf("log-proof");

export async function measureLogProof(world: World): Promise<readonly Figure[]> {
  const sizes = [1_000, 32_000, world.size(1_000_000, 64_000)];
  const trees = await Array.fromAsync(sizes, async (size) => ({
    ...{ size, folder: await prepareLog(world, size) },
  }));
  const figures = await Array.fromAsync(trees, (tree) => measureProofs(world, tree, tree === trees.at(-1)));
  figures.push(growthOf(figures, trees));
  return [...figures, ...(await measureMemory(world, trees))];
}

function prepareLog(world: World, size: number): Promise<string> {
  return world.prepared(`log-${size}`, async (folder) => {
    world.say(`preparing a log of ${size} leaves`);
    await world.callIn(proofs, "build", folder, size);
  });
}

/** Leaves spread over the whole tree, in an order that has no locality. */
function spread({ size, folder }: Tree, reads: number): ProofLoad {
  const step = 7_919;
  return { folder, indexes: Array.from({ length: reads }, (_, at) => (at * step * 31 + at) % size) };
}

async function measureProofs(world: World, tree: Tree, isGoal: boolean): Promise<Figure> {
  world.say(`log-proof: ${tree.size} leaves`);
  const reads = world.size(4_000, 200);
  const load = spread(tree, reads);
  const side = (name: "prove" | "readTiles") => async () =>
    ((await world.callIn(proofs, name, load)) / reads) * 1_000;
  const sides = { ours: side("prove"), floor: side("readTiles") };
  return proofFigure(
    `inclusion read at ${count(tree.size)} leaves`,
    "µs",
    compare(await takeRounds(world.size(5, 1), sides)),
    isGoal ? { atMost: 3 } : null,
    "One after another, from the system's page cache on both sides. Ours finds the leaf in the index, reads the checkpoint, the tiles and the bundle, and answers in JSON; the floor reads the tiles alone.",
  );
}

/** The largest tree against the smallest: a proof has log2(size) hashes. */
function growthOf(figures: readonly Figure[], trees: readonly Tree[]): Figure {
  const [first, last] = [figures[0]?.ours ?? Number.NaN, figures.at(-1)?.ours ?? Number.NaN];
  const [small, large] = [trees[0]?.size ?? Number.NaN, trees.at(-1)?.size ?? Number.NaN];
  const longer = Math.log2(large) / Math.log2(small);
  return proofFigure(
    "growth of an inclusion read from the smallest tree to the largest",
    "times",
    last / first,
    { atMost: longer },
    `The largest has ${count(large / small)} times as many leaves, and proofs ${longer.toFixed(1)} times as long.`,
  );
}

async function measureMemory(world: World, trees: readonly Tree[]): Promise<readonly Figure[]> {
  world.say("log-proof: memory");
  const [smallest, largest] = [trees[0], trees.at(-1)];
  if (smallest === undefined || largest === undefined) throw new Error("there is no tree");
  const held = async (tree: Tree): Promise<NodeJS.MemoryUsage> => {
    await using child = world.start(["--max-semi-space-size=1"]);
    return await child.call(proofs, "memory", spread(tree, world.size(4_000, 200)));
  };
  const rounds = await takeRounds(world.size(3, 1), {
    ours: () => held(largest),
    floor: () => held(smallest),
  });
  const note =
    "After as many reads of the largest tree, less that of the smallest. What is bounded whatever the tree counts as well: the roots that the reads remember, and the store's page cache, kept to 2 MB here; the space for new objects is kept small.";
  const grown = (what: string, name: "heapUsed" | "rss", goal: Goal | null): Figure => {
    const { ours, floor } = compareBy(rounds, (each) => each[name]);
    return proofFigure(`${what}, largest tree less smallest`, "MB", (ours - floor) / megabyte, goal, note);
  };
  return [grown("heap in use", "heapUsed", { atMost: 3 }), grown("resident memory", "rss", null)];
}
