// Runs that once failed and are repeated by every test run: whole seeds, or what `--shrink` left of them. A seed means the
// same only for the same code, so a kept run guards what it found only as long as it still reaches the same place; a mutant
// in mutants/list.ts guards it permanently.

import { type Kept, type keptParts, parseKept } from "./world/world.ts";

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
  { name: "a purge that stands still because one answer was lost", seed: 23_812_656 },
  { name: "a file whose preparation fails, prepared for ever", seed: 655_870_421 },
  { name: "the same, and a finished push that a late resend makes a cancelled one", seed: 970_660_900 },
  { name: "the simulator took a replayed refusal for an answer", seed: 621_291_991 },
  { name: "the simulator took for abandoned what had been staged again", seed: 621_291_643 },
  {
    name: "money that was said to be spent because something dearer was asked for before",
    seed: 952_306_873,
  },
  { name: "the simulator took what a revoked key was refused for a charge", seed: 71_832_464 },
  {
    name: "a product named again by a push from before its deletion, judged after its purge",
    seed: 436_163_980,
  },
];

export function keptOf({ kept }: Regression): Kept {
  return parseKept({ faults: kept?.faults, steps: kept?.steps, nodes: kept?.nodes });
}
