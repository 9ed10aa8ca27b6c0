// One engine as its own process group: started, waited for, paused, killed.
//   E1. It does not outlive a crash of the process that started it: the guard ends it (see `guard.ts`).
//   E2. A signal reaches the whole group, because an engine may consist of a launcher and a server.

import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { startProcess } from "../process.ts";

export interface EngineCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** File to which its output is appended. */
  readonly logFile: string;
}

export interface EngineProcess {
  readonly pid: number;
  hasEnded(): boolean;
  /** Resolves once it is gone. */
  readonly ended: Promise<void>;
  /** Signals the whole group; does nothing once it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** Asks it to end, kills it after `graceMs`, and waits until it is gone. */
  stop(graceMs: number): Promise<void>;
  /** The last lines of its log. */
  logTail(): string;
}

/** A process that ends the engines of this one when this one is gone (E1). */
export interface Guard {
  watch(pid: number): void;
  forget(pid: number): void;
  /** Removes the folder when this process is gone, unless the guard was closed before. */
  removeLater(folder: string): void;
  /** Ends the guard and what it still watches; resolves when it is gone. */
  close(): Promise<void>;
}

/** Starts a guard. It does not keep this process alive; engines do. */
export function startGuard(): Guard {
  const { child, ended } = startProcess(process.execPath, [join(import.meta.dirname, "guard.ts")], {
    stdio: ["pipe", "ignore", "ignore"],
    isGroup: true,
  });
  const input = child.stdin as Writable;
  // The guard was killed externally: this process can still stop the engines.
  input.on("error", () => {});
  child.unref();
  return {
    watch: (pid) => void input.write(`watch ${pid}\n`),
    forget: (pid) => void input.write(`forget ${pid}\n`),
    removeLater: (folder) => void input.write(`folder ${folder}\n`),
    close: async () => {
      child.ref();
      input.end();
      await ended;
    },
  };
}

const tailMax = 6_000;

export function startEngineProcess(engine: EngineCommand, guard: Guard): EngineProcess {
  const log = openSync(engine.logFile, "a");
  const { command, args, cwd, env } = engine;
  const started = startProcess(command, args, { cwd, env, stdio: ["ignore", log, log], isGroup: true });
  closeSync(log);
  const { pid } = started.child;
  if (pid !== undefined) guard.watch(pid);
  const ended = started.ended.then(() => {
    if (pid !== undefined) guard.forget(pid);
  });
  return {
    pid: pid ?? 0,
    hasEnded: started.hasEnded,
    ended,
    signal: started.signal,
    stop: started.stop,
    logTail: () => readFileSync(engine.logFile, "utf8").slice(-tailMax),
  };
}

const pollMs = 100;

/** Waits until `isReady` returns true; throws with the end of its log when the engine ended or took longer than `maxMs`. */
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
