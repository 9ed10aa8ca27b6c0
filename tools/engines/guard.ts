// Ends what a process started, once that process is gone however it ended: its end of our standard input closes then.
// Lines: `watch PID` and `forget PID` for a process group, `folder PATH` for a folder to be removed with them.
// Started by `engine-process.ts` in a session of its own, so that a Ctrl-C in the parent's terminal does not reach it.

import { rmSync } from "node:fs";
import { createInterface } from "node:readline";

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

for (const group of groups) {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It had ended by itself.
  }
}
for (const folder of folders)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
