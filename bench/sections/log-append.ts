// The transparency log: appends until they are sequenced, against Tessera's POSIX storage. What is exported beside the section runs in
// a child process.

import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { promisify } from "node:util";
import type { TreeHead } from "../../actors/messages/log-sequencer.ts";
import { type ActorCommit, rowTable, storeWith } from "../../storage/actor-store.ts";
import { buildGoPrograms } from "../../tools/go-programs.ts";
import type { CallResult } from "../child.ts";
import { compare, count, figure, type Measured, median, takeRounds } from "../figures.ts";
import { benchEntry, openSequencer } from "../log/sequencer.ts";
import { heldBytes, inLanes, msOf } from "../work.ts";
import type { World } from "../world.ts";

const runProgram = promisify(execFile);
const program = "sections/log-append.ts";
const warmUp = 2_048;

export async function measureLogAppend(world: World): Promise<readonly Measured[]> {
  const built = await buildGoPrograms({ append: "./append-floor" });
  if (built === null) {
    world.say("NOT MEASURED: log-append, because its floor is a program in Go");
    return [];
  }
  const { append } = built.paths;
  try {
    return [
      ...(await measureWriters(world, append, 16, world.size(2_000, 64))),
      ...(await measureWriters(world, append, 256, world.size(20_000, 512))),
      ...(await measureWriters(world, append, 1_024, world.size(40_000, 2_048))),
    ];
  } finally {
    await rm(built.folder, { recursive: true });
  }
}

async function measureWriters(
  world: World,
  floor: string,
  writers: number,
  entries: number,
): Promise<readonly Measured[]> {
  world.say(`log-append: ${writers} writers`);
  const results: CallResult<typeof program, "run">[] = [];
  const rounds = await takeRounds(world.size(5, 1), {
    ours: async () => {
      const folder = world.path("log-append");
      await mkdir(folder);
      const result = await world.callIn(program, "run", { folder, writers, warmUp, entries });
      results.push(result);
      return (entries / result.elapsedMs) * 1_000;
    },
    floor: async () => {
      const numbers = [writers, warmUp, entries].map(String);
      const { stdout } = await runProgram(floor, [world.path("log-append-floor"), ...numbers]);
      return (entries / Number(stdout)) * 1_000;
    },
  });
  const perHead = Math.round(entries / median(results.map(({ heads }) => heads)));
  const heap = median(results.map(({ addedHeapBytes }) => addedHeapBytes)) / 1_000_000;
  const note =
    "Each writer waits until the committed tree head contains its leaf. Ours acknowledges a leaf durably before it is sequenced, refuses doubles and " +
    `publishes each head; Tessera does neither. One thread and those of the file system, against all cores. ${perHead} leaves a head.`;
  const kept = `heap that ${count(entries)} more leaves keep, ${count(writers)} writers`;
  const keptNote = "Heap in use after a collection, less that after the warm-up.";
  return [
    figure(`leaves sequenced, ${count(writers)} writers`, "leaves/s", compare(rounds), { atLeast: 1 }, note),
    figure(kept, "MB", heap, { atMost: 5 }, keptNote),
  ];
}

/** Writers append leaves in an empty folder. Each waits until the committed tree head contains its leaf before it appends the next. */
export async function run(load: {
  readonly folder: string;
  readonly writers: number;
  readonly warmUp: number;
  readonly entries: number;
}) {
  const waiting = new Map<string, () => void>();
  let written: readonly { readonly leaf: string; readonly index: number }[] = [];
  let [size, heads, next] = [0, 0, 0];
  // Where leaves are, the log store is told; the head that contains them is committed by the actor.
  await using sequencer = openSequencer(load.folder, {
    log: (log) => ({
      ...log,
      write: async (objects, leaves) => {
        await log.write(objects, leaves);
        written = [...written, ...leaves];
      },
    }),
    store: (store) =>
      storeWith(store, {
        commit: async (commit) => {
          const outcome = await store.commit(commit);
          const head = outcome.status === "applied" ? writtenHead(commit) : null;
          if (head === null) return outcome;
          size = head.size;
          heads += 1;
          const { contained = [], behind = [] } = Object.groupBy(written, ({ index }) =>
            index < head.size ? "contained" : "behind",
          );
          written = behind;
          for (const { leaf } of contained) waiting.get(leaf)?.();
          return outcome;
        },
      }),
  });
  const append = (count: number): Promise<void> =>
    inLanes(load.writers, count, async () => {
      const entry = benchEntry(next);
      next += 1;
      const contained = new Promise<void>((resolve) => waiting.set(entry.leaf, resolve));
      await sequencer.append(entry);
      await contained;
      waiting.delete(entry.leaf);
    });
  await append(load.warmUp);
  const heapBefore = heldBytes();
  const headsBefore = heads;
  const elapsedMs = await msOf(() => append(load.entries));
  const addedHeapBytes = heldBytes() - heapBefore;
  // The size of the tree counts the checkpoints that became leaves as well; `heads` were committed.
  return { elapsedMs, size, heads: heads - headsBefore, addedHeapBytes };
}

/** The tree head that a commit makes current; null for a commit that makes none. */
function writtenHead({ puts }: ActorCommit): TreeHead | null {
  for (const { rt, body } of puts) {
    if (rt !== rowTable.event || !body.includes('"log.written"')) continue;
    const { e } = JSON.parse(body) as { e: { type: string; head?: TreeHead }[] };
    const written = e.findLast(({ type }) => type === "log.written");
    if (written?.head !== undefined) return written.head;
  }
  return null;
}
