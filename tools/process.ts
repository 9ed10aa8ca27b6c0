// Child processes of the tools and the benchmark, which are all started here.
//   P1. A process that cannot be started counts as ended at once, with the reason: nothing throws.
//   P2. A group is signalled as a whole, including what outlives its leader.

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import { dirname } from "node:path";

/** The project's root folder, absolute. */
export const root: string = dirname(import.meta.dirname);

export interface StartOptions {
  readonly cwd?: string;
  /** The whole environment; by default that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** By default it has no input, and its output is discarded. */
  readonly stdio?: StdioOptions;
  /** Whether it leads its own process group, which every signal reaches (P2). */
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
  readonly child: ChildProcess;
  hasEnded(): boolean;
  /** Resolves once it is gone. */
  readonly ended: Promise<ProcessEnd>;
  /** Resolves once it is gone and all of its output was read. */
  readonly closed: Promise<ProcessEnd>;
  /** Sends a signal; does nothing once it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** Asks it to end, kills it after `graceMs`, and waits until it is gone. */
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
    // Other errors concern a message or a signal to a running process.
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
    // A paused process cannot receive the request to end.
    signal("SIGCONT");
    signal("SIGTERM");
    const insist = setTimeout(() => signal("SIGKILL"), graceMs);
    await ended.promise;
    clearTimeout(insist);
    // Kill what outlived the leader of the group.
    signal("SIGKILL");
  };
  return { child, hasEnded: () => isEnded, ended: ended.promise, closed: closed.promise, signal, stop };
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group has no process left.
  }
}

export interface RunOptions {
  /** Passes the output on as it arrives. */
  readonly show?: boolean;
  /** Variables added to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Whether it takes only the processor time that nothing else on the machine wants, together with all that it starts. */
  readonly isYielding?: boolean;
  /** Maximum number of characters kept of the output; the last ones are kept. */
  readonly outputMax?: number;
}

export interface ProcessResult {
  /** Exit code; null when a signal ended the process. */
  readonly code: number | null;
  /** Standard output and standard error, in the order of arrival. */
  readonly output: string;
  readonly elapsedMs: number;
}

/**
 * Runs a program of the project to its end under this Node.
 * Never rejects: a program that cannot start gives a result with code 127.
 */
export function runNode(args: readonly string[], options: RunOptions = {}): Promise<ProcessResult> {
  return run(process.execPath, args, options);
}

/** Like {@link runNode}, for any command. */
export async function run(
  command: string,
  args: readonly string[],
  { show = false, env, cwd = root, isYielding = false, outputMax }: RunOptions = {},
): Promise<ProcessResult> {
  const startedMs = performance.now();
  // The child writes to a pipe, so it must be told whether its output goes to a terminal.
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1", FORCE_COLOR: undefined };
  const { child, closed } = startProcess(command, args, {
    cwd,
    env: { ...process.env, ...env, ...colour },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (isYielding && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (outputMax !== undefined) output = output.slice(-outputMax);
      if (show) process.stdout.write(chunk);
    });
  }
  const { code, error } = await closed;
  if (error !== null) output += `${error.message}\n`;
  return { code: error === null ? code : 127, output, elapsedMs: performance.now() - startedMs };
}
