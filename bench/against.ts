// Compares this checkout with a commit: `npm run bench -- --against COMMIT`. The commit's sources are unpacked, and this checkout's
// benchmark takes the place of theirs, so that one harness asks both in the same way, however old theirs was. Every pair measures
// one side right after the other and then the floor, and which side is first alternates. slowdown.ts judges the pairs.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, realpath, rm, symlink } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../tools/process.ts";
import { median, tableOf } from "./figures.ts";
import { type CostPair, type Slowdown, slowdownOf, spreadOf, toleratedSlowdown } from "./slowdown.ts";
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
  const machineBefore = await machineTimes();
  const taken: Pair[] = [];
  for (let turn = 0; turn < pairs; turn += 1) taken.push(await takePair(contest, turn));
  const noise = noiseText(machineBefore, await machineTimes(), taken);
  return judge(contest.name, taken, noise);
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

/** Time of all processors, and that of it which another machine had; null where the system does not say. */
async function machineTimes() {
  const text = await readFile("/proc/stat", "utf8").catch(() => "");
  // user, nice, system, idle, iowait, irq, softirq, steal; what guests use is part of user.
  const times = /^cpu +([\d ]+)$/m.exec(text)?.[1]?.split(" ").slice(0, 8).map(Number);
  if (times === undefined) return null;
  return { total: times.reduce((sum, each) => sum + each, 0), stolen: times[7] ?? 0 };
}

type MachineTimes = Awaited<ReturnType<typeof machineTimes>>;

/** How much the machine did besides, and by how much equal work differed. */
function noiseText(before: MachineTimes, after: MachineTimes, pairs: readonly Pair[]): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const stolen =
    before === null || after === null
      ? "unknown"
      : percent((after.stolen - before.stolen) / (after.total - before.total));
  const spread = percent(spreadOf(pairs.map(({ floor }) => floor.micros)));
  return `The machine: ${stolen} of its time stolen, load ${(loadavg()[0] ?? 0).toFixed(1)}; the middle half of the floor's times spreads over ${spread}.`;
}
