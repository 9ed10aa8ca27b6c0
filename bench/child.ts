// Child processes of the benchmark. What is measured runs in its own process, so that no figure is warmed up or slowed down
// by another; each is ended by the code that started it, by its own process id.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { root, type StartedProcess, startProcess } from "../tools/process.ts";
import { type Spent, spend } from "./work.ts";

/** The modules of which a child runs functions, by their paths below bench/. Fixtures add themselves. */
export interface Modules {
  readonly "actors/program.ts": typeof import("./actors/program.ts");
  readonly "floor/ads.ts": typeof import("./floor/ads.ts");
  readonly "floor/engines.ts": typeof import("./floor/engines.ts");
  readonly "floor/fenced-commits.ts": typeof import("./floor/fenced-commits.ts");
  readonly "floor/push.ts": typeof import("./floor/push.ts");
  readonly "floor/search.ts": typeof import("./floor/search.ts");
  readonly "floor/serve.ts": typeof import("./floor/serve.ts");
  readonly "floor/synced-file.ts": typeof import("./floor/synced-file.ts");
  readonly "peers/durable.ts": typeof import("./peers/durable.ts");
  readonly "peers/libraries.ts": typeof import("./peers/libraries.ts");
  readonly "sections/log-append.ts": typeof import("./sections/log-append.ts");
  readonly "serve.ts": typeof import("./serve.ts");
  readonly "storm/hostile.ts": typeof import("./storm/hostile.ts");
  readonly "storm/steps.ts": typeof import("./storm/steps.ts");
  readonly "work.ts": typeof import("./work.ts");
}
export type ModulePath = keyof Modules;
export type FunctionOf<Path extends ModulePath> = keyof Modules[Path] & string;
type Called<Path extends ModulePath, Name extends FunctionOf<Path>> = Extract<
  Modules[Path][Name],
  (...args: never) => unknown
>;
export type CallArgs<Path extends ModulePath, Name extends FunctionOf<Path>> = Parameters<Called<Path, Name>>;
export type CallResult<Path extends ModulePath, Name extends FunctionOf<Path>> = Awaited<
  ReturnType<Called<Path, Name>>
>;

/** How long a child may take to end on its own. */
const endMs = 20_000;

export class Child implements AsyncDisposable {
  readonly #started: StartedProcess;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #lastCall = 0;

  /** Runs modules of the checkout `tree`, by default this one; writes a CPU profile into the folder `profileTo` when it ends. */
  constructor({
    profileTo = null,
    nodeOptions = [],
    tree = null,
  }: {
    readonly profileTo?: string | null;
    readonly nodeOptions?: readonly string[];
    readonly tree?: string | null;
  } = {}) {
    const profiling = profileTo === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileTo}`];
    const cwd = tree ?? root;
    const args = [...profiling, ...nodeOptions, join(cwd, "bench/program.ts")];
    this.#started = startProcess(process.execPath, args, {
      cwd,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    void this.#started.ended.then(({ code, signal, error }) => {
      for (const call of this.#calls.values())
        call.reject(error ?? new Error(`A child ended (${signal ?? code}) before it answered.`));
      this.#calls.clear();
    });
    this.#started.child.on("message", (message) => {
      const { id, result, error } = message as { id: number; result?: unknown; error?: string };
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (error === undefined) call?.resolve(result);
      else call?.reject(new Error(error));
    });
  }

  /** Calls a function that a module exports; what it is given and what it returns are copied. */
  call<Path extends ModulePath, Name extends FunctionOf<Path>>(
    path: Path,
    name: Name,
    ...args: CallArgs<Path, Name>
  ): Promise<CallResult<Path, Name>> {
    this.#lastCall += 1;
    const id = this.#lastCall;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    this.#started.child.send({ id, path, name, args }, (error) => {
      if (error === null) return;
      this.#calls.delete(id);
      call.reject(error);
    });
    return call.promise as Promise<CallResult<Path, Name>>;
  }

  /** What work takes, in time and in processor time of this child. */
  spend<T>(work: () => Promise<T>): Promise<Spent & { readonly result: T }> {
    return spend(work, () => this.call("work.ts", "cpuTimes"));
  }

  /**
   * Bytes of its memory, now or at their peak; null where the system does not report them. `RssAnon` is not file content: the part that
   * cannot be reclaimed while the process needs it.
   */
  async memoryBytes(line: "VmRSS" | "RssAnon" | "VmHWM"): Promise<number | null> {
    const kilobytes = await readFile(`/proc/${this.#started.child.pid}/status`, "utf8").then(
      (status) => new RegExp(`^${line}:\\s+(\\d+) kB$`, "m").exec(status)?.[1],
      () => undefined,
    );
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  }

  /** Stops it (SIGSTOP) for so long, as a hypervisor does that gives its processor to others. */
  async pause(ms: number): Promise<void> {
    this.#started.signal("SIGSTOP");
    await delay(ms);
    this.#started.signal("SIGCONT");
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
}

export const memorySampleMs = 10;

/** Reads a child's resident memory until stopped; returns by how much its highest reading exceeds the first. */
export function watchMemory(child: Child): { stop(): Promise<number | null> } {
  let stopped = false;
  const watch = async (): Promise<number | null> => {
    const before = await child.memoryBytes("VmRSS");
    if (before === null) return null;
    let highest = before;
    // A child that is gone has no memory.
    for (let now: number | null = before; now !== null && !stopped; now = await child.memoryBytes("VmRSS")) {
      highest = Math.max(highest, now);
      await delay(memorySampleMs);
    }
    return highest - before;
  };
  const watching = watch();
  const stop = (): Promise<number | null> => {
    stopped = true;
    return watching;
  };
  return { stop };
}
