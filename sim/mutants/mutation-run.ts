// The mutation run: for each mutant, how many seeds it takes to catch it, on every core of the machine.
//   B1. It fails, by name, for each mutant that is not caught within its seeds, and for each that never changed anything.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Catch, HuntAnswer, HuntOrder } from "./hunt.ts";
import type { Mutant } from "./mutant.ts";

export type CaughtBy = Readonly<Record<string, number>>;

export interface BoardOptions {
  readonly from: number;
  /** Maximum number of seeds for each mutant; a mutant's own limit applies as well. */
  readonly seedsMax: number;
  /** By a mutant's name, the seed that caught it before; none by default. */
  readonly caughtBy?: CaughtBy;
  /** Receives the seeds that caught them this time. */
  readonly remember?: (caughtBy: CaughtBy) => void;
  /** Receives a line of the report; the console by default. */
  readonly tell?: (line: string) => unknown;
}

/** Hunts the mutants and prints each result; the last line says how many were caught. Returns whether all were caught. */
export async function showBoard(
  wanted: readonly Mutant[],
  { from, seedsMax, caughtBy = {}, remember, tell = console.log }: BoardOptions,
): Promise<boolean> {
  // Mutants that may take long come first, so that none of them occupies a single core at the end.
  const waiting = [...wanted].sort((a, b) => b.seedsMax - a.seedsMax);
  const fates: Catch[] = [];
  const caughtNow: Record<string, number> = {};
  const hunter = async (): Promise<void> => {
    const worker = new Worker(new URL("./hunt-worker.ts", import.meta.url));
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const caught = await order(
          worker,
          { name: next.name, from, seedsMax, first: caughtBy[next.name] },
          tell,
        );
        fates.push(caught);
        if (caught.fate === "caught") caughtNow[next.name] = caught.seed;
        tell(lineOf(next, caught));
      }
    } finally {
      await worker.terminate();
    }
  };
  const threads = Math.min(availableParallelism(), waiting.length);
  await Promise.all(Array.from({ length: threads }, hunter));
  remember?.(caughtNow);
  const failed = fates.filter(({ fate }) => fate !== "caught").length;
  const counts = fates.map(({ seeds }) => seeds).sort((a, b) => a - b);
  const seedsInAll = counts.reduce((sum, seeds) => sum + seeds, 0);
  tell(`median ${counts[Math.floor(counts.length / 2)] ?? 0} seeds, ${seedsInAll} in all`);
  const moved = Object.entries(caughtNow).filter(([name, seed]) => (caughtBy[name] ?? seed) !== seed).length;
  if (moved > 0)
    tell(`${moved} were caught by other seeds than those written down: --remember writes these down`);
  tell(`${fates.length - failed} passed, ${failed} failed`);
  return failed === 0;
}

function order(worker: Worker, hunt: HuntOrder, tell: (line: string) => unknown): Promise<Catch> {
  const { promise, resolve, reject } = Promise.withResolvers<Catch>();
  const hear = (answer: HuntAnswer): void => {
    if ("caught" in answer) resolve(answer.caught);
    else tell(`${answer.name.padEnd(28)} not caught by ${answer.underWay} seeds so far`);
  };
  worker.on("message", hear);
  worker.once("error", reject);
  worker.postMessage(hunt);
  return promise.finally(() => {
    worker.off("message", hear);
    worker.off("error", reject);
  });
}

export function lineOf({ name, about }: Mutant, { fate, seeds, changes, seed, invariant }: Catch): string {
  const what = {
    caught: `${String(seeds).padStart(5)} seeds  ${invariant} (seed ${seed})`,
    survived: `FAILS: SURVIVED ${seeds} seeds, although it changed something ${changes} times`,
    inert: `FAILS: NEVER CHANGED ANYTHING in ${seeds} seeds: it is the true code`,
  }[fate];
  return `${name.padEnd(28)} ${what.padEnd(52)}  ${about}`;
}
