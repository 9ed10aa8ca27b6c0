// How a tool reads its command line, and how it ends: `--help` is answered at once, and a request that cannot be carried out
// is explained in one sentence on standard error, without a stack. Any other error is a bug, and shows its stack.

import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { AddressTaken } from "./engines/addresses.ts";
import { EngineUnavailable } from "./engines/maven.ts";

export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** The tool was given something that it cannot use. The message says what, and what would be accepted. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** The values of the options. Throws {@link UsageError}. */
export function parseOptions<T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const { code, message } = error as Error & { readonly code?: string };
    if (code?.startsWith("ERR_PARSE_ARGS_") !== true) throw error;
    // After the first sentence comes advice about positional arguments, which no tool here has.
    throw new UsageError(`${message.split(/\. |\n/)[0]}; see --help.`);
  }
}

/** The integer value of an option. Throws {@link UsageError}. */
export function parseInteger(
  option: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(
    `${option} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`,
  );
}

export interface Tool {
  readonly help: string;
  run(args: readonly string[]): Promise<void>;
}

/** Runs a tool with this process's arguments, and sets its exit code. */
export async function runTool({ help, run }: Tool, args = process.argv.slice(2)): Promise<void> {
  if (args.some((each) => each === "--help" || each === "-h")) {
    console.log(help);
    return;
  }
  try {
    await run(args);
  } catch (error) {
    const isExpected =
      error instanceof UsageError || error instanceof AddressTaken || error instanceof EngineUnavailable;
    if (!isExpected) throw error;
    console.error(error.message.endsWith(".") ? error.message : `${error.message}.`);
    process.exitCode = error instanceof UsageError ? exitCodes.usage : exitCodes.failed;
  }
}
