// What each test file costs in processor time, which is the same on a busy machine. Every process or thread that runs files
// writes a line for each, with its own time since the file before and that of the processes that it started and waited for:
// the first file of a process is charged with its start.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { isMainThread } from "node:worker_threads";
import { root } from "./process.ts";

export interface FileCost {
  /** Path below the project's folder. */
  readonly file: string;
  /** Processor time of user and system, of all threads. */
  readonly processorMs: number;
}

/** Names the file that the lines are added to; without it nothing is noted. */
export const costsVariable = "SVC_TEST_COSTS";
/** The kernel counts the time of children in hundredths of a second. */
const msPerTick = 10;
/** Places in /proc/self/stat of the time of children, counted behind the program's name. */
const [childUser, childSystem] = [13, 14];

let notedMs = 0;

export function noteCost(path: string): void {
  const to = process.env[costsVariable];
  if (to === undefined) return;
  const nowMs = spentMs();
  const cost: FileCost = { file: relative(root, path), processorMs: Math.round(nowMs - notedMs) };
  notedMs = nowMs;
  appendFileSync(to, `${JSON.stringify(cost)}\n`);
}

function spentMs(): number {
  const { user, system } = isMainThread ? process.cpuUsage() : process.threadCpuUsage();
  return (user + system) / 1_000 + (isMainThread ? processorMsOfChildren() : 0);
}

/** Of all processes that this one started and waited for, and of theirs; 0 where the system does not tell. */
export function processorMsOfChildren(): number {
  if (!existsSync("/proc/self/stat")) return 0;
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[childUser]) + Number(fields[childSystem])) * msPerTick;
}

/** What a run noted in the file, the dearest first; a file that ran in several projects is there once. */
export function readCosts(from: string): readonly FileCost[] {
  const sums = new Map<string, number>();
  if (!existsSync(from)) return [];
  for (const line of readFileSync(from, "utf8").split("\n")) {
    if (line === "") continue;
    const { file, processorMs } = JSON.parse(line) as FileCost;
    sums.set(file, (sums.get(file) ?? 0) + processorMs);
  }
  return [...sums]
    .map(([file, processorMs]) => ({ file, processorMs }))
    .sort((one, other) => other.processorMs - one.processorMs);
}

const dearestShown = 10;

/** The end of a suite: what it cost in all, and its dearest files. */
export function formatCosts(costs: readonly FileCost[]): string {
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  const all = costs.reduce((sum, each) => sum + each.processorMs, 0);
  const rows = costs
    .slice(0, dearestShown)
    .map((each) => `${seconds(each.processorMs).padStart(8)}  ${each.file}`);
  const head = `${seconds(all)} processor seconds in ${costs.length} test files; the dearest:`;
  return [head, ...rows].join("\n");
}
