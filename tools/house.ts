// The list of steps. A new kind of test is one more entry here.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { engineStep, engineSuites, hasTests } from "./engine-suites.ts";
import { root } from "./process.ts";
import {
  addCounts,
  binOf,
  type Counts,
  checkStep,
  countedStep,
  formatCounts,
  type Step,
  vitestStep,
} from "./steps.ts";
import { listFiles } from "./tidy/source.ts";

const tsc = binOf("typescript", "tsc");

/** Checks of the sources that run no test. */
export const sourceChecks: readonly Step[] = [
  checkStep("types", [tsc, "-p", "tsconfig.json"]),
  checkStep("types of the pure folders", [tsc, "-p", "tsconfig.pure.json"]),
  checkStep("types of what runs in browsers", [tsc, "-p", "tsconfig.browser.json"]),
  checkStep("format and lint", [
    binOf("@biomejs/biome", "biome"),
    "check",
    "--diagnostic-level=warn",
    "--error-on-warnings",
    ".",
  ]),
  checkStep("dead code", [binOf("knip"), "--no-progress"]),
  // Code used only by tests is dead as well, unless it is marked `@internal`.
  checkStep("dead code in production", [binOf("knip"), "--no-progress", "--production"]),
];

/** The steps of `npm run check`. */
export const allChecks: readonly Step[] = [
  ...sourceChecks,
  vitestStep("quick tests", ["--project", "pure", "--mode", "quick"], { show: false }),
];

const projects = (...names: readonly string[]): readonly string[] =>
  names.flatMap((name) => ["--project", name]);
/** Vitest projects of tests that need nothing but npm; they use all cores. */
const needingNothing = projects("pure", "io", "alone", "e2e");
const fullDose = { show: true, env: { SVC_TEST_DOSE: "full" } };

/** Tests that only compute; like {@link mutants} they run beside the tests on engines. */
export const computingTests: Step = vitestStep("tests that only compute", projects("computing"), {
  ...fullDose,
  isYielding: true,
});

/** The tests of `npm test`, with a small dose of what is random. */
export const peoplesTests: Step = vitestStep("tests", needingNothing, { show: true });

/** The same and those that need more, with the full dose. */
export const allTests: Step = vitestStep("tests", [...needingNothing, ...projects("full")], fullDose);

/** What {@link allTests} has and {@link peoplesTests} has not, but for {@link fullDoses}. */
export const furtherTests: Step = vitestStep("tests that need more than npm", projects("full"), fullDose);

/**
 * The tests of {@link peoplesTests} that try more in the full dose. Like {@link mutants} they run beside the tests on engines, which
 * mostly wait for one another, and take only the time that these leave. Reads every test file, so only a run that needs it asks.
 */
export function fullDoses(): Step {
  const files = listFiles(root, [".test.ts"]).filter((path) =>
    readFileSync(join(root, path), "utf8").includes('/test-dose.ts"'),
  );
  // What yields its time to others needs a multiple of it.
  const args = [...needingNothing, ...files, "--testTimeout=600000"];
  return vitestStep("the full dose of random tests", args, { ...fullDose, show: false, isYielding: true });
}

/** Every mutant counts as a test. The seeds are always the same, so that each mutant meets the same seeds everywhere. */
export const mutants: Step = countedStep(
  "mutants of the simulator",
  [process.execPath, "sim/main.ts", "--mutants", "--from", "1"],
  { show: false, isYielding: true },
);

/** The tests on real engines, one suite after another: each starts engines of its own. */
export const engineTests: readonly Step[] = engineSuites.filter(hasTests).map((suite) => engineStep(suite));

/** Runs the steps in parallel; prints the time of each and the output of those that failed. */
export async function runAll(steps: readonly Step[]): Promise<Counts> {
  return addCounts(await Promise.all(steps.map(runOne)));
}

export async function runOne(step: Step): Promise<Counts> {
  const startedMs = performance.now();
  const { counts, output } = await step.run();
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const mark = counts.failed === 0 ? "ok  " : "FAIL";
  console.log(`${mark} ${step.name}: ${formatCounts(counts)} (${seconds} s)`);
  if (counts.failed > 0 && output !== "") console.log(output.trimEnd());
  return counts;
}
