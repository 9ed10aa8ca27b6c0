// Child processes of the benchmark. What is measured runs in its own process, so that no figure is warmed up or slowed down
// by another; each is ended by the code that started it, by its own process id.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { root, type StartedProcess, startProcess } from "../tools/process.ts";
import { type CpuTimes, cpuBetween, type Spent } from "./answer-parent.ts";

/** A child's answer to a call, or its error. */
interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export interface ChildOptions {
  /** Folder into which the child writes a CPU profile when it ends; null for no profile. */
  readonly profileTo: string | null;
  /** Additional options for Node. */
  readonly nodeOptions?: readonly string[];
  /** The checkout whose program it runs; by default this one. */
  readonly tree?: string;
}

/** How long a child may take to end on its own. */
const endMs = 20_000;

export class Child implements AsyncDisposable {
  readonly #started: StartedProcess;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #lastCall = 0;

  private constructor(started: StartedProcess, path: string) {
    this.#started = started;
    void started.ended.then(({ code, signal, error }) =>
      this.#failAll(error ?? new Error(`${path} ended (${signal ?? code}) before it answered`)),
    );
    started.child.on("message", (message) => this.#take(message as Reply));
  }

  /** Starts a program (a path below bench/) that answers calls with {@link answerParent}. */
  static start(path: string, { profileTo, nodeOptions = [], tree = root }: ChildOptions): Child {
    const profiling = profileTo === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileTo}`];
    const program = join(tree, "bench", path);
    const started = startProcess(process.execPath, [...profiling, ...nodeOptions, program], {
      ...{ cwd: tree, stdio: ["ignore", "inherit", "inherit", "ipc"] },
    });
    return new Child(started, path);
  }

  /** Calls a function of the child. The type of the result is not checked: the child's program determines it. */
  call<T>(name: string, params: unknown = null): Promise<T> {
    this.#lastCall += 1;
    const id = this.#lastCall;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    this.#started.child.send({ id, name, params }, (error) => {
      if (error === null) return;
      this.#calls.delete(id);
      call.reject(error);
    });
    return call.promise as Promise<T>;
  }

  /** Current resident memory in bytes; null where the system does not report it. */
  residentBytes(): Promise<number | null> {
    return this.#memoryBytes("VmRSS");
  }

  /** Resident memory that is not file content: the part that cannot be reclaimed while the process needs it. */
  ownBytes(): Promise<number | null> {
    return this.#memoryBytes("RssAnon");
  }

  /** Peak resident memory, as in {@link residentBytes}. */
  highestResidentBytes(): Promise<number | null> {
    return this.#memoryBytes("VmHWM");
  }

  async #memoryBytes(line: "VmRSS" | "RssAnon" | "VmHWM"): Promise<number | null> {
    const kilobytes = await readFile(`/proc/${this.#started.child.pid}/status`, "utf8").then(
      (status) => new RegExp(`^${line}:\\s+(\\d+) kB$`, "m").exec(status)?.[1],
      () => undefined,
    );
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  }

  /** Kills it (kill -9); resolves when it is gone. Calls in flight are rejected. */
  async kill(): Promise<void> {
    this.#started.signal("SIGKILL");
    await this.#started.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { child, signal, ended } = this.#started;
    if (child.connected) child.disconnect();
    const timer = setTimeout(() => signal("SIGKILL"), endMs);
    await ended;
    clearTimeout(timer);
  }

  #take(reply: Reply): void {
    const call = this.#calls.get(reply.id);
    this.#calls.delete(reply.id);
    if (reply.error === undefined) call?.resolve(reply.result);
    else call?.reject(new Error(reply.error));
  }

  #failAll(error: Error): void {
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }
}

/** What something takes, in time and in processor time of a child, which answers `cpuTimes`. */
export async function spend<T>(
  child: Child,
  work: () => Promise<T>,
): Promise<Spent & { readonly result: T }> {
  const before = await child.call<CpuTimes>("cpuTimes");
  const startedMs = performance.now();
  const result = await work();
  const elapsedMs = performance.now() - startedMs;
  return { result, elapsedMs, cpu: cpuBetween(before, await child.call<CpuTimes>("cpuTimes")) };
}

/** What one operation cost: elapsed time, and processor time of the main thread and of all. */
export interface Cost {
  readonly micros: number;
  readonly mainMicros: number;
  readonly allMicros: number;
}

/** What each of so many operations cost. */
export function costOf({ elapsedMs, cpu }: Spent, operations: number): Cost {
  const microsOf = (ms: number): number => (ms * 1_000) / operations;
  return { micros: microsOf(elapsedMs), mainMicros: microsOf(cpu.mainMs), allMicros: microsOf(cpu.allMs) };
}

export const memorySampleMs = 10;

/** Reads a child's resident memory until stopped; returns by how much its highest reading exceeds the first. */
export function watchMemory(child: Child): { stop(): Promise<number | null> } {
  let stopped = false;
  const watch = async (): Promise<number | null> => {
    const before = await child.residentBytes();
    if (before === null) return null;
    let highest = before;
    while (!stopped) {
      highest = Math.max(highest, (await child.residentBytes()) ?? 0);
      await delay(memorySampleMs);
    }
    return highest - before;
  };
  const watching = watch();
  return {
    stop: () => {
      stopped = true;
      return watching;
    },
  };
}
