// npm run sim: many seeds with their faults counted, one seed with its story, or the shortest run with the same failure.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { JournalFile } from "../service/log/journal-file.ts";
import { Coverage, fullCoverageSeeds } from "./coverage.ts";
import { mutantNamed, mutantsWith } from "./mutants/list.ts";
import { type CaughtBy, showBoard } from "./mutants/mutation-run.ts";
import { parseJournal } from "./parse-journal.ts";
import { runSeed, type SeedOptions, type SeedResult } from "./run-seed.ts";
import { shrink } from "./shrink.ts";
import { everything, formatKept, type Kept, keptParts, parseKept } from "./world/world.ts";

// The command-line options of `npm run sim`.

const usage = `npm run sim -- [options]
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

interface Options {
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
function readOptions(given: readonly string[]): Options {
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

const progressMs = 5_000;

/** What the commands that this prints have in common: the code under test and where the world starts. */
interface Under {
  readonly seedOptions: SeedOptions;
  /** The same as command-line options. */
  readonly words: string;
}

/** Throws a RangeError for an unknown mutant, and for a file that is not a journal. */
function underTest({ mutant, journal, guard }: Options): Under {
  const variation = mutant === null ? null : mutantNamed(mutant).vary(() => {});
  const start: JournalFile | null = journal === null ? null : parseJournal(readFileSync(journal, "utf8"));
  return {
    seedOptions: {
      watchNativeWork: guard,
      ...(variation === null ? {} : { variation }),
      ...(start === null ? {} : { start }),
    },
    words: `${mutant === null ? "" : ` --mutant ${mutant}`}${journal === null ? "" : ` --journal ${journal}`}`,
  };
}

function commandOf(seed: number, words: string, kept: Kept = everything): string {
  return `npm run sim -- --seed ${seed}${words}${formatKept(kept)}`;
}

async function tellSeed(seed: number, { seedOptions, words }: Under, kept: Kept): Promise<boolean> {
  const result = await runSeed(seed, { ...seedOptions, kept, story: true, watchNativeWork: true });
  for (const line of result.story) console.log(line);
  console.log(
    `\nseed ${seed}: ${result.events} events in ${(result.virtualMs / 1_000).toFixed(1)} s of its time, trace ${result.traceHash}`,
  );
  console.log(`faults: ${[...result.fired].map(([kind, count]) => `${kind} ${count}`).join(", ") || "none"}`);
  for (const { invariant, detail, atMs } of result.violations)
    console.log(`VIOLATION ${invariant} at ${(atMs / 1_000).toFixed(3)} s: ${detail}`);
  if (result.violations.length === 0) console.log("every invariant held");
  else console.log(`again: ${commandOf(seed, words, kept)}`);
  return result.violations.length === 0;
}

/** Prints the shortest run that fails as the seed does, and how to keep it. */
async function shrinkSeed(seed: number, under: Under, kept: Kept): Promise<boolean> {
  let told = Date.now();
  const tell = (runs: number, { events, parts }: SeedResult): void => {
    const left = keptParts.map((part) => `${parts[part].length} ${part}`).join(", ");
    console.log(`${runs} runs, ${left} and ${events} events left`);
  };
  const shrunk = await shrink(seed, {
    ...under.seedOptions,
    kept,
    progress: ({ runs, result }) => {
      if (Date.now() - told < progressMs) return;
      told = Date.now();
      tell(runs, result);
    },
  });
  if (shrunk === null) {
    console.log(`seed ${seed} breaks no invariant`);
    return true;
  }
  await tellSeed(seed, under, shrunk.kept);
  tell(shrunk.runs, shrunk.result);
  console.log(`reproduce: ${commandOf(seed, under.words, shrunk.kept)}`);
  const names = Object.fromEntries(
    keptParts.flatMap((part) => (shrunk.kept[part] ? [[part, [...shrunk.kept[part]].join(" ")]] : [])),
  );
  const [violation] = shrunk.result.violations;
  const entry = { name: `${violation?.invariant}: say what went wrong`, seed, kept: names };
  console.log(`keep it in sim/regressions.ts: ${JSON.stringify(entry)}`);
  return false;
}

async function runSeeds(options: Options, { seedOptions, words }: Under): Promise<boolean> {
  const coverage = new Coverage();
  const failed: SeedResult[] = [];
  const startedMs = Date.now();
  let events = 0;
  let told = startedMs;
  for (let seed = options.from; coverage.seeds < options.seeds; seed += 1) {
    const nowMs = Date.now();
    if (nowMs - startedMs >= options.minutes * 60_000) break;
    const result = await runSeed(seed, seedOptions);
    coverage.add(result);
    events += result.events;
    if (result.violations.length > 0) {
      failed.push(result);
      const [first] = result.violations;
      console.log(`seed ${seed} FAILED  ${first?.invariant}: ${first?.detail}`);
    }
    if (nowMs - told >= progressMs) {
      told = nowMs;
      progress(coverage.seeds, failed.length, events, nowMs - startedMs);
    }
    // Unhandled rejections surface between two seeds.
    await new Promise((resolve) => setImmediate(resolve));
  }
  progress(coverage.seeds, failed.length, events, Date.now() - startedMs);
  for (const { seed } of failed) console.log(`reproduce: ${commandOf(seed, words)}  (and --shrink)`);
  return conclude(coverage, { isTrue: words === "" }) && failed.length === 0;
}

function progress(seeds: number, failed: number, events: number, ms: number): void {
  const perMinute = Math.round((seeds / Math.max(1, ms)) * 60_000);
  const each = Math.round(events / Math.max(1, seeds));
  console.log(`${seeds} seeds, ${failed} failed, ${perMinute} a minute, ${each} events each`);
}

/** Whether everything required happened; applies to the true code in worlds that start empty. */
function conclude(coverage: Coverage, { isTrue }: { readonly isTrue: boolean }): boolean {
  const fired = [...coverage.fired].sort().map(([kind, count]) => `${kind} ${count}`);
  console.log(`faults fired: ${fired.join(", ")}`);
  const missing = coverage.missing();
  const mustShow = isTrue && coverage.seeds >= fullCoverageSeeds;
  if (missing.length > 0) console.log(`never happened${mustShow ? " (FAILS)" : ""}: ${missing.join(", ")}`);
  return missing.length === 0 || !mustShow;
}

const caughtByFile = new URL("./mutants/caught-by.json", import.meta.url);

const readCaughtBy = (): CaughtBy => JSON.parse(readFileSync(caughtByFile, "utf8"));

async function run(options: Options): Promise<boolean> {
  const { seed, from, kept } = options;
  const under = underTest(options);
  if (seed !== null) return options.shrink ? shrinkSeed(seed, under, kept) : tellSeed(seed, under, kept);
  console.log(`seeds from ${from}`);
  if (!options.mutants) return runSeeds(options, under);
  const wanted = mutantsWith(options.only.split(","));
  if (!options.remember)
    return showBoard(wanted, { from, seedsMax: options.seeds, caughtBy: readCaughtBy() });
  const remember = (caughtBy: CaughtBy): void => {
    const all = Object.entries({ ...readCaughtBy(), ...caughtBy }).sort(([one], [other]) =>
      one < other ? -1 : 1,
    );
    writeFileSync(caughtByFile, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
  };
  return showBoard(wanted, { from, seedsMax: options.seeds, remember });
}

try {
  if (!(await run(readOptions(process.argv.slice(2))))) process.exitCode = 1;
} catch (error) {
  // The request cannot be carried out; any other error is a fault of the simulator.
  const isAsked =
    error instanceof RangeError || error instanceof SyntaxError || Object(error).code !== undefined;
  if (!isAsked) throw error;
  console.error(`${(error as Error).message}\n${usage}`);
  process.exitCode = 2;
}
