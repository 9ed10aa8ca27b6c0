// Child processes of the tools: their output is kept, and shown only by whoever wants to.

import { spawn } from "node:child_process";
import { dirname } from "node:path";

/** The project's root folder, absolute. */
export const root: string = dirname(import.meta.dirname);

export interface RunOptions {
  /** Passes the output on as it comes. */
  readonly show?: boolean;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
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
export function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<ProcessResult> {
  const startedMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<ProcessResult>();
  // The child writes to a pipe, so it has to be told whether a terminal reads the other end.
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1", FORCE_COLOR: undefined };
  const env = { ...process.env, ...options.env, ...colour };
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const take = (chunk: string): void => {
    output += chunk;
    if (options.show === true) process.stdout.write(chunk);
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  const end = (code: number | null): void =>
    resolve({ code, output, elapsedMs: performance.now() - startedMs });
  child.on("error", (error) => {
    output += `${error.message}\n`;
    end(127);
  });
  child.on("close", end);
  return promise;
}
