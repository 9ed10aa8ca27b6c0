import { describe, expect, it } from "vitest";
import { hunt } from "./hunt.ts";
import { mutantNamed, mutants, mutantsWith } from "./list.ts";
import { mutant } from "./mutant.ts";
import { lineOf, showBoard } from "./mutation-run.ts";

const fewSeeds = { from: 1, seedsMax: 3 };
/** Equal to the true code, but it reports a change. */
const harmless = mutant("harmless", "nothing", (changed) => ({
  indexed: (change) => {
    changed();
    return change;
  },
}));

describe("a mutant", () => {
  it("is caught by the first seed that fails, and says how often it changed something (M1)", async () => {
    const caught = await hunt(mutantNamed("commitChecksHead"), fewSeeds);
    expect(caught).toMatchObject({ fate: "caught", seeds: 1, seed: 1, invariant: "one-writer" });
    expect(caught.changes).toBeGreaterThan(0);
  });

  it("is tried first with the seed that caught it before, and then with all others", async () => {
    const mutant = mutantNamed("commitChecksHead");
    expect(await hunt(mutant, { from: 50, seedsMax: 3, first: 1 })).toMatchObject({ seeds: 1, seed: 1 });
    const asked: number[] = [];
    const canShow = (seed: number): boolean => asked.push(seed) > 0 && seed !== 2;
    expect(await hunt({ ...harmless, canShow }, { ...fewSeeds, first: 2 })).toMatchObject({
      fate: "survived",
    });
    expect(asked).toEqual([2, 1, 3, 4]);
  });

  it("survives when it changes what no seed notices, and when its seeds are too few", async () => {
    expect(await hunt(harmless, fewSeeds)).toMatchObject({ fate: "survived", seeds: 3 });
    expect(await hunt({ ...harmless, seedsMax: 2 }, fewSeeds)).toMatchObject({ seeds: 2 });
  });

  it("that is the true code is inert and no survivor, even if something fails", async () => {
    const sleeping = mutant("sleeping", "nothing", () => ({}));
    expect(await hunt(sleeping, fewSeeds)).toMatchObject({ fate: "inert", changes: 0 });
    const silent = mutant("silent", "a head that nobody checks", () =>
      mutantNamed("commitChecksHead").vary(() => {}),
    );
    expect(await hunt(silent, fewSeeds)).toMatchObject({ fate: "inert", seeds: 1, invariant: "one-writer" });
  });

  it("is hunted only where it can show", async () => {
    const asked: number[] = [];
    const canShow = (seed: number): boolean => asked.push(seed) % 3 === 0;
    expect(await hunt({ ...harmless, canShow }, { from: 1, seedsMax: 2 })).toMatchObject({ seeds: 2 });
    expect(asked).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe("the list", () => {
  it("holds each name once, and throws for one that it does not hold", () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
    expect(mutants.length).toBeGreaterThanOrEqual(41);
    expect(mutantNamed("noTombstone").about).toBe("a removed row leaves no tombstone");
    expect(() => mutantNamed("noTombstones")).toThrow("There is no mutant noTombstones; there are commit");
    expect(mutantsWith([""])).toEqual(mutants);
    expect(mutantsWith(["noTomb", "nonceOnly"]).map(({ name }) => name)).toEqual([
      "noTombstone",
      "nonceOnlyInMemory",
    ]);
    expect(() => mutantsWith(["noTomb", "noSuch"])).toThrow(`No mutant's name contains "noSuch".`);
  });
});

describe("the board", () => {
  const show = async (names: readonly string[], seedsMax: number) => {
    const lines: string[] = [];
    const wanted = names.map(mutantNamed);
    const isCaught = await showBoard(wanted, { from: 1, seedsMax, tell: (line) => lines.push(line) });
    return { isCaught, lines };
  };

  it("is in order when all are caught", async () => {
    const { isCaught, lines } = await show(["commitChecksHead", "outboxIsForgotten"], 3);
    expect([isCaught, lines.at(-1)]).toEqual([true, "2 passed, 0 failed"]);
  });

  it("fails for one that is not caught, by its name", async () => {
    const { isCaught, lines } = await show(["commitChecksHead", "commitChecksEpoch"], 2);
    expect([isCaught, lines.at(-1)]).toEqual([false, "1 passed, 1 failed"]);
    expect(lines.find((line) => line.includes("FAILS"))).toContain("commitChecksEpoch");
  });

  it("says why it fails", () => {
    const of = { seeds: 9, seed: 0, invariant: "", detail: "" };
    expect(lineOf(harmless, { ...of, fate: "inert", changes: 0 })).toContain("NEVER CHANGED ANYTHING");
    expect(lineOf(harmless, { ...of, fate: "survived", changes: 7 })).toContain(
      "it changed something 7 times",
    );
  });
});
