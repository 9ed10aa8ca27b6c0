// Child processes of the tools and the benchmark, started in this one place.
//   P1. One that cannot be started has ended at once, and says why: nothing of it throws.
//   P2. A group is signalled as a whole, also what of it outlives its leader.

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { dirname } from "node:path";

/** The project's root folder, absolute. */
export const root: string = dirname(import.meta.dirname);

export interface StartOptions {
  readonly cwd?: string;
  /** The whole environment; that of this process without it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Nothing to read and nobody who listens, without it. */
  readonly stdio?: StdioOptions;
  /** Leads a process group of its own, which every signal reaches (P2). */
  readonly isGroup?: boolean;
}

export interface ProcessEnd {
  /** Exit code; null when a signal ended it, or when it could not be started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started (P1). */
  readonly error: Error | null;
}

export interface StartedProcess {
  /** Its streams and its channel. */
  readonly child: ChildProcess;
  hasEnded(): boolean;
  /** Once it is gone. */
  readonly ended: Promise<ProcessEnd>;
  /** Once it is gone and everything that it wrote was read. */
  readonly closed: Promise<ProcessEnd>;
  /** Nothing happens once it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** Asks it to end, insists after `graceMs`, and waits until it is gone. */
  stop(graceMs: number): Promise<void>;
}

export function startProcess(
  command: string,
  args: readonly string[],
  { cwd = root, env = process.env, stdio = "ignore", isGroup = false }: StartOptions = {},
): StartedProcess {
  const child = spawn(command, args, { cwd, env, stdio, detached: isGroup, serialization: "advanced" });
  const ended = Promise.withResolvers<ProcessEnd>();
  const closed = Promise.withResolvers<ProcessEnd>();
  let isEnded = false;
  const end = (how: ProcessEnd): void => {
    isEnded = true;
    ended.resolve(how);
  };
  child.on("error", (error) => {
    // Others are about a message or a signal to one that runs.
    if (child.pid !== undefined) return;
    end({ code: null, signal: null, error });
    closed.resolve(ended.promise);
  });
  child.on("exit", (code, signal) => end({ code, signal, error: null }));
  child.on("close", () => closed.resolve(ended.promise));
  const signal = (name: NodeJS.Signals): void => {
    if (isGroup) signalGroup(child, name);
    else if (!isEnded) child.kill(name);
  };
  const stop = async (graceMs: number): Promise<void> => {
    if (isEnded) return;
    // A paused one cannot hear the request to end.
    signal("SIGCONT");
    signal("SIGTERM");
    const insist = setTimeout(() => signal("SIGKILL"), graceMs);
    await ended.promise;
    clearTimeout(insist);
    // What of its group outlived the leader.
    signal("SIGKILL");
  };
  return { child, hasEnded: () => isEnded, ended: ended.promise, closed: closed.promise, signal, stop };
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // Nobody of the group is left.
  }
}

export interface RunOptions {
  /** Passes the output on as it comes. */
  readonly show?: boolean;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** What of a chunk of the output is kept; all without it. */
  readonly keep?: (chunk: string) => string;
  /** Characters of the output that are kept at most, the last ones. */
  readonly outputMax?: number;
}

export interface ProcessResult {
  /** Exit code; null when a signal ended the process. */
  readonly code: number | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
  readonly elapsedMs: number;
}

/**
 * Runs a program of the project to its end under this Node.
 * Never rejects: a program that cannot start is a result with code 127.
 */
export function runNode(args: readonly string[], options: RunOptions = {}): Promise<ProcessResult> {
  return run(process.execPath, args, options);
}

/** As {@link runNode}, for any command. */
export async function run(
  command: string,
  args: readonly string[],
  { show = false, env, cwd = root, keep = (chunk) => chunk, outputMax }: RunOptions = {},
): Promise<ProcessResult> {
  const startedMs = performance.now();
  // The child writes to a pipe, so it has to be told whether a terminal reads the other end.
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1", FORCE_COLOR: undefined };
  const { child, closed } = startProcess(command, args, {
    ...{ cwd, env: { ...process.env, ...env, ...colour }, stdio: ["ignore", "pipe", "pipe"] },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      output += keep(chunk);
      if (outputMax !== undefined) output = output.slice(-outputMax);
      if (show) process.stdout.write(chunk);
    });
  }
  const { code, error } = await closed;
  if (error !== null) output += `${error.message}\n`;
  return { code: error === null ? code : 127, output, elapsedMs: performance.now() - startedMs };
}
