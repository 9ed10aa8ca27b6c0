// `npm run cluster:soak`: the faults that a cluster must survive, on real engines, repeatedly and with new seeds.
// Prints one line per round and a summary at the end. The exit code is 1 when any round failed.

import { exitCodes, parseInteger, parseOptions, runTool, UsageError } from "./command-line.ts";
import { type EngineSuite, engineSuites, projectsOf } from "./engine-suites.ts";
import { serveFaults } from "./engines/control.ts";
import { startProfile } from "./engines/profiles.ts";
import { addCounts, type Counts, formatCounts, vitestStep } from "./steps.ts";

interface Round {
  readonly suite: string;
  readonly seed: number;
  readonly counts: Counts;
  readonly seconds: number;
}

interface SoakOptions {
  readonly minutes: number;
  readonly firstSeed: number;
  readonly only: string | undefined;
}

const help = `npm run cluster:soak [-- OPTIONS]
  The faults that a cluster must survive, on real engines, again and again with fresh seeds.

  --minutes N    how long; a round that began is finished (60)
  --seed N       seed of the first round; each next one adds 1 (the time)
  --only NAME    only test files whose path contains it
  --help         show this

Ends with 0 all passed · 1 something failed, or nothing was tested · 2 wrong usage`;

await runTool({ help, run: (args) => soak(parseSoakOptions(args)) });

function parseSoakOptions(args: readonly string[]): SoakOptions {
  const values = parseOptions(args, {
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: String(Math.floor(Date.now() / 1_000)) },
    only: { type: "string" },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0))
    throw new UsageError(`--minutes must be a number above 0, not ${JSON.stringify(values.minutes)}.`);
  return {
    minutes,
    firstSeed: parseInteger("--seed", values.seed, { min: 0, max: Number.MAX_SAFE_INTEGER }),
    only: values.only,
  };
}

async function soak({ minutes, firstSeed, only }: SoakOptions): Promise<void> {
  const untilMs = performance.now() + minutes * 60_000;
  const suites = engineSuites.map(({ projects, ...suite }) => ({
    ...suite,
    projects: projects.filter((project) => project !== "engines"),
  }));
  const rounds: Round[] = [];
  for (let round = 0; round === 0 || performance.now() < untilMs; round += 1) {
    for (const suite of suites) {
      const latest = await runRound(suite, firstSeed + round, only);
      rounds.push(latest);
      console.log(lineOf(latest));
    }
  }
  const lastSeed = firstSeed + rounds.length / suites.length - 1;
  console.log(`\n${rounds.length} rounds, seeds ${firstSeed} to ${lastSeed}.`);
  summarize(rounds);
}

/** Each round has its own engines, so that no round is affected by what an earlier one left behind. */
async function runRound(suite: EngineSuite, seed: number, only: string | undefined): Promise<Round> {
  const beganMs = performance.now();
  await using engines = await startProfile(suite.profile, { progress: console.log });
  await using control = await serveFaults(engines);
  const env = {
    ...engines.env,
    SVC_TEST_ENGINES: control.url,
    SVC_TEST_SEED: String(seed),
    SVC_TEST_AWAY_SECONDS: "60",
  };
  const filters = only === undefined ? [] : [only];
  const step = vitestStep(suite.profile, [...projectsOf(suite), "--passWithNoTests", ...filters], {
    show: true,
    env,
  });
  const { counts } = await step.run();
  return { suite: suite.profile, seed, counts, seconds: Math.round((performance.now() - beganMs) / 1_000) };
}

function lineOf({ suite, seed, counts, seconds }: Round): string {
  return `[soak] ${suite}, seed ${seed}: ${formatCounts(counts)} (${seconds} s)`;
}

function summarize(rounds: readonly Round[]): void {
  const total = addCounts(rounds.map(({ counts }) => counts));
  const failed = rounds.filter(({ counts }) => counts.failed > 0);
  for (const round of failed) {
    console.log(`${lineOf(round)}\n  again: npm run cluster:soak -- --minutes 1 --seed ${round.seed}`);
  }
  console.log(formatCounts(total));
  process.exitCode = failed.length > 0 || total.passed === 0 ? exitCodes.failed : exitCodes.done;
}
