// The command-line options of `npm run sim`.

import { parseArgs } from "node:util";
import { type Kept, parseKept } from "./world/shrink-filter.ts";

export const usage = `npm run sim -- [options]
  --seeds N      run N seeds (default 200, and for a mutant as many as its search says at most), or as many as --minutes lets
  --minutes M    stop after M minutes
  --from S       the first seed (default: a random one, which is printed)
  --seed S       run one seed and tell what happened
  --shrink       of a seed that fails: leave out all that need not be there, and tell what is left
  --faults NAMES, --steps NAMES, --nodes NAMES
                 of a seed, only these: a shrunk run, as --shrink prints it
  --mutant NAME  run the code with one guard removed
  --mutants      remove one guard after the other; show how many seeds it takes to catch each, after the one that did so before
  --remember     of the mutants: begin with the first seed, and write down for the next time which seed catches each
  --only NAMES   of the mutants, those whose name contains one of NAMES, separated by commas
  --journal FILE begin with the actors of a journal that tools/export-journal.ts or svc ops export wrote
  --guard        also watch for native asynchronous work, which is slower
`;

export interface Options {
  readonly seeds: number;
  readonly minutes: number;
  readonly from: number;
  readonly seed: number | null;
  readonly shrink: boolean;
  readonly kept: Kept;
  readonly guard: boolean;
  readonly mutants: boolean;
  readonly remember: boolean;
  readonly mutant: string | null;
  readonly only: string;
  readonly journal: string | null;
}

/** Throws a RangeError or a TypeError for an option that cannot be used. */
export function readOptions(given: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...given],
    options: {
      seeds: { type: "string" },
      minutes: { type: "string" },
      from: { type: "string" },
      seed: { type: "string" },
      shrink: { type: "boolean", default: false },
      faults: { type: "string" },
      steps: { type: "string" },
      nodes: { type: "string" },
      guard: { type: "boolean", default: false },
      mutants: { type: "boolean", default: false },
      remember: { type: "boolean", default: false },
      mutant: { type: "string" },
      only: { type: "string", default: "" },
      journal: { type: "string" },
    },
  });
  const number = (name: "seeds" | "minutes" | "from" | "seed", fallback: number): number => {
    const value = values[name] === undefined ? fallback : Number(values[name]);
    if (Number.isNaN(value) || value < 0) throw new RangeError(`--${name} ${values[name]} is no number`);
    return value;
  };
  const { faults, steps, nodes } = values;
  const kept = parseKept({ faults, steps, nodes });
  if (values.seed === undefined && (values.shrink || faults !== undefined || steps !== undefined || nodes))
    throw new RangeError("--shrink, --faults, --steps and --nodes are of one seed: name it with --seed");
  return {
    kept,
    minutes: number("minutes", Number.POSITIVE_INFINITY),
    seeds: number("seeds", values.minutes !== undefined || values.mutants ? Number.POSITIVE_INFINITY : 200),
    from: number("from", 1 + Math.floor(Math.random() * 1_000_000_000)),
    seed: values.seed === undefined ? null : number("seed", 0),
    shrink: values.shrink,
    guard: values.guard,
    mutants: values.mutants,
    remember: values.remember,
    mutant: values.mutant ?? null,
    only: values.only,
    journal: values.journal ?? null,
  };
}
