import { describe, expect, it } from "vitest";
import { type Contest, hold } from "./against.ts";
import type { Cost } from "./work.ts";

/** A contest of fixed costs in microseconds, which notes who was asked for which turn. */
function contestOf(present: Cost, other: Cost): { readonly contest: Contest; readonly asked: string[] } {
  const asked: string[] = [];
  const side = (name: string, cost: Cost) => async (turn: number) => {
    asked.push(`${name} ${turn}`);
    return cost;
  };
  const floor = { micros: 200, mainMicros: 200, allMicros: 200 };
  const contest = {
    name: "a fetch",
    warmingTurns: 2,
    present: side("present", present),
    other: side("other", other),
    floor: side("floor", floor),
  };
  return { contest, asked };
}

const cost: Cost = { micros: 400, mainMicros: 300, allMicros: 350 };

describe("a comparison with another commit", () => {
  it("measures both sides of a pair one after the other, in alternating order", async () => {
    const { contest, asked } = contestOf(cost, cost);
    await hold(contest, 6);
    const [first, second] = [asked.indexOf("present 0"), asked.indexOf("other 1")];
    expect(asked.slice(first, first + 3)).toEqual(["present 0", "other 0", "floor 0"]);
    expect(asked.slice(second, second + 3)).toEqual(["other 1", "present 1", "floor 1"]);
    expect(asked.filter((each) => each === "present 5")).toHaveLength(1);
    // What warms up is none of the pairs.
    expect(asked.slice(0, first).every((each) => /[67]$/.test(each))).toBe(true);
  });

  it("says nothing of equal sides, and compares both with the floor", async () => {
    const { isAlarm, text } = await hold(contestOf(cost, cost).contest, 6);
    expect(isAlarm).toBe(false);
    expect(text).toContain("present 2.00, other 2.00");
    expect(text).not.toContain("SLOWER");
  });

  it.each([
    ["elapsed", { ...cost, micros: 440 }],
    ["processor, main thread", { ...cost, mainMicros: 330 }],
    ["processor, all threads", { ...cost, allMicros: 385 }],
  ])("fails for a tenth more of %s, and not for a tenth less", async (what, more) => {
    const slower = await hold(contestOf(more, cost).contest, 6);
    expect(slower.isAlarm).toBe(true);
    expect(slower.text.split("\n").filter((line) => line.includes("SLOWER"))).toEqual([
      expect.stringMatching(new RegExp(`^${what} .* 1\\.100 \\(1\\.100 to 1\\.100\\)`)),
    ]);
    expect((await hold(contestOf(cost, more).contest, 6)).isAlarm).toBe(false);
  });
});
