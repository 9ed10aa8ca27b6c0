// A lock between processes of one machine: a file that names its holder. It avoids duplicate work; it must not protect
// anything that breaks when two processes hold it (an abandoned lock is taken over, and that can race).

import { open, readFile, rm, stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";

const pollMs = 200;
/** A lock file without a holder is being written; if it is older than this, its writer died. */
const unnamedMaxMs = 5_000;
/** After this time a lock counts as abandoned: its holder's process id may have been reused by then. */
const heldMaxMs = 15 * 60_000;

/**
 * Runs `work` while no other process on the machine runs any under the same file. `waits` is called once if another process
 * has to be waited for.
 */
export async function withLock<Result>(
  file: string,
  work: () => Promise<Result>,
  waits: (holder: number) => void = () => {},
): Promise<Result> {
  let isTold = false;
  while (!(await take(file))) {
    const holder = isTold ? 0 : await holderOf(file);
    if (holder > 0 && holder !== process.pid) {
      waits(holder);
      isTold = true;
    }
    await wait(pollMs);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, "wx");
    await handle.writeFile(String(process.pid));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (await isAbandoned(file)) await rm(file, { force: true });
    return false;
  }
}

async function isAbandoned(file: string): Promise<boolean> {
  try {
    const holder = Number(await readFile(file, "utf8"));
    const ageMs = Date.now() - (await stat(file)).mtimeMs;
    return holder > 0 ? !isRunning(holder) || ageMs > heldMaxMs : ageMs > unnamedMaxMs;
  } catch {
    return false;
  }
}

/** The holder's process id, or 0 where none is named. */
async function holderOf(file: string): Promise<number> {
  return Number(await readFile(file, "utf8").catch(() => "0"));
}

/** Whether a process with that id exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
