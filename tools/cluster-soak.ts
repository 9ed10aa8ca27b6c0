// `npm run cluster:soak`: the faults that a cluster must survive, on real engines, again and again with fresh seeds.
//   --minutes N    how long (60); a round that began is finished
//   --seed N       seed of the first round; each next one adds 1
//   --only NAME    test files whose path contains it
// Prints a line a round and, in the end, what it saw. The exit code is 1 when any round failed.

import { parseArgs } from "node:util";
import { type EngineSuite, engineSuites } from "./engine-suites.ts";
import { serveFaults } from "./engines/control.ts";
import { startProfile } from "./engines/profiles.ts";
import { addCounts, type Counts, formatCounts, vitestStep } from "./steps.ts";

interface Round {
  readonly suite: string;
  readonly seed: number;
  readonly counts: Counts;
  readonly seconds: number;
}

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});
const minutes = Number(values.minutes);
const firstSeed = Number(values.seed ?? Math.floor(Date.now() / 1_000));
if (!(minutes > 0) || !Number.isSafeInteger(firstSeed)) {
  console.error("--minutes is a number above 0 and --seed a whole number.");
  process.exit(2);
}

const untilMs = performance.now() + minutes * 60_000;
const suites = engineSuites.filter(({ project }) => project !== "engines");
const rounds: Round[] = [];
for (let round = 0; round === 0 || performance.now() < untilMs; round += 1) {
  for (const suite of suites) {
    rounds.push(await runRound(suite, firstSeed + round));
    const latest = rounds.at(-1);
    if (latest !== undefined) console.log(lineOf(latest));
  }
}
summarize();

/** Engines of their own for each round: what one leaves behind is not the next one's trouble. */
async function runRound(suite: EngineSuite, seed: number): Promise<Round> {
  const beganMs = performance.now();
  await using engines = await startProfile(suite.profile, { progress: console.log });
  await using control = await serveFaults(engines);
  const env = {
    ...engines.env,
    SVC_TEST_ENGINES: control.url,
    SVC_TEST_SEED: String(seed),
    // Tests that know both take the longer times.
    SVC_TEST_SOAK: "yes",
  };
  const filters = values.only === undefined ? [] : [values.only];
  const step = vitestStep(suite.project, ["--project", suite.project, "--passWithNoTests", ...filters], {
    show: true,
    env,
  });
  const { counts } = await step.run();
  return { suite: suite.project, seed, counts, seconds: Math.round((performance.now() - beganMs) / 1_000) };
}

function lineOf({ suite, seed, counts, seconds }: Round): string {
  return `[soak] ${suite}, seed ${seed}: ${formatCounts(counts)} (${seconds} s)`;
}

function summarize(): void {
  const total = addCounts(rounds.map(({ counts }) => counts));
  const failed = rounds.filter(({ counts }) => counts.failed > 0);
  console.log(
    `\n${rounds.length} rounds, seeds ${firstSeed} to ${firstSeed + rounds.length / suites.length - 1}.`,
  );
  for (const round of failed) {
    console.log(`${lineOf(round)}\n  again: npm run cluster:soak -- --minutes 1 --seed ${round.seed}`);
  }
  console.log(formatCounts(total));
  process.exitCode = failed.length > 0 || total.passed === 0 ? 1 : 0;
}
