// What others did on the machine while something was measured.

import { readdir, readFile } from "node:fs/promises";

/** Shares of the time of all processors, from 0 to 1. */
export interface Noise {
  /** What another machine had of them. */
  readonly stolen: number;
  /** What processes had that neither this one nor any that it started is an ancestor of. */
  readonly others: number;
}

/** What was measured while others had more than this share is measured again. */
const disturbedFrom = 0.1;

/** Processor time since the machine started, in its own ticks. */
interface MachineTimes {
  readonly total: number;
  readonly idle: number;
  readonly stolen: number;
  /** Of this process and those below it, also those that have ended and were waited for. */
  readonly own: number;
}

/** Watches from now on; what it returns says what was until then, null where the system does not say. */
export async function watchNoise(): Promise<() => Promise<Noise | null>> {
  const before = await machineTimes();
  return async () => {
    const after = await machineTimes();
    return before === null || after === null ? null : noiseBetween(before, after);
  };
}

/** @internal for tests */
export function noiseBetween(before: MachineTimes, after: MachineTimes): Noise {
  const [total, idle, stolen, own] = (["total", "idle", "stolen", "own"] as const).map(
    (each) => after[each] - before[each],
  ) as [number, number, number, number];
  if (total <= 0) return { stolen: 0, others: 0 };
  return { stolen: stolen / total, others: Math.max(0, total - idle - stolen - own) / total };
}

/** What `measure` returns and what others did meanwhile; measured once more if they did much and `mayRepeat` says so, the quieter counts. */
export async function measureQuietly<T>(
  measure: () => Promise<T>,
  {
    mayRepeat,
    watch = watchNoise,
  }: { readonly mayRepeat: () => boolean; readonly watch?: typeof watchNoise },
): Promise<{ readonly result: T; readonly noise: Noise | null; readonly times: number }> {
  const take = async (): Promise<{ result: T; noise: Noise | null }> => {
    const stop = await watch();
    return { result: await measure(), noise: await stop() };
  };
  const first = await take();
  if (disturbance(first.noise) <= disturbedFrom || !mayRepeat()) return { ...first, times: 1 };
  const second = await take();
  return { ...(disturbance(second.noise) < disturbance(first.noise) ? second : first), times: 2 };
}

function disturbance(noise: Noise | null): number {
  return noise === null ? 0 : noise.stolen + noise.others;
}

export function noiseText(noise: Noise | null): string {
  if (noise === null) return "what others did is unknown";
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  return `${percent(noise.stolen)} of its time stolen, ${percent(noise.others)} used by others`;
}

/** @internal for tests; null where the system does not say. */
export async function machineTimes(): Promise<MachineTimes | null> {
  const text = await readFile("/proc/stat", "utf8").catch(() => "");
  // user, nice, system, idle, iowait, irq, softirq, steal; what guests use is part of user (proc_stat(5)).
  const times = /^cpu +([\d ]+)$/m.exec(text)?.[1]?.split(" ").slice(0, 8).map(Number);
  if (times === undefined) return null;
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = times;
  const total = times.reduce((sum, each) => sum + each, 0);
  return { total, idle: idle + waiting, stolen, own: await ticksOf(process.pid) };
}

/** Processor time of a process and of those below it, also those that have ended and were waited for, in ticks of the system. */
export async function ticksOf(pid: number): Promise<number> {
  const ids = (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name));
  const stats = await Promise.all(
    ids.map(async (id) => ({ id, ...timesIn(await readFile(`/proc/${id}/stat`, "utf8").catch(() => "")) })),
  );
  const below = new Set([String(pid)]);
  let ticks = 0;
  for (let found = true; found; ) {
    found = false;
    for (const { id, parent } of stats) {
      if (below.has(id) || !below.has(parent)) continue;
      below.add(id);
      found = true;
    }
  }
  for (const each of stats) if (below.has(each.id)) ticks += each.ticks;
  return ticks;
}

/** The parent of a process, and its time with that of its children that have ended (proc_pid_stat(5)). */
function timesIn(stat: string): { readonly parent: string; readonly ticks: number } {
  // The name before the last bracket may contain anything.
  const members = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = members.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  return { parent: members[1] ?? "", ticks: Number.isNaN(ticks) ? 0 : ticks };
}
