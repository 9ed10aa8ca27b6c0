// What a command of the program is, and how its arguments are parsed.

import { parseArgs } from "node:util";
import { nearestName } from "../client/errors.ts";
import type { Terminal } from "./terminal.ts";

export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** Placeholder shown in the help as `--name VALUE`. */
  readonly value?: string;
  readonly help: string;
}

type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/**
 * Options from their lines in the help: `-n, --name VALUE  what it is for`, without a value for a flag. One whose value ends with an
 * ellipsis may be given several times.
 */
export function optionsOf(lines: string): OptionSpecs {
  const specs: Record<string, OptionSpec> = {};
  for (const line of lines.split("\n").filter((each) => each.trim() !== "")) {
    const { name, short, value, multiple, help = "" } = optionLine.exec(line)?.groups ?? {};
    if (name === undefined) throw new Error(`This is not the line of an option: ${line}`);
    specs[name] = {
      type: value === undefined ? "boolean" : "string",
      help,
      ...(short === undefined ? {} : { short }),
      ...(value === undefined ? {} : { value }),
      ...(multiple === undefined ? {} : { multiple: true }),
    };
  }
  return specs;
}

const optionLine =
  /^\s*(?:-(?<short>\w), )?--(?<name>[\w-]+)(?: (?<value>\S.*?)(?<multiple>…)?)? {2,}(?<help>.*)$/;

/** What a command needs from its environment, so that tests can substitute it. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** Folder against which relative paths are resolved. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The current time in Unix milliseconds. */
  readonly now: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** Asks the person at the terminal; resolves to null where there is none. */
  readonly question: (text: string) => Promise<string | null>;
  /** Registers what to do on Ctrl-C or a termination signal instead of exiting at once; the handler gives the exit code. */
  readonly onStop: (handle: () => ExitCode | Promise<ExitCode>) => void;
}

export interface Command {
  readonly name: string;
  /** The arguments, for example `FILE`; empty for a command without arguments. */
  readonly usage: string;
  readonly summary: string;
  /** Additional lines of help. */
  readonly details?: readonly string[];
  /** As {@link optionsOf} reads them. */
  readonly options: string;
  /** Without an exit code it is done. */
  run(call: Call): Promise<ExitCode> | Promise<void>;
}

/** One run of a command: what was typed, and where. */
export interface Call extends Arguments, CommandContext {
  /** The argument of a command that takes exactly one; otherwise empty. */
  readonly argument: string;
}

/** Runs a command. How many arguments it takes follows from `usage`: none, one, or as many as it says itself. */
export async function runCommand(
  command: Command,
  args: Arguments,
  context: CommandContext,
): Promise<ExitCode> {
  const { usage } = command;
  if (usage === "") noArguments(args, command);
  const argument = /^[A-Z][A-Z_/|]*$/.test(usage) ? onlyArgument(args, command) : "";
  return (await command.run({ ...context, ...args, argument })) ?? exitCodes.done;
}

export interface Arguments {
  readonly positionals: readonly string[];
  /** The option's value, or null when it is not given. */
  text(name: string): string | null;
  texts(name: string): readonly string[];
  flag(name: string): boolean;
  /** An integer within bounds, or `fallback` when the option is not given. */
  integer(
    name: string,
    bounds: { readonly min: number; readonly max: number; readonly fallback: number },
  ): number;
}

const booleanHelp: OptionSpec = { type: "boolean", short: "h", help: "show this help" };

/** Parses the arguments of `command`; throws {@link UsageError}. Returns null when help was requested. */
export function parseArguments(command: Command, args: readonly string[]): Arguments | null {
  const options = { ...optionsOf(command.options), help: booleanHelp };
  const parsed = parseOrThrow(command, args, options);
  const values: Readonly<Record<string, unknown>> = parsed.values;
  if (values["help"] === true) return null;
  const text = (name: string): string | null => {
    const value = values[name];
    return typeof value === "string" ? value : null;
  };
  return {
    positionals: parsed.positionals,
    text,
    texts: (name) => (Array.isArray(values[name]) ? (values[name] as readonly string[]) : []),
    flag: (name) => values[name] === true,
    integer: (name, { min, max, fallback }) => {
      const given = text(name);
      if (given === null) return fallback;
      const number = /^[0-9]{1,9}$/.test(given) ? Number(given) : Number.NaN;
      if (number >= min && number <= max) return number;
      throw new UsageError(
        `--${name} is ${JSON.stringify(given)}; use a whole number from ${min} to ${max}.`,
      );
    },
  };
}

