import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./process.ts";
import {
  addCounts,
  checkStep,
  countedStep,
  formatCounts,
  formatResult,
  parseCounts,
  vitestCounts,
} from "./steps.ts";

async function countsOf(program: string): Promise<string> {
  const { counts } = await countedStep("program", [process.execPath, "-e", program], { show: false }).run();
  return formatCounts(counts);
}

describe("a counted step", () => {
  it("believes the last line when the exit code agrees", async () => {
    expect(await countsOf('console.log("3 passed, 0 failed, 2 skipped")')).toBe(
      "3 passed, 0 failed, 2 skipped",
    );
    expect(await countsOf('console.log("3 passed, 1 failed"); process.exitCode = 1')).toBe(
      "3 passed, 1 failed",
    );
  });

  it("counts a failure when the line and the exit code disagree, or there is no line or no test", async () => {
    expect(await countsOf('console.log("3 passed, 0 failed"); process.exitCode = 1')).toBe(
      "3 passed, 1 failed",
    );
    expect(await countsOf('console.log("3 passed, 0 failed"); process.kill(process.pid, "SIGKILL")')).toBe(
      "3 passed, 1 failed",
    );
    expect(await countsOf('console.log("0 passed, 0 failed")')).toBe("0 passed, 1 failed");
    expect(await countsOf('console.log("all is well")')).toBe("0 passed, 1 failed");
  });

  it("counts a program that cannot start as a failure", async () => {
    const { counts } = await countedStep("nothing", ["no-such-program-here"], { show: false }).run();
    expect(counts).toMatchObject({ passed: 0, failed: 1, skipped: 0, failures: ["nothing came to no end"] });
  });
});

describe("a check", () => {
  it("is one pass or one failure by its exit code, and keeps its output", async () => {
    expect((await checkStep("good", ["-e", ""]).run()).counts).toEqual({
      passed: 1,
      failed: 0,
      skipped: 0,
      failures: [],
    });
    const bad = await checkStep("bad", ["-e", 'console.error("so bad"); process.exit(3)']).run();
    expect(bad.counts).toEqual({ passed: 0, failed: 1, skipped: 0, failures: ["bad"] });
    expect(bad.output).toContain("so bad");
  });
});

describe("counts", () => {
  it("are read only from the last line and nothing but the form", () => {
    expect(parseCounts("5 passed, 0 failed\nbye")).toBeNull();
    expect(parseCounts("about 5 passed, 0 failed")).toBeNull();
    expect(parseCounts("noise\n5 passed, 1 failed\n\n")).toMatchObject({ passed: 5, failed: 1, skipped: 0 });
  });

  it("name what failed in the lines before the last one, and are read again with it", () => {
    const failures = Array.from({ length: 40 }, (_, at) => `std/some.test.ts > a thing ${at}`);
    const printed = formatResult({ passed: 1, failed: 40, skipped: 0, failures });
    expect(printed.split("\n")).toHaveLength(31);
    expect(parseCounts(`noise\n${printed}\n`)).toEqual({
      passed: 1,
      failed: 40,
      skipped: 0,
      failures: failures.slice(0, 30),
    });
  });

  it("of a run of vitest name its failed tests, and the files that came to none", () => {
    const test = (status: string, fullName: string) => ({ status, fullName });
    const file = (name: string, status: string, ...assertionResults: readonly ReturnType<typeof test>[]) => ({
      name: join(root, name),
      status,
      assertionResults,
    });
    const report = { numPassedTests: 1, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0 };
    const testResults = [
      file("std/a.test.ts", "failed", test("passed", "a one"), test("failed", "a two")),
      file("std/b.test.ts", "failed"),
    ];
    expect(vitestCounts({ ...report, testResults })).toEqual({
      passed: 1,
      failed: 2,
      skipped: 0,
      failures: ["std/a.test.ts > a two", "std/b.test.ts"],
    });
  });

  it("add up", () => {
    const one = { passed: 1, failed: 2, skipped: 3, failures: ["x"] };
    expect(formatCounts(addCounts([one, one]))).toBe("2 passed, 4 failed, 6 skipped");
  });
});
