// Runs that once failed and are run by every test from then on: whole seeds, or what `--shrink` left of them. A seed means
// the same only for the same code, so a run that is kept guards what it found for as long as it still comes to the same
// place; a mutant in mutants/list.ts guards it for good.

import { type Kept, type keptParts, parseKept } from "./world/shrink-filter.ts";

export interface Regression {
  /** What went wrong. */
  readonly name: string;
  readonly seed: number;
  /** As the command of a shortened run has them; whole where they are missing. */
  readonly kept?: Partial<Record<(typeof keptParts)[number], string>>;
}

export const regressions: readonly Regression[] = [
  { name: "rows of an earlier version in other regions", seed: 83 },
  { name: "rows of an earlier version in other regions, version 1 instead of 8", seed: 200_237 },
  { name: "rows of an earlier version in the home region, told by reference", seed: 300_371 },
  { name: "actors that fill the memory and wait for one that is not in it", seed: 20_501 },
];

export function keptOf({ kept }: Regression): Kept {
  return parseKept({ faults: kept?.faults, steps: kept?.steps, nodes: kept?.nodes });
}
