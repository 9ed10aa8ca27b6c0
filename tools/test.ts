// `npm test`: the checks of the sources and every test that needs nothing but npm, in minutes. `npm run test:all` adds what needs
// real engines, a browser, programs in other languages or much time, and random tests in their full dose; with `--rest FILE` it
// runs only what `npm test` left out, and adds what that printed into the file. The last line is exactly `N passed, N failed`, with
// `, N skipped` if any; the lines before it name what failed.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  allTests,
  computingTests,
  engineTests,
  fullDoses,
  furtherTests,
  mutants,
  peoplesTests,
  runAll,
  runOne,
  sourceChecks,
} from "./house.ts";
import { addCounts, type Counts, formatResult, parseCounts, type Step } from "./steps.ts";
import { costsVariable, formatCosts, processorMsOfChildren, readCosts } from "./test-costs.ts";

const { values } = parseArgs({ options: { all: { type: "boolean" }, rest: { type: "string" } } });
const folder = mkdtempSync(join(tmpdir(), "svc-test-"));
const costs = join(folder, "costs");
process.env[costsVariable] = costs;

async function runInTurn(steps: readonly Step[]): Promise<readonly Counts[]> {
  const counted: Counts[] = [];
  for (const step of steps) counted.push(await runOne(step));
  return counted;
}

const unended: Counts = { passed: 0, failed: 1, skipped: 0, failures: ["npm test came to no end"] };

async function withEngines(beside: readonly Step[]): Promise<readonly Counts[]> {
  const running = runInTurn(beside);
  return [...(await runInTurn(engineTests)), ...(await running)];
}

async function runSuites(): Promise<readonly Counts[]> {
  if (values.rest !== undefined) {
    // Counts that cannot be read are those of a run that came to no end.
    const before = parseCounts(readFileSync(values.rest, "utf8")) ?? unended;
    return [
      before,
      await runOne(furtherTests),
      ...(await withEngines([mutants, computingTests, fullDoses()])),
    ];
  }
  const checked = await runAll(sourceChecks);
  if (values.all !== true) return [checked, await runOne(peoplesTests)];
  return [checked, await runOne(allTests), ...(await withEngines([mutants, computingTests]))];
}

const counts = addCounts(await runSuites());
console.log(`\n${formatCosts(readCosts(costs))}`);
console.log(`${Math.round(processorMsOfChildren() / 1_000)} processor seconds in all.`);
rmSync(folder, { recursive: true });
console.log(`\n${formatResult(counts)}`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
