import { describe, expect, it } from "vitest";
import { addCounts, checkStep, countedStep, formatCounts, parseCounts } from "./steps.ts";

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
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});

describe("a check", () => {
  it("is one pass or one failure by its exit code, and keeps its output", async () => {
    expect((await checkStep("good", ["-e", ""]).run()).counts).toEqual({ passed: 1, failed: 0, skipped: 0 });
    const bad = await checkStep("bad", ["-e", 'console.error("so bad"); process.exit(3)']).run();
    expect(bad.counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(bad.output).toContain("so bad");
  });
});

describe("counts", () => {
  it("are read only from the last line and nothing but the form", () => {
    expect(parseCounts("5 passed, 0 failed\nbye")).toBeNull();
    expect(parseCounts("about 5 passed, 0 failed")).toBeNull();
    expect(parseCounts("noise\n5 passed, 1 failed\n\n")).toEqual({ passed: 5, failed: 1, skipped: 0 });
  });

  it("add up", () => {
    const one = { passed: 1, failed: 2, skipped: 3 };
    expect(formatCounts(addCounts([one, one]))).toBe("2 passed, 4 failed, 6 skipped");
  });
});
