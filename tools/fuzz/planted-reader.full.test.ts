// Each fault that is planted in the reader of feeds is found by the fuzzer: a fuzzer that finds nothing has looked for nothing.

import { expect, it } from "vitest";
import { feedFacts, feedFactsTarget } from "./feed-facts-target.ts";
import { plantedFaults, readerWith } from "./planted-reader.ts";
import { fuzz } from "./run.ts";

/** The same for every commit: what is tried is the fuzzer, which either finds them or does not. */
const seed = 1;
const inputsMax = 30_000;

it.each(plantedFaults)("finds that $name", { timeout: 300_000 }, async (fault) => {
  const target = feedFactsTarget(await readerWith(fault));
  const options = { seed, inputsMax, msMax: 240_000, regressions: [] };
  const { failure } = await fuzz(target, options);
  expect(failure).not.toBeNull();
  // It is the fault that was found, and nothing else.
  await feedFacts.check(failure?.input ?? new Uint8Array());
});

it("refuses a planted fault that changes nothing, by its name", async () => {
  const gone = { name: "a fault of code that is gone", file: "csv.ts", from: "no such code", to: "" };
  await expect(readerWith(gone)).rejects.toThrow("a fault of code that is gone: csv.ts");
});
