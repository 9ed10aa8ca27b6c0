// The list of mutants. Every one must be caught: a survivor is a gap in the checkers or in what the worlds do.

import { actorMutants } from "./actor-mutants.ts";
import { bulkMutants } from "./bulk-mutants.ts";
import { holdMutants } from "./hold-mutants.ts";
import { insightMutants } from "./insight-mutants.ts";
import { keyMutants } from "./key-mutants.ts";
import { logMutants } from "./log-mutants.ts";
import { moneyMutants } from "./money-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { ownReadsMutants } from "./own-reads-mutants.ts";
import { portMutants } from "./port-mutants.ts";
import { pushLifeMutants } from "./push-life-mutants.ts";

export const mutants: readonly Mutant[] = [
  ...portMutants,
  ...actorMutants,
  ...holdMutants,
  ...keyMutants,
  ...insightMutants,
  ...bulkMutants,
  ...logMutants,
  ...moneyMutants,
  ...ownReadsMutants,
  ...pushLifeMutants,
];

/** Throws a RangeError for a name that is not in the list. */
export function mutantNamed(name: string): Mutant {
  const found = mutants.find((mutant) => mutant.name === name);
  if (found !== undefined) return found;
  throw new RangeError(
    `There is no mutant ${name}; there are ${mutants.map((each) => each.name).join(", ")}.`,
  );
}

/** The mutants whose name contains one of these parts. Throws a RangeError for a part that no name contains. */
export function mutantsWith(parts: readonly string[]): readonly Mutant[] {
  for (const part of parts) {
    if (!mutants.some(({ name }) => name.includes(part)))
      throw new RangeError(`No mutant's name contains ${JSON.stringify(part)}.`);
  }
  return mutants.filter(({ name }) => parts.some((part) => name.includes(part)));
}
