// One mutant and the seeds that might reveal it.

import { runSeed } from "../run-seed.ts";
import type { Mutant } from "./mutant.ts";

/** `inert`: it never behaved differently from the true code, so there was nothing to notice. */
export type Fate = "caught" | "survived" | "inert";

export interface Catch {
  readonly fate: Fate;
  /** Number of seeds run; seeds whose worlds cannot reveal the mutant are skipped. */
  readonly seeds: number;
  /** How often the mutant behaved differently from the true code. */
  readonly changes: number;
  /** For a caught mutant, the seed that failed and how. */
  readonly seed: number;
  readonly invariant: string;
  readonly detail: string;
}

export interface Hunt {
  readonly from: number;
  readonly seedsMax: number;
  /** A seed that caught it before, which is tried first. */
  readonly first?: number | undefined;
  /** Called after each seed with the number of seeds run so far. */
  readonly progress?: (seeds: number) => void;
}

/** What a thread is asked to hunt. */
export interface HuntOrder {
  readonly name: string;
  readonly from: number;
  readonly seedsMax: number;
  readonly first?: number | undefined;
}

/** What a thread reports about a mutant: how many seeds have run, or the result. */
export type HuntAnswer =
  | { readonly name: string; readonly underWay: number }
  | { readonly name: string; readonly caught: Catch };

/** Runs a mutant over the seed `first` and those from `from` until one fails that the true code passes. A crash of the scenario counts. */
export async function hunt(mutant: Mutant, { from, seedsMax, first, progress }: Hunt): Promise<Catch> {
  const limit = Math.min(seedsMax, mutant.seedsMax);
  let changes = 0;
  const variation = mutant.vary(() => {
    changes += 1;
  });
  let seeds = 0;
  for (const seed of seedsFrom(from, first)) {
    if (seeds >= limit) break;
    if (!mutant.canShow(seed)) continue;
    seeds += 1;
    const { violations } = await runSeed(seed, { variation });
    progress?.(seeds);
    const [violation] = violations;
    await new Promise((resolve) => setImmediate(resolve));
    // A failure that the true code shares says nothing about the mutant.
    if (violation === undefined || (await runSeed(seed)).violations.length > 0) continue;
    const fate = changes === 0 ? "inert" : "caught";
    return { fate, seeds, changes, seed, invariant: violation.invariant, detail: violation.detail };
  }
  const fate = changes === 0 ? "inert" : "survived";
  return { fate, seeds, changes, seed: 0, invariant: "", detail: "" };
}

function* seedsFrom(from: number, first: number | undefined): Generator<number> {
  if (first !== undefined) yield first;
  for (let seed = from; ; seed += 1) if (seed !== first) yield seed;
}
