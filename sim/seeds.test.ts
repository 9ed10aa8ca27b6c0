// A fixed set of seeds and a fresh one. Whatever fails here is reproduced by the command that it prints.

import { describe, expect, it } from "vitest";
import { hunt } from "./mutants/board.ts";
import { mutants } from "./mutants/list.ts";
import { runSeed } from "./run-seed.ts";

/** The fixed seeds, ten a test. */
const tens = [0, 10, 20, 30, 40, 50];
const freshSeed = 1 + Math.floor(Math.random() * 1_000_000_000);

async function expectHeld(seed: number): Promise<void> {
  const { violations } = await runSeed(seed);
  expect(violations, `npm run sim -- --seed ${seed}`).toEqual([]);
}

describe("every invariant holds", () => {
  it.each(tens)("of the ten seeds after %i", async (before) => {
    for (let seed = before + 1; seed <= before + 10; seed += 1) await expectHeld(seed);
  });

  it(`of the fresh seed ${freshSeed}`, () => expectHeld(freshSeed));
});

describe("a guard that is missing is found", () => {
  const quick = [
    "commitChecksHead",
    "nonceOnlyInMemory",
    "seqIsNotChecked",
    "chunkAnswerIsForgotten",
    "removalIsUntold",
  ];

  it.each(
    mutants.filter(({ name }) => quick.includes(name)).map((mutant) => [mutant.about, mutant] as const),
  )("when %s", async (_about, mutant) => {
    const { seeds } = await hunt(mutant, 1, 20);
    expect(seeds).not.toBeNull();
  });
});
