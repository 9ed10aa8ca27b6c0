// Ends what a process started, once that process is gone for whatever reason: its end of our standard input then closes.
// Lines: `watch PID` and `forget PID` for a process group, `folder PATH` for a folder to be removed with them.
// Started by `engine-process.ts` in its own session, so that a Ctrl-C in the parent's terminal does not reach it.

import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";

const goneMaxMs = 10_000;
const pollMs = 50;
const groups = new Set<number>();
const folders = new Set<string>();

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [word = "", ...rest] = line.split(" ");
  const value = rest.join(" ");
  if (word === "watch") groups.add(Number(value));
  if (word === "forget") groups.delete(Number(value));
  if (word === "folder") folders.add(value);
}

for (const group of groups) signalGroup(group, "SIGKILL");
// A process that is being killed may still write into its folder.
const lastMs = performance.now() + goneMaxMs;
while ([...groups].some((group) => signalGroup(group, 0)) && performance.now() < lastMs) await wait(pollMs);
for (const folder of folders)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });

/** Returns false when the group has no process left. */
function signalGroup(group: number, signal: "SIGKILL" | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
