// npm run sim: many seeds with their faults counted, or one seed with its story.

import { parseArgs } from "node:util";
import { Coverage, fullCoverageSeeds } from "./coverage.ts";
import { showBoard } from "./mutants/board.ts";
import { runSeed, type SeedResult } from "./run-seed.ts";

/** Every mutant is caught within so many fresh seeds. */
const mutantSeedsMax = 2_000;

const usage = `npm run sim -- [options]
  --seeds N      run N seeds (default 200), or as many as --minutes lets
  --minutes M    stop after M minutes
  --from S       the first seed (default: drawn afresh, and printed)
  --seed S       run one seed and tell what happened
  --mutants      remove one guard after the other; show how many seeds it takes to catch each
  --only NAME    of the mutants, those whose name contains NAME
  --guard        also watch for native asynchronous work, which is slower
`;

interface Options {
  readonly seeds: number;
  readonly minutes: number;
  readonly from: number;
  readonly seed: number | null;
  readonly guard: boolean;
  readonly mutants: boolean;
  readonly only: string;
}

/** Throws a RangeError for an option that cannot be used. */
function readOptions(given: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...given],
    options: {
      seeds: { type: "string" },
      minutes: { type: "string" },
      from: { type: "string" },
      seed: { type: "string" },
      guard: { type: "boolean", default: false },
      mutants: { type: "boolean", default: false },
      only: { type: "string", default: "" },
    },
  });
  const number = (name: "seeds" | "minutes" | "from" | "seed", fallback: number): number => {
    const value = values[name] === undefined ? fallback : Number(values[name]);
    if (Number.isNaN(value) || value < 0) throw new RangeError(`--${name} ${values[name]} is no number`);
    return value;
  };
  const minutes = number("minutes", Number.POSITIVE_INFINITY);
  return {
    minutes,
    seeds: number("seeds", values.minutes === undefined ? 200 : Number.POSITIVE_INFINITY),
    from: number("from", 1 + Math.floor(Math.random() * 1_000_000_000)),
    seed: values.seed === undefined ? null : number("seed", 0),
    guard: values.guard,
    mutants: values.mutants,
    only: values.only,
  };
}

async function tellSeed(seed: number): Promise<boolean> {
  const result = await runSeed(seed, { story: true, watchNativeWork: true });
  for (const line of result.story) console.log(line);
  console.log(
    `\nseed ${seed}: ${result.events} events in ${(result.virtualMs / 1_000).toFixed(1)} s of its time, trace ${result.traceHash}`,
  );
  console.log(`faults: ${[...result.fired].map(([kind, count]) => `${kind} ${count}`).join(", ") || "none"}`);
  for (const { invariant, detail, atMs } of result.violations)
    console.log(`VIOLATION ${invariant} at ${(atMs / 1_000).toFixed(3)} s: ${detail}`);
  if (result.violations.length === 0) console.log("every invariant held");
  return result.violations.length === 0;
}

async function runSeeds(options: Options): Promise<boolean> {
  const coverage = new Coverage();
  const failed: SeedResult[] = [];
  const startedMs = Date.now();
  let events = 0;
  let told = startedMs;
  for (let seed = options.from; coverage.seeds < options.seeds; seed += 1) {
    const nowMs = Date.now();
    if (nowMs - startedMs >= options.minutes * 60_000) break;
    const result = await runSeed(seed, { watchNativeWork: options.guard });
    coverage.add(result);
    events += result.events;
    if (result.violations.length > 0) {
      failed.push(result);
      const [first] = result.violations;
      console.log(`seed ${seed} FAILED  ${first?.invariant}: ${first?.detail}`);
    }
    if (nowMs - told >= 5_000) {
      told = nowMs;
      progress(coverage.seeds, failed.length, events, nowMs - startedMs);
    }
    // Rejections that nobody listened to come up between two seeds.
    await new Promise((resolve) => setImmediate(resolve));
  }
  progress(coverage.seeds, failed.length, events, Date.now() - startedMs);
  return conclude(coverage, failed);
}

function progress(seeds: number, failed: number, events: number, ms: number): void {
  const perMinute = Math.round((seeds / Math.max(1, ms)) * 60_000);
  const each = Math.round(events / Math.max(1, seeds));
  console.log(`${seeds} seeds, ${failed} failed, ${perMinute} a minute, ${each} events each`);
}

function conclude(coverage: Coverage, failed: readonly SeedResult[]): boolean {
  console.log(
    `faults fired: ${[...coverage.fired]
      .sort()
      .map(([kind, count]) => `${kind} ${count}`)
      .join(", ")}`,
  );
  const missing = coverage.missing();
  const isLong = coverage.seeds >= fullCoverageSeeds;
  if (missing.length > 0) console.log(`never happened${isLong ? " (FAILS)" : ""}: ${missing.join(", ")}`);
  for (const { seed } of failed) console.log(`reproduce: npm run sim -- --seed ${seed}`);
  return failed.length === 0 && (missing.length === 0 || !isLong);
}

async function main(): Promise<void> {
  let options: Options;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  if (options.seed === null) console.log(`seeds from ${options.from}`);
  if (options.mutants) {
    const seedsMax = Math.min(options.seeds, mutantSeedsMax);
    if (!(await showBoard({ from: options.from, seedsMax, only: options.only }))) process.exitCode = 1;
    return;
  }
  const isGood = options.seed === null ? await runSeeds(options) : await tellSeed(options.seed);
  if (!isGood) process.exitCode = 1;
}

await main();
