import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { machineTimes, measureQuietly, noiseBetween } from "./noise.ts";

describe("noise", () => {
  it("is what neither rested, was stolen nor was used by the benchmark", () => {
    const before = { total: 1_000, idle: 500, stolen: 10, own: 100 };
    const after = { total: 1_200, idle: 540, stolen: 30, own: 200 };
    expect(noiseBetween(before, after)).toEqual({ stolen: 0.1, others: 0.2 });
    expect(noiseBetween(before, before)).toEqual({ stolen: 0, others: 0 });
  });

  it.skipIf(process.platform !== "linux")("has nothing of a process that this one started", async () => {
    const before = await machineTimes();
    // Half a second of processor time, however long that takes.
    execFileSync(process.execPath, ["-e", "while (process.cpuUsage().user < 500_000);"]);
    const after = await machineTimes();
    expect((after?.own ?? 0) - (before?.own ?? 0)).toBeGreaterThanOrEqual(50);
  });
});

describe("what was disturbed", () => {
  const quiet = { stolen: 0.01, others: 0.02 };
  const noisy = { stolen: 0.2, others: 0.1 };

  it.each([
    ["once if it was quiet", [quiet], true, [0, quiet, 1]],
    ["again if others were active, and the quieter counts", [noisy, quiet], true, [1, quiet, 2]],
    [
      "again, and the first counts where the second is worse",
      [noisy, { stolen: 0.5, others: 0 }],
      true,
      [0, noisy, 2],
    ],
    ["once if there is no time", [noisy], false, [0, noisy, 1]],
    ["once if nothing is known", [null], true, [0, null, 1]],
  ] as const)("is measured %s", async (_, noises, mayRepeat, [result, noise, times]) => {
    let at = 0;
    const measured = await measureQuietly(async () => at, {
      mayRepeat: () => mayRepeat,
      watch: async () => async () => {
        const seen = noises[at] ?? null;
        at += 1;
        return seen;
      },
    });
    expect(measured).toEqual({ result, noise, times });
  });
});
