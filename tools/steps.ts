// The steps of `npm run check` and of the test suites, and how each reports.

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type ProcessResult, type RunOptions, root, run, runNode } from "./process.ts";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The names of what failed, as far as they are known: the output has them too, where a reader of its end does not see them. */
  readonly failures: readonly string[];
}

const nothingFailed: readonly string[] = [];

export interface StepReport {
  readonly counts: Counts;
  /** What to show of a failed step; empty when its output was already shown. */
  readonly output: string;
}

export interface Step {
  readonly name: string;
  run(): Promise<StepReport>;
}

/** The executable of a package as a path for Node; `bin` selects one of several. */
export function binOf(packageName: string, bin: string = packageName): string {
  const manifestPath = join(root, "node_modules", packageName, "package.json");
  const manifest = createRequire(import.meta.url)(manifestPath) as { bin: string | Record<string, string> };
  const file = typeof manifest.bin === "string" ? manifest.bin : manifest.bin[bin];
  if (file === undefined) throw new Error(`${packageName} has no executable ${bin}`);
  return join(dirname(manifestPath), file);
}

/** A step that counts as one pass or one failure, by its exit code. */
export function checkStep(name: string, args: readonly string[]): Step {
  return {
    name,
    async run(): Promise<StepReport> {
      const result = await runNode(args);
      const failed = result.code === 0 ? 0 : 1;
      const failures = failed === 0 ? nothingFailed : [name];
      return { counts: { passed: 1 - failed, failed, skipped: 0, failures }, output: result.output };
    },
  };
}

/**
 * A step with its own tests: its last line is `N passed, N failed` with an optional `, N skipped`.
 * If this line is missing, the exit code contradicts it, or there are no tests, the step counts as one failure.
 */
export function countedStep(
  name: string,
  program: readonly [command: string, ...args: string[]],
  options: RunOptions & { readonly show: boolean },
): Step {
  const [command, ...args] = program;
  return {
    name,
    async run(): Promise<StepReport> {
      const result = await run(command, args, options);
      return {
        counts: settle(name, parseCounts(result.output), result),
        output: options.show ? "" : result.output,
      };
    },
  };
}

/** Runs vitest; each of its tests counts. */
export function vitestStep(
  name: string,
  args: readonly string[],
  options: RunOptions & { readonly show: boolean },
): Step {
  return {
    name,
    async run(): Promise<StepReport> {
      const folder = await mkdtemp(join(tmpdir(), "svc-vitest-"));
      try {
        const report = join(folder, "report.json");
        const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
        const result = await runNode([binOf("vitest"), "run", ...reporters, ...args], options);
        const counts = existsSync(report) ? vitestCounts(JSON.parse(await readFile(report, "utf8"))) : null;
        return { counts: settle(name, counts, result), output: options.show ? "" : result.output };
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  };
}

/** Parses what {@link formatResult} prints last, and the names before it; null when the last line has another form. */
export function parseCounts(output: string): Counts | null {
  const lines = output.trimEnd().split("\n");
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(lines.at(-1) ?? "");
  if (match === null) return null;
  const failures = lines.flatMap((line) =>
    line.startsWith(failedMark) ? [line.slice(failedMark.length)] : [],
  );
  return { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3] ?? 0), failures };
}

export function formatCounts(counts: Counts): string {
  const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`;
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}

const failedMark = "failed: ";
const failuresShown = 30;

/** The counts alone on the last line, and before it the names of what failed, of which the first thirty are shown. */
export function formatResult(counts: Counts): string {
  const shown = counts.failures.slice(0, failuresShown).map((name) => `${failedMark}${name}`);
  return [...shown, formatCounts(counts)].join("\n");
}

export function addCounts(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((sum, each) => sum + each.passed, 0),
    failed: all.reduce((sum, each) => sum + each.failed, 0),
    skipped: all.reduce((sum, each) => sum + each.skipped, 0),
    failures: all.flatMap(({ failures }) => failures),
  };
}

/** What vitest writes as JSON, as far as it is read. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    /** The file, absolute. */
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** A file that failed without a failed test (it could not be loaded, a hook threw) also counts as a failure. */
export function vitestCounts(report: VitestReport): Counts {
  const failures = report.testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length === 0) return status === "failed" ? [file] : [];
    return failed.map(({ fullName }) => `${file} > ${fullName}`);
  });
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  ).length;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles,
    skipped: report.numPendingTests + report.numTodoTests,
    failures,
  };
}

/** Compares the counts with the exit code: neither may hide what the other says. */
function settle(name: string, counts: Counts | null, result: ProcessResult): Counts {
  if (counts === null) return { passed: 0, failed: 1, skipped: 0, failures: [`${name} came to no end`] };
  const contradicted = counts.failed === 0 && (result.code !== 0 || counts.passed + counts.skipped === 0);
  return contradicted ? { ...counts, failed: 1, failures: [`${name} ended with ${result.code}`] } : counts;
}
