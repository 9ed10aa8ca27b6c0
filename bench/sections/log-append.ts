// Appends to the transparency log until they are sequenced, against Tessera's POSIX storage.

import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { buildGoPrograms } from "../../tools/go-programs.ts";
import type { AppendLoad, AppendResult } from "../log/append.ts";
import type { Figure } from "../report.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import type { World } from "../world.ts";

const run = promisify(execFile);
const warmUp = 2_048;

export async function measureLogAppend(world: World): Promise<readonly Figure[]> {
  const built = await buildGoPrograms({ append: "./append-floor" });
  if (built === null) {
    world.say("NOT MEASURED: log-append, because its floor is a program in Go");
    return [];
  }
  try {
    const figures: Figure[] = [];
    for (const [writers, entries] of [
      [16, world.size(2_000, 64)],
      [256, world.size(20_000, 512)],
      [1_024, world.size(40_000, 2_048)],
    ] as const)
      figures.push(...(await measureWriters(world, built.paths.append, { writers, entries })));
    return figures;
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
  const results: AppendResult[] = [];
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => {
      const folder = world.path("log-append");
      await mkdir(folder);
      await using child = world.start("log/append.ts", ["--expose-gc"]);
      const load: AppendLoad = { folder, writers, warmUp, entries };
      const result = await child.call<AppendResult>("run", load);
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
  const megabyte = 1_000_000;
  return [
    {
      section: "log-append",
      name: `leaves sequenced, ${writers.toLocaleString("en")} writers`,
      unit: "leaves/s",
      ...compare(rounds),
      goal: { atLeast: 1 },
      note:
        "Each writer waits until the committed tree head contains its leaf. Ours acknowledges a leaf durably before it is sequenced, refuses doubles and " +
        `publishes each head; Tessera does neither. One thread and those of the file system, against all cores. ${perHead} leaves a head.`,
    },
    {
      section: "log-append",
      name: `heap that ${entries.toLocaleString("en")} more leaves keep, ${writers.toLocaleString("en")} writers`,
      unit: "MB",
      ours: median(results.map(({ addedHeapBytes }) => addedHeapBytes)) / megabyte,
      floor: null,
      ratio: null,
      goal: { atMost: 5 },
      note: "Heap in use after a collection, less that after the warm-up.",
    },
  ];
}
