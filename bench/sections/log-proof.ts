// Inclusion reads of the transparency log in trees of several sizes, against bare reads of the tiles that they need.

import type { BuildLoad, ProofLoad, ReadMemory } from "../log/proofs.ts";
import type { Figure } from "../report.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import type { World } from "../world.ts";

interface Tree {
  readonly size: number;
  readonly folder: string;
}

const program = "log/proofs.ts";

export async function measureLogProof(world: World): Promise<readonly Figure[]> {
  const trees: Tree[] = [];
  for (const size of [1_000, 32_000, world.size(1_000_000, 64_000)])
    trees.push({ size, folder: await prepareLog(world, size) });
  const figures: Figure[] = [];
  for (const tree of trees) figures.push(await measureProofs(world, tree, tree === trees.at(-1)));
  figures.push(growthOf(figures, trees));
  return [...figures, ...(await measureMemory(world, trees))];
}

function prepareLog(world: World, size: number): Promise<string> {
  return world.prepared(`log-${size}`, async (folder) => {
    world.say(`preparing a log of ${size} leaves`);
    await using child = world.start(program);
    const load: BuildLoad = { folder, size };
    await child.call("build", load);
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
  const side = (name: "prove" | "readTiles") => async (): Promise<number> => {
    await using child = world.start(program);
    return ((await child.call<number>(name, load)) / reads) * 1_000;
  };
  const rounds = await takeRounds(world.size(5, 1), { ours: side("prove"), floor: side("readTiles") });
  return {
    section: "log-proof",
    name: `inclusion read at ${tree.size.toLocaleString("en")} leaves`,
    unit: "µs",
    ...compare(rounds),
    goal: isGoal ? { atMost: 3 } : null,
    note: "One after another, from the system's page cache on both sides. Ours finds the leaf in the index, reads the checkpoint, the tiles and the bundle, and answers in JSON; the floor reads the tiles alone.",
  };
}

/** The largest tree against the smallest: a proof has log2(size) hashes. */
function growthOf(figures: readonly Figure[], trees: readonly Tree[]): Figure {
  const [first, last] = [figures[0]?.ours ?? Number.NaN, figures.at(-1)?.ours ?? Number.NaN];
  const [small, large] = [trees[0]?.size ?? Number.NaN, trees.at(-1)?.size ?? Number.NaN];
  return {
    section: "log-proof",
    name: "growth of an inclusion read from the smallest tree to the largest",
    unit: "times",
    ours: last / first,
    floor: null,
    ratio: null,
    goal: { atMost: Math.log2(large) / Math.log2(small) },
    note: `The largest has ${(large / small).toLocaleString("en")} times as many leaves, and proofs ${(Math.log2(large) / Math.log2(small)).toFixed(1)} times as long.`,
  };
}

async function measureMemory(world: World, trees: readonly Tree[]): Promise<readonly Figure[]> {
  world.say("log-proof: memory");
  const samples = trees.map((): ReadMemory[] => []);
  for (let round = 0; round < world.size(3, 1); round += 1)
    for (const [at, tree] of trees.entries()) {
      await using child = world.start(program, ["--expose-gc", "--max-semi-space-size=1"]);
      samples[at]?.push(await child.call<ReadMemory>("memory", spread(tree, world.size(4_000, 200))));
    }
  const grown = (name: keyof ReadMemory): number =>
    (median(samples.at(-1)?.map((each) => each[name]) ?? []) -
      median(samples[0]?.map((each) => each[name]) ?? [])) /
    1_000_000;
  const figure = (name: string, ours: number, goal: Figure["goal"]): Figure => ({
    section: "log-proof",
    name,
    unit: "MB",
    ours,
    floor: null,
    ratio: null,
    goal,
    note: "After as many reads of the largest tree, less that of the smallest. What is bounded whatever the tree counts as well: the roots that the reads remember, and the store's page cache, kept to 2 MB here; the space for new objects is kept small.",
  });
  return [
    figure("heap in use, largest tree less smallest", grown("heapBytes"), { atMost: 3 }),
    figure("resident memory, largest tree less smallest", grown("residentBytes"), null),
  ];
}
