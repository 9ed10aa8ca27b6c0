import { describe, expect, it } from "vitest";
import { Random } from "../sim/kernel/random.ts";
import { testSeed } from "../tools/test-seed.ts";
import { type CostPair, medianInterval, pairsMin, slowdownOf, spreadOf } from "./against.ts";

const seed = testSeed(process.env);
const trials = 4_000;

/** Pairs as a busy machine gives them: each value is disturbed by a share of it, and one in ten is up to four times too high. */
function pairsOf(random: Random, count: number, slowdown: number, noise: number): readonly CostPair[] {
  const uniform = (): number => random.below(1_000_000) / 1_000_000;
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const cost = (): number => 400 * Math.exp(noise * normal()) * (uniform() < 0.1 ? 1 + 3 * uniform() : 1);
  return Array.from({ length: count }, () => ({ present: slowdown * cost(), other: cost() }));
}

function alarmRate(count: number, slowdown: number, noise = 0.05): number {
  const random = Random.of(seed);
  let alarms = 0;
  for (let trial = 0; trial < trials; trial += 1)
    if (slowdownOf(pairsOf(random, count, slowdown, noise)).isAlarm) alarms += 1;
  return alarms / trials;
}

describe(`a slowdown, seed ${seed}`, () => {
  it.each([6, 15, 16, 31])(
    "is reported for equal sides no more often than is stated, of %i pairs",
    (count) => {
      expect(alarmRate(count, 1)).toBeLessThan(0.025);
      // At the limit itself the rate is the greatest that it may be; three standard deviations of the count are allowed for.
      expect(alarmRate(count, 1.03)).toBeLessThan(0.025 + 3 * Math.sqrt(0.025 / trials));
    },
  );

  it("is found where the present side takes a tenth more", () => {
    expect(alarmRate(15, 1.1, 0.02)).toBeGreaterThan(0.9);
    // On a machine that is noisier, more pairs are needed.
    expect(alarmRate(41, 1.1, 0.05)).toBeGreaterThan(0.9);
  });

  it("is not reported of a side that is faster", () => {
    expect(alarmRate(15, 0.9)).toBe(0);
  });
});

describe("the interval of a median", () => {
  it("is made of the ranks of the tables", () => {
    const ranks = (count: number) => medianInterval(Array.from({ length: count }, (_, at) => count - at));
    expect(ranks(6)).toEqual({ median: 3.5, low: 1, high: 6 });
    expect(ranks(15)).toEqual({ median: 8, low: 4, high: 12 });
    expect(ranks(20)).toEqual({ median: 10.5, low: 6, high: 15 });
    expect(ranks(50)).toEqual({ median: 25.5, low: 18, high: 33 });
  });

  it("needs as many values as make one", () => {
    expect(() => medianInterval(Array(pairsMin - 1).fill(1))).toThrow("at least 6");
  });
});

it("the spread of values is that of their middle half", () => {
  expect(spreadOf([100, 90, 110, 500, 95])).toBe(0.15);
});
