// Whether one of two programs is slower than the other, judged by pairs of measurements that were taken close together. What
// disturbs the machine disturbs both of a pair, so only the ratios of the pairs are judged, never the two medians. Ratios on a
// machine that others use are not normally distributed, so nothing is assumed of them: the interval of their median is made of
// two of the ratios themselves (order statistics; David and Nagaraja, «Order Statistics», section 7.1).

import { median } from "./figures.ts";

/** The median of values, and an interval that contains the median of where they come from. */
export interface MedianInterval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** A slowdown up to here is not worth an alarm. */
export const toleratedSlowdown = 1.03;
/** With fewer pairs there is no interval that is wrong in at most one of twenty cases. */
export const pairsMin = 6;

/**
 * The interval from the k-th lowest to the k-th highest value, with the largest k for which it misses the true median in at most
 * `miss` of all cases: the number of values below the median has the binomial distribution of as many tosses of a coin.
 */
export function medianInterval(values: readonly number[], miss = 0.05): MedianInterval {
  if (values.length < pairsMin) throw new RangeError(`an interval needs at least ${pairsMin} values`);
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  let k = 0;
  let below = chanceOf(sorted.length, 0);
  while (2 * (below + chanceOf(sorted.length, k + 1)) <= miss) {
    k += 1;
    below += chanceOf(sorted.length, k);
  }
  return { median: median(sorted), low: at(k), high: at(sorted.length - 1 - k) };
}

/** The probability of exactly `heads` heads in `tosses` tosses. */
function chanceOf(tosses: number, heads: number): number {
  let chance = 0.5 ** tosses;
  for (let each = 1; each <= heads; each += 1) chance *= (tosses - each + 1) / each;
  return chance;
}

/** What one operation of each side cost in one pair: time, or processor time. */
export interface CostPair {
  readonly present: number;
  readonly other: number;
}

export interface Slowdown extends MedianInterval {
  /** Whether the present side is slower by more than is tolerated, even at the lower end of the interval. */
  readonly isAlarm: boolean;
}

/** How many times as much the present side costs. A false alarm has a probability of at most 2.5 %, and less for equal sides. */
export function slowdownOf(pairs: readonly CostPair[]): Slowdown {
  const interval = medianInterval(pairs.map(({ present, other }) => present / other));
  return { ...interval, isAlarm: interval.low > toleratedSlowdown };
}

/** How noisy a measurement was: the middle half of its values, as a share of their median. */
export function spreadOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return (at(0.75) - at(0.25)) / at(0.5);
}
