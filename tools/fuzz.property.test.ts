// Some fuzzing for each target in every run of the suite, seconds of it in a full dose; `npm run fuzz` uses a different seed each time and
// runs longer.

import { describe, expect, it } from "vitest";
import { fuzz, randomFrom } from "./fuzz/run.ts";
import type { FuzzTarget } from "./fuzz/target.ts";
import { fuzzTargets, regressionsOf } from "./fuzz/targets.ts";
import { isFullDose } from "./test-dose.ts";
import { testSeed } from "./test-seed.ts";

const seed = testSeed(process.env);
/** A small dose ends by its number, so that a slow machine tries as much. */
const inputsMax = isFullDose() ? 1_000_000 : 400;
const msPerTarget = isFullDose() ? 3_500 : 60_000;
/** In the full dose others may have the processor for all of its time. */
const furtherInputs = 21;

describe(`fuzzing with seed ${seed}`, () => {
  it.each(fuzzTargets.map((target) => [target.name, target] as const))(
    "%s",
    async (name, target) => {
      const regressions = regressionsOf(name);
      const inputsMin = target.seeds.length + regressions.length + furtherInputs;
      const limits = { inputsMin, inputsMax, msMax: msPerTarget };
      const report = await fuzz(target, { seed, ...limits, regressions });
      const { failure } = report;
      const again =
        failure === null ? "" : `npm run fuzz -- --target ${name} --input ${failure.input.toBase64()}`;
      expect(failure === null ? null : `${failure.error}\n${again}`).toBeNull();
      expect(report.inputs).toBeGreaterThanOrEqual(inputsMin);
      expect(report.outcomes).toBeGreaterThan(1);
    },
    600_000,
  );
});

describe("the fuzzer", () => {
  const needle: FuzzTarget = {
    name: "needle",
    seeds: [new TextEncoder().encode("aaaaaaaaaaaaaaaa")],
    words: ["nee", "dle"],
    check: (input) => {
      const text = new TextDecoder().decode(input);
      if (text.includes("needle")) throw new Error("found");
      return text.includes("nee") ? "warm" : "cold";
    },
  };

  it("finds what only a way over new outcomes leads to, and makes it small", async () => {
    const report = await fuzz(needle, { seed: 1, inputsMax: 200_000, msMax: 60_000, regressions: [] });
    expect(new TextDecoder().decode(report.failure?.input)).toBe("needle");
  }, 90_000);

  it("does the same for the same seed", async () => {
    const tried: string[][] = [[], []];
    for (const inputs of tried) {
      const check = (input: Uint8Array): string => {
        inputs.push(input.toHex());
        return input.length > 20 ? "long" : "short";
      };
      await fuzz({ ...needle, check }, { seed: 7, inputsMax: 300, msMax: 60_000, regressions: [] });
    }
    expect(tried[0]).toHaveLength(300);
    expect(tried[1]).toEqual(tried[0]);
    const random = randomFrom(3);
    const numbers = Array.from({ length: 10_000 }, () => random(10));
    for (let digit = 0; digit < 10; digit += 1) {
      expect(numbers.filter((each) => each === digit).length).toBeGreaterThan(850);
    }
  });
});
