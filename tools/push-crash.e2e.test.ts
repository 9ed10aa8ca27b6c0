import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCsv } from "./diamonds.ts";
import { root } from "./process.ts";
import { type CrashOptions, isProven, runPushCrash } from "./push-crash.ts";

const crash: CrashOptions = {
  csv: readCsv(join(root, "node/sandbox/data/diamonds-slice.csv")),
  stones: 5_000,
  batchSize: 640,
  kills: 3,
  seed: 20_261_121,
  samples: 20,
  log: (line) => console.log(line),
};

/** Every stone is published once, with its exact bytes, and is found and verified. */
async function expectProven(options: CrashOptions): Promise<void> {
  const report = await runPushCrash(options);
  const { stones, samples } = options;
  expect(new Set(report.killed)).toEqual(new Set(["node", "program", "both"]));
  expect(report).toMatchObject({
    ...{ live: stones, firstGeneration: stones, exactBytes: stones, indexed: stones },
    ...{ samples, found: samples, verified: samples, sentAgain: false },
  });
  expect(isProven(report, options)).toBe(true);
}

describe("a push of 5,000 stones in eight batches", () => {
  it("survives three kills and publishes every stone once", () => expectProven(crash));
});

describe("a push of 30,000 stones in one file", () => {
  it("survives five kills and publishes every stone once", () =>
    expectProven({ ...crash, stones: 30_000, batchSize: null, kills: 5 }));

  it("is no proof where everything was settled before the last kill", async () => {
    const few = { ...crash, stones: 60, batchSize: null, kills: 5, samples: 1 };
    await expect(runPushCrash(few)).rejects.toThrow(/ended before kill|settled before kill/);
  });
});
