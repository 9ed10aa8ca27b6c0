// Compares this checkout with a commit: `npm run bench -- --against COMMIT`. The commit's sources are unpacked, and this checkout's
// benchmark takes the place of theirs, so that one harness asks both in the same way, however old theirs was. Every pair measures
// one side right after the other and then the floor, and which side is first alternates. The pairs are judged below.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, realpath, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../tools/process.ts";
import { median, tableOf } from "./figures.ts";
import { type Noise, noiseText, watchNoise } from "./noise.ts";
import type { Cost } from "./work.ts";
import type { World } from "./world.ts";

/** An operation of two checkouts and of the floor, measured whenever it is asked for. */
export interface Contest {
  readonly name: string;
  /** Turns after the last that warm up, so that the code of all is compiled before the first counts. */
  readonly warmingTurns: number;
  present(turn: number): Promise<Cost>;
  other(turn: number): Promise<Cost>;
  floor(turn: number): Promise<Pick<Cost, "micros">>;
}

/** Opens a contest of so many pairs; what it opens for that belongs to the stack. */
export type OpenContest = (of: {
  readonly present: World;
  readonly other: World;
  readonly pairs: number;
  readonly opening: AsyncDisposableStack;
}) => Promise<Contest>;

const run = promisify(execFile);

/** Unpacks a commit into an empty folder, and returns its full id. Its packages are ours where its lock file is. */
export async function unpack(commit: string, folder: string): Promise<string> {
  const git = async (...args: readonly string[]) => (await run("git", ["-C", root, ...args])).stdout.trim();
  const id = await git("rev-parse", "--verify", "--end-of-options", `${commit}^{commit}`);
  const archive = `${folder}.tar`;
  await mkdir(folder, { recursive: true });
  await git("archive", "--output", archive, id);
  await run("tar", ["-xf", archive, "-C", folder]);
  await rm(archive);
  await rm(join(folder, "bench"), { recursive: true, force: true });
  await cp(join(root, "bench"), join(folder, "bench"), { recursive: true });
  const lockOf = (tree: string) => readFile(join(tree, "package-lock.json"), "utf8");
  if ((await lockOf(folder)) === (await lockOf(root)))
    await symlink(await realpath(join(root, "node_modules")), join(folder, "node_modules"));
  else await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
  return id;
}

interface Pair {
  readonly present: Cost;
  readonly other: Cost;
  readonly floor: Pick<Cost, "micros">;
}

export async function hold(contest: Contest, pairs: number) {
  for (let warming = 0; warming < contest.warmingTurns; warming += 1)
    await takePair(contest, pairs + warming);
  const watched = await watchNoise();
  const taken: Pair[] = [];
  for (let turn = 0; turn < pairs; turn += 1) taken.push(await takePair(contest, turn));
  return judge(contest.name, taken, machineText(await watched(), taken));
}

async function takePair(contest: Contest, turn: number): Promise<Pair> {
  const early = turn % 2 === 0 ? null : { other: await contest.other(turn) };
  const present = await contest.present(turn);
  const { other } = early ?? { other: await contest.other(turn) };
  return { present, other, floor: await contest.floor(turn) };
}

const costs = [
  ["elapsed", "micros"],
  ["processor, main thread", "mainMicros"],
  ["processor, all threads", "allMicros"],
] as const;

/** What is printed of the pairs, and whether anything is certainly slower. */
function judge(name: string, pairs: readonly Pair[], noise: string) {
  const judged = costs.map(([what, key]) => {
    const values = pairs.map(
      ({ present, other }): CostPair => ({ present: present[key], other: other[key] }),
    );
    const microsOf = (side: keyof CostPair): string =>
      `${median(values.map((each) => each[side])).toFixed(1)} µs`;
    const slowdown = slowdownOf(values);
    const row = [what, microsOf("present"), microsOf("other"), slowdownText(slowdown)];
    return { row, isAlarm: slowdown.isAlarm };
  });
  const floor = (side: "present" | "other"): string =>
    median(pairs.map((pair) => pair[side].micros / pair.floor.micros)).toFixed(2);
  const headings = ["", "present", "other", "present ÷ other (95 %)"];
  const text = [
    `${name}, ${pairs.length} pairs`,
    ...tableOf([headings, ...judged.map(({ row }) => row)], (column) => column === 1 || column === 2),
    `Times the floor's elapsed time: present ${floor("present")}, other ${floor("other")}.`,
    noise,
  ].join("\n");
  return { isAlarm: judged.some(({ isAlarm }) => isAlarm), text };
}

function slowdownText({ median: middle, low, high, isAlarm }: Slowdown): string {
  const alarm = isAlarm ? `  SLOWER by more than ${((toleratedSlowdown - 1) * 100).toFixed(0)} %` : "";
  return `${middle.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})${alarm}`;
}

/** How much the machine did besides, and by how much equal work differed. */
function machineText(noise: Noise | null, pairs: readonly Pair[]): string {
  const spread = (spreadOf(pairs.map(({ floor }) => floor.micros)) * 100).toFixed(1);
  return `The machine: ${noiseText(noise)}; the middle half of the floor's times spreads over ${spread} %.`;
}

// Whether one of two programs is slower than the other, judged by pairs of measurements that were taken close together. What
// disturbs the machine disturbs both of a pair, so only the ratios of the pairs are judged, never the two medians. Ratios on a
// machine that others use are not normally distributed, so nothing is assumed of them: the interval of their median is made of
// two of the ratios themselves (order statistics; David and Nagaraja, «Order Statistics», section 7.1).

/** The median of values, and an interval that contains the median of where they come from. */
export interface MedianInterval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** A slowdown up to here is not worth an alarm. */
const toleratedSlowdown = 1.03;
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

interface Slowdown extends MedianInterval {
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
