// Runs that once failed and are repeated by every test run: whole seeds, or what `--shrink` left of them. A seed means the
// same only for the same code, so a kept run guards what it found only as long as it still reaches the same place; a mutant
// in mutants/list.ts guards it permanently.

import { type Kept, type keptParts, parseKept } from "./world/shrink-filter.ts";

export interface Regression {
  /** What went wrong. */
  readonly name: string;
  readonly seed: number;
  /** The parts kept, as in the command of a shortened run; a missing part is kept whole. */
  readonly kept?: Partial<Record<(typeof keptParts)[number], string>>;
}

export const regressions: readonly Regression[] = [
  { name: "rows of an earlier version in other regions", seed: 83 },
  { name: "rows of an earlier version in other regions, version 1 instead of 8", seed: 200_237 },
  { name: "rows of an earlier version in the home region, told by reference", seed: 300_371 },
  { name: "actors that fill the memory and wait for one that is not in it", seed: 20_501 },
  { name: "actors that fill the memory and only wait for their time", seed: 126_270_786 },
];

export function keptOf({ kept }: Regression): Kept {
  return parseKept({ faults: kept?.faults, steps: kept?.steps, nodes: kept?.nodes });
}
