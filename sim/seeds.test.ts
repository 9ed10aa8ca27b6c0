// A fixed set of seeds, new ones, and runs that once failed. Any failure here is reproduced by the command that it prints,
// on any machine, with the same commit.

import { beforeAll, describe, expect, it } from "vitest";
import { dose, isFullDose } from "../tools/test-dose.ts";
import { hunt } from "./mutants/hunt.ts";
import { mutantNamed } from "./mutants/list.ts";
import { keptOf, regressions } from "./regressions.ts";
import { runSeed } from "./run-seed.ts";
import { shrink } from "./shrink.ts";
import { everything, formatKept, type Kept } from "./world/world.ts";

/** The fixed seeds, ten per test. */
const tens = isFullDose() ? [0, 10, 20, 30, 40, 50] : [0, 10];
/** New seeds for each commit: see tools/test-seed.ts. */
const freshSeed = Number(process.env["SVC_TEST_SEED"]);
const freshSeeds = dose(50);

async function expectHeld(seed: number, kept: Kept = everything): Promise<void> {
  const { violations } = await runSeed(seed, { kept });
  expect(violations, `reproduce: npm run sim -- --seed ${seed}${formatKept(kept)}`).toEqual([]);
}

beforeAll(() => {
  const fresh = `${freshSeed} to ${freshSeed + freshSeeds - 1}`;
  console.log(
    `simulated seeds: 1 to ${10 * tens.length}, and fresh ones: ${fresh}. One of them: npm run sim -- --seed N`,
  );
});

describe("every invariant holds", () => {
  it.each(tens)("of the ten seeds after %i", async (before) => {
    for (let seed = before + 1; seed <= before + 10; seed += 1) await expectHeld(seed);
  });

  it(`of ${freshSeeds} fresh seeds from ${freshSeed}`, async () => {
    for (let seed = freshSeed; seed < freshSeed + freshSeeds; seed += 1) await expectHeld(seed);
  });

  it.each(regressions.map((regression) => [regression.name, regression] as const))(
    "where it once did not: %s",
    (_name, regression) => expectHeld(regression.seed, keptOf(regression)),
  );
});

describe("a failing run is made shorter", () => {
  it("to what breaks the same invariant, the same every time", async () => {
    const mutant = mutantNamed("noTombstone");
    const variation = mutant.vary(() => {});
    const { seed } = await hunt(mutant, { from: 1, seedsMax: 40 });
    const whole = await runSeed(seed, { variation });
    const shrunk = await shrink(seed, { variation });
    const invariants = shrunk?.result.violations.map(({ invariant }) => invariant);
    expect(invariants).toContain(whole.violations[0]?.invariant);
    expect(shrunk?.result.parts.steps.length).toBeLessThan(whole.parts.steps.length / 2);
    const again = await runSeed(seed, { variation, kept: shrunk?.kept ?? everything });
    expect(again.traceHash).toBe(shrunk?.result.traceHash);
  });

  it("or is said not to fail", async () => {
    expect(await shrink(1)).toBeNull();
  });
});
