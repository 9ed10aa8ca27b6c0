// Child process: the cost of actors that were used once and have since been passivated.
// The page cache of the store is bounded and does not depend on their number; it is kept small here, because it would
// mask what is measured.

import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { answerParent } from "../answer-parent.ts";
import { add, durableRef } from "./counter.ts";
import { counterSystem } from "./system.ts";

export interface PassiveLoad {
  /** Path of the store file. */
  readonly file: string;
  /** Actors before the first reading: they warm up everything that does not grow with the number of actors. */
  readonly warmUp: number;
  readonly actors: number;
}

export interface PassiveResult {
  readonly addedBytes: number;
  readonly addedHeapBytes: number;
  readonly elapsedMs: number;
}

const callsAtOnce = 2_000;

async function run(load: PassiveLoad): Promise<PassiveResult> {
  // Surviving a power failure does not matter here.
  await using database = SqliteDatabase.open(load.file, { synchronous: "NORMAL" });
  database.db.exec("PRAGMA cache_size = -2048; PRAGMA mmap_size = 0;");
  const system = counterSystem(openSqliteActorStore(database, { now: Date.now }), {
    idleMs: 1_000,
    idleSweepMs: 500,
  });
  let created = 0;
  const create = async (count: number): Promise<void> => {
    const end = created + count;
    const worker = async (): Promise<void> => {
      while (created < end) {
        created += 1;
        await system.ask(durableRef(`passive/${created}`), add);
      }
    };
    await Promise.all(Array.from({ length: callsAtOnce }, worker));
    while (system.stats().active > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  await create(load.warmUp);
  const before = readMemory();
  const startedMs = performance.now();
  await create(load.actors);
  const elapsedMs = performance.now() - startedMs;
  const after = readMemory();
  await system.drain(1_000);
  return {
    addedBytes: after.rss - before.rss,
    addedHeapBytes: after.heapUsed - before.heapUsed,
    elapsedMs,
  };
}

function readMemory(): NodeJS.MemoryUsage {
  if (globalThis.gc === undefined) throw new Error("start this with --expose-gc");
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage();
}

answerParent({ run });
