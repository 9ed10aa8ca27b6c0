// For each mutant, how many seeds it takes to catch it.

import { runSeed } from "../run-seed.ts";
import { mutants } from "./list.ts";
import type { Mutant } from "./mutant.ts";

const progressMs = 10_000;

export interface Catch {
  readonly mutant: Mutant;
  /** Seeds run until one failed, that one included; null for a survivor. */
  readonly seeds: number | null;
  readonly seed: number | null;
  readonly invariant: string;
  readonly detail: string;
}

/**
 * Runs one mutant over seeds from `from` until one fails that the true code passes. A crash of the scenario counts: nothing
 * of it may. `progress` is told after each seed how many have run.
 */
export async function hunt(
  mutant: Mutant,
  from: number,
  seedsMax: number,
  progress: (seeds: number) => void = () => {},
): Promise<Catch> {
  for (let seeds = 1; seeds <= seedsMax; seeds += 1) {
    const seed = from + seeds - 1;
    const { violations } = await runSeed(seed, { variation: mutant });
    progress(seeds);
    const [first] = violations;
    await new Promise((resolve) => setImmediate(resolve));
    // What the true code fails, too, says nothing about the mutant.
    if (first !== undefined && (await runSeed(seed)).violations.length === 0)
      return { mutant, seeds, seed, invariant: first.invariant, detail: first.detail };
  }
  return { mutant, seeds: null, seed: null, invariant: "", detail: "" };
}

export async function showBoard(options: {
  readonly from: number;
  readonly seedsMax: number;
  /** Parts of the names of those wanted, separated by commas; empty for all. */
  readonly only: string;
}): Promise<boolean> {
  const catches: Catch[] = [];
  const wanted = options.only.split(",");
  for (const mutant of mutants.filter(({ name }) => wanted.some((part) => name.includes(part)))) {
    let told = Date.now();
    const caught = await hunt(mutant, options.from, options.seedsMax, (seeds) => {
      if (Date.now() - told < progressMs) return;
      told = Date.now();
      console.log(`${mutant.name.padEnd(26)} not caught by ${seeds} seeds so far`);
    });
    catches.push(caught);
    const { seeds, seed, invariant } = caught;
    const what =
      seeds === null ? "SURVIVED" : `${String(seeds).padStart(5)} seeds  ${invariant} (seed ${seed})`;
    console.log(`${mutant.name.padEnd(26)} ${what.padEnd(52)} ${mutant.about}`);
  }
  const counts = catches.flatMap(({ seeds }) => (seeds === null ? [] : [seeds])).sort((a, b) => a - b);
  const survivors = catches.filter(({ seeds }) => seeds === null);
  const median = counts[Math.floor(counts.length / 2)] ?? 0;
  console.log(
    `${counts.length} of ${catches.length} caught, median ${median} seeds; survivors: ${survivors.map(({ mutant }) => mutant.name).join(", ") || "none"}`,
  );
  return survivors.length === 0;
}
