// One engine as a process group of its own: started, waited for, paused, killed.
//   E1. It outlives no crash of the process that started it: the guard ends it (see `guard.ts`).
//   E2. A signal reaches the whole group, for an engine may be a launcher and a server.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

export interface EngineCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** What it writes goes there, added to what is there. */
  readonly logFile: string;
}

export interface EngineProcess {
  readonly pid: number;
  hasEnded(): boolean;
  /** Once it is gone. */
  readonly ended: Promise<void>;
  /** To the whole group; nothing happens once it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** Asks it to end, insists after `graceMs`, and waits until it is gone. */
  stop(graceMs: number): Promise<void>;
  /** Last lines of its log. */
  logTail(): string;
}

/** One process that ends the engines of this one when it is gone (E1). */
export interface Guard {
  watch(pid: number): void;
  forget(pid: number): void;
  /** Removed when this process is gone, unless the guard was closed before. */
  removeLater(folder: string): void;
  /** Ends the guard and what it still watches; resolves when it is gone. */
  close(): Promise<void>;
}

/** Starts a guard. It does not keep this process alive; engines do. */
export function startGuard(): Guard {
  const child = spawn(process.execPath, [join(import.meta.dirname, "guard.ts")], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  child.on("error", () => resolve());
  child.on("exit", () => resolve());
  const input = child.stdin;
  // The guard was ended by somebody: the engines stay stoppable by us.
  input.on("error", () => {});
  child.unref();
  return {
    watch: (pid) => void input.write(`watch ${pid}\n`),
    forget: (pid) => void input.write(`forget ${pid}\n`),
    removeLater: (folder) => void input.write(`folder ${folder}\n`),
    close: () => {
      child.ref();
      input.end();
      return ended;
    },
  };
}

const tailMax = 6_000;

/** Starts the engine's program under the guard. */
export function startEngineProcess(engine: EngineCommand, guard: Guard): EngineProcess {
  const log = openSync(engine.logFile, "a");
  const child = spawn(engine.command, engine.args, {
    cwd: engine.cwd,
    env: engine.env,
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const ended = Promise.withResolvers<void>();
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    if (child.pid !== undefined) guard.forget(child.pid);
    ended.resolve();
  };
  child.on("error", end);
  child.on("exit", end);
  if (child.pid !== undefined) guard.watch(child.pid);
  const signal = (name: NodeJS.Signals): void => signalGroup(child, name);
  return {
    pid: child.pid ?? 0,
    hasEnded: () => isEnded,
    ended: ended.promise,
    signal,
    stop: async (graceMs) => {
      if (isEnded) return;
      // A paused one cannot hear the request to end.
      signal("SIGCONT");
      signal("SIGTERM");
      const insist = setTimeout(() => signal("SIGKILL"), graceMs);
      await ended.promise;
      clearTimeout(insist);
      // What of its group outlived the leader.
      signal("SIGKILL");
    },
    logTail: () => readFileSync(engine.logFile, "utf8").slice(-tailMax),
  };
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // Nobody of the group is left.
  }
}

const pollMs = 100;

/** Waits until `isReady` says so; throws with the end of its log when the engine ended or took longer than `maxMs`. */
export async function untilReady(
  engine: Pick<EngineProcess, "hasEnded" | "logTail">,
  {
    name,
    maxMs,
    isReady,
  }: { readonly name: string; readonly maxMs: number; readonly isReady: () => Promise<boolean> },
): Promise<void> {
  const lastMs = performance.now() + maxMs;
  while (!(await isReady())) {
    if (engine.hasEnded()) throw new Error(`${name} ended before it was ready:\n${engine.logTail()}`);
    if (performance.now() > lastMs)
      throw new Error(`${name} is not ready after ${maxMs} ms:\n${engine.logTail()}`);
    await wait(pollMs);
  }
}