function parseOrThrow(command: Command, args: readonly string[], options: OptionSpecs) {
  const specs = Object.entries(options).map(([name, { type, multiple, short }]) => [
    name,
    { type, ...(multiple === true ? { multiple } : {}), ...(short === undefined ? {} : { short }) },
  ]);
  try {
    return parseArgs({
      args: withKeyIds(args, options),
      options: Object.fromEntries(specs),
      strict: true,
      allowPositionals: true,
    });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    const unknown = /^Unknown option '--([^']*)'/.exec(reason)?.[1];
    const nearest = unknown === undefined ? null : nearestName(unknown, Object.keys(options));
    const hint = nearest === null ? "" : ` Did you mean --${nearest}?`;
    throw new UsageError(`${reason}.${hint} See: svc help ${command.name}`);
  }
}

/** A key_id is base64url, so one in 64 starts with a hyphen: no option is as long. */
const hyphenedKeyId = /^-[A-Za-z0-9_-]{42}$/;

/** Rewrites the words so that such key_ids are not taken for options. */
function withKeyIds(args: readonly string[], options: OptionSpecs): string[] {
  const words: string[] = [];
  const last: string[] = [];
  for (const [at, word] of args.entries()) {
    if (word === "--") return [...words, "--", ...last, ...args.slice(at + 1)];
    const name = words.at(-1)?.replace(/^--/, "") ?? "";
    const isValue = words.at(-1)?.startsWith("--") === true && options[name]?.type === "string";
    if (!hyphenedKeyId.test(word)) words.push(word);
    else if (isValue) words.push(`${words.pop()}=${word}`);
    else last.push(word);
  }
  return last.length === 0 ? words : [...words, "--", ...last];
}

/** Runs until a signal comes, which disposes of what was started. */
export function untilStopped(
  call: Call,
  started: AsyncDisposable,
  onStopping = (): void => {},
): Promise<ExitCode> {
  return new Promise((resolve) => {
    call.onStop(async () => {
      onStopping();
      await started[Symbol.asyncDispose]();
      resolve(exitCodes.done);
      return exitCodes.done;
    });
  });
}

/** Returns the one argument that is expected; the error for a missing one names it. */
export function onlyArgument(args: Arguments, command: Pick<Command, "name" | "usage">): string {
  const [first, ...more] = args.positionals;
  if (first === undefined)
    throw new UsageError(`${command.usage.split(" ")[0]} is missing. See: svc help ${command.name}`);
  if (more.length > 0)
    throw new UsageError(
      `Only one argument is expected, not also ${more.join(" ")}. See: svc help ${command.name}`,
    );
  return first;
}

function noArguments(args: Arguments, command: Pick<Command, "name">): void {
  const [first] = args.positionals;
  if (first !== undefined)
    throw new UsageError(`${JSON.stringify(first)} is not expected. See: svc help ${command.name}`);
}

// The program's exit codes. Documented in docs/svc.md.

export const exitCodes = {
  done: 0,
  /** The answer was negative: invalid evidence, no such record, rejected or held records. */
  negative: 1,
  /** The arguments are wrong, or a file cannot be read as what it should be. Nothing was sent. */
  usage: 2,
  /** The service refused the request. */
  refused: 3,
  /** The service is unreachable or asks for a later retry; the same command may be run again. */
  unavailable: 4,
  /** Ctrl-C (128 + SIGINT), by convention. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with `usage`: the message says what is wrong and what would be accepted. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
