// Runs that once failed and are run by every test from then on: whole seeds, or what `--shrink` left of them. A seed means
// the same only for the same code, so a run that is kept guards what it found for as long as it still comes to the same
// place; a mutant in mutants/list.ts guards it for good.

import { type Kept, type keptParts, parseKept } from "./world/kept.ts";

export interface Regression {
  /** What went wrong. */
  readonly name: string;
  readonly seed: number;
  /** As the command of a shortened run has them; whole where they are missing. */
  readonly kept?: Partial<Record<(typeof keptParts)[number], string>>;
}

export const regressions: readonly Regression[] = [
  { name: "the row of an earlier version with the same bytes is indexed in another region", seed: 83 },
  { name: "the row of an earlier version stays in the index after a replication cut", seed: 200_237 },
  { name: "the row of an earlier version is indexed after an upgrade", seed: 300_371 },
];

export function keptOf({ kept }: Regression): Kept {
  return parseKept({ faults: kept?.faults, steps: kept?.steps, nodes: kept?.nodes });
}
