import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCsv } from "./diamonds.ts";
import { root } from "./process.ts";
import { type CrashOptions, isProven, runPushCrash } from "./push-crash.ts";

describe("a push of 5,000 stones in eight batches", () => {
  it("survives three kills and publishes every stone once", async () => {
    const options: CrashOptions = {
      csv: readCsv(join(root, "node/sandbox/data/diamonds-slice.csv")),
      stones: 5_000,
      batchSize: 640,
      kills: 3,
      seed: 20_261_121,
      samples: 20,
      log: (line) => console.log(line),
    };
    const report = await runPushCrash(options);
    expect(new Set(report.killed)).toEqual(new Set(["node", "program", "both"]));
    expect(report).toMatchObject({
      live: 5_000,
      firstGeneration: 5_000,
      exactBytes: 5_000,
      indexed: 5_000,
      samples: 20,
      found: 20,
      verified: 20,
      sentAgain: false,
    });
    expect(isProven(report, options)).toBe(true);
  });
});
