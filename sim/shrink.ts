// Shortens a failing run: leaves out nodes, faults and client steps as long as the same invariant still breaks (delta
// debugging, Zeller and Hildebrandt 2002). What is left out changes what follows it, so a shorter run may break the
// invariant in another way than the long one did; it is the same invariant, and that is all that is promised.

import { runSeed, type SeedOptions, type SeedResult } from "./run-seed.ts";
import { everything, type Kept, keptParts } from "./world/world.ts";

export interface Shrunk {
  readonly kept: Kept;
  readonly result: SeedResult;
  readonly runs: number;
}

export interface ShrinkOptions extends Omit<SeedOptions, "story"> {
  /** Name of the invariant that must keep breaking; by default the first that the whole run breaks. */
  readonly invariant?: string;
  /** Called with every shorter run that still fails. */
  readonly progress?: (shrunk: Shrunk) => void;
}

const runsMax = 600;

/** Returns null when the whole run does not break the invariant. */
export async function shrink(seed: number, options: ShrinkOptions = {}): Promise<Shrunk | null> {
  const kept = options.kept ?? everything;
  const whole = await runSeed(seed, { ...options, kept });
  const invariant = options.invariant ?? whole.violations[0]?.invariant;
  if (invariant === undefined || !breaks(whole, invariant)) return null;
  const search = new Search(seed, { ...options, invariant }, { kept, result: whole, runs: 1 });
  for (let before = -1; before !== search.size(); ) {
    before = search.size();
    for (const part of keptParts) await search.reduce(part);
  }
  return search.best;
}

function breaks({ violations }: SeedResult, invariant: string): boolean {
  return violations.some((violation) => violation.invariant === invariant);
}

class Search {
  best: Shrunk;
  readonly #seed: number;
  readonly #options: ShrinkOptions & { readonly invariant: string };

  constructor(seed: number, options: ShrinkOptions & { readonly invariant: string }, best: Shrunk) {
    this.#seed = seed;
    this.#options = options;
    this.best = best;
  }

  size(): number {
    return keptParts.reduce((sum, part) => sum + this.best.result.parts[part].length, 0);
  }

  async reduce(part: keyof Kept): Promise<void> {
    const names = (): readonly string[] => this.best.result.parts[part];
    await this.#without(part, names());
    // First everything of one kind or one client, then ever smaller groups of names.
    for (const group of new Set(names().map(groupOf)))
      await this.#without(
        part,
        names().filter((name) => groupOf(name) === group),
      );
    for (let size = Math.ceil(names().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = 0; at < names().length; ) {
        const isShorter = await this.#without(part, names().slice(at, at + size));
        if (!isShorter) at += size;
      }
    }
  }

  /** Tries without `names`; keeps the result if the invariant still breaks. */
  async #without(part: keyof Kept, names: readonly string[]): Promise<boolean> {
    const { best } = this;
    const gone = new Set(names);
    const rest = best.result.parts[part].filter((name) => !gone.has(name));
    if (gone.size === 0 || (part === "nodes" && rest.length === 0)) return false;
    if (best.runs >= runsMax) return false;
    const kept = { ...best.kept, [part]: new Set(rest) };
    const result = await runSeed(this.#seed, { ...this.#options, kept });
    // Unhandled rejections surface between two runs.
    await new Promise((resolve) => setImmediate(resolve));
    const isShorter = breaks(result, this.#options.invariant) && result.parts[part].length <= rest.length;
    this.best = { ...(isShorter ? { kept: sharpened(kept, result), result } : best), runs: best.runs + 1 };
    if (isShorter) this.#options.progress?.(this.best);
    return isShorter;
  }
}

/** Restricts the kept names to those that the run reached: the others need not be kept. */
function sharpened(kept: Kept, { parts }: SeedResult): Kept {
  const met = (part: keyof Kept): ReadonlySet<string> | null =>
    kept[part] === null ? null : new Set(parts[part].filter((name) => kept[part]?.has(name)));
  return { faults: met("faults"), steps: met("steps"), nodes: met("nodes") };
}

function groupOf(name: string): string {
  return name.slice(0, name.includes("#") ? name.indexOf("#") : undefined);
}
