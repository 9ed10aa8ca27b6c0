// What the program `svc` does with its words: which command they name, its help, and how it ends.

import { createInterface } from "node:readline/promises";
import {
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  parseArguments,
  runCommand,
} from "./command.ts";
import { completion } from "./completion.ts";
import { withConfig } from "./connection.ts";
import { failureJson, failureOf } from "./failure.ts";
import { commandHelp, programHelp, unknownCommand } from "./help.ts";
import { programVersion } from "./mcp.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

const lingerMs = 1_000;

/** Runs one of these commands with this process's arguments, and sets its exit code. `svc completion` is about them as well. */
export async function runProgram(others: readonly Command[]): Promise<void> {
  const commands: readonly Command[] = [completion(() => commands), ...others];
  const terminal = createTerminal(process.stdout, process.stderr, {
    plain: process.env["NO_COLOR"] !== undefined,
  });
  // The other end of the pipe was closed (`svc … | head`): there is no reader left.
  process.stdout.on("error", (error: NodeJS.ErrnoException) =>
    process.exit(error.code === "EPIPE" ? exitCodes.done : 1),
  );
  process.exitCode = await runWords(process.argv.slice(2), { commands, terminal });
}

interface Program {
  readonly commands: readonly Command[];
  readonly terminal: Terminal;
}

async function runWords(words: readonly string[], program: Program): Promise<ExitCode> {
  const { commands, terminal } = program;
  const [name, ...more] = words;
  if (name === undefined || name === "help" || isHelp(name))
    return showHelp(
      more.filter((word) => !isHelp(word)),
      program,
    );
  if (["--version", "-V", "version"].includes(name)) {
    terminal.print(`svc ${await programVersion()}`);
    return exitCodes.done;
  }
  const named = commandNamed(words, commands);
  if (named === null && isGroup(name, commands) && more.every(isHelp)) return showHelp([name], program);
  if (named === null) {
    terminal.note(unknownCommand(nameIn(words, commands), namesOf(commands)));
    return exitCodes.usage;
  }
  const { command, args } = named;
  let asJson = false;
  try {
    const parsed = parseArguments(command, args);
    if (parsed === null) return showHelp(words, program);
    asJson = parsed.flag("json");
    return await runCommand(command, withConfig(command, parsed, process.env), contextOf(terminal));
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    for (const line of failure.lines) terminal.note(line);
    if (asJson) terminal.print(failureJson(failure));
    // Handles that a library left open must not keep a failed program running.
    setTimeout(() => process.exit(), lingerMs).unref();
    return failure.code;
  }
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

function contextOf(terminal: Terminal): CommandContext {
  return {
    terminal,
    cwd: process.cwd(),
    env: process.env,
    now: Date.now,
    wait: (delayMs) => new Promise((wake) => setTimeout(wake, delayMs)),
    question: ask,
    onStop: (handle) => {
      // The second signal finds no handler and ends the program at once.
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        process.once(signal, async () => process.exit(await handle()));
      }
    },
  };
}

async function ask(text: string): Promise<string | null> {
  if (!process.stdin.isTTY) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // Closing the input instead of answering does not count as a yes.
  const ended = new Promise<string>((resolve) => void lines.once("close", () => resolve("")));
  try {
    return await Promise.race([lines.question(text), ended]);
  } finally {
    lines.close();
  }
}

/** The command that the words start with, preferring the longest name: some have two words. */
function commandNamed(
  words: readonly string[],
  commands: readonly Command[],
): { readonly command: Command; readonly args: readonly string[] } | null {
  for (const length of [2, 1]) {
    const command = commands.find((each) => each.name === words.slice(0, length).join(" "));
    if (command !== undefined && words.length >= length) return { command, args: words.slice(length) };
  }
  return null;
}

/** The command name that the person intended. */
function nameIn([first = "", second = ""]: readonly string[], commands: readonly Command[]): string {
  return isGroup(first, commands) && !second.startsWith("-") ? `${first} ${second}`.trim() : first;
}

function isGroup(word: string, commands: readonly Command[]): boolean {
  return commands.some((each) => each.name.startsWith(`${word} `));
}

function showHelp(words: readonly string[], { commands, terminal }: Program): ExitCode {
  const [first] = words;
  const command = commandNamed(words, commands)?.command;
  const group = first !== undefined && isGroup(first, commands) ? first : null;
  if (first !== undefined && command === undefined && (group === null || words[1] !== undefined)) {
    terminal.note(unknownCommand(nameIn(words, commands), namesOf(commands)));
    return exitCodes.usage;
  }
  for (const line of command === undefined ? programHelp(commands, group) : commandHelp(command))
    terminal.print(line);
  return exitCodes.done;
}

function namesOf(commands: readonly Command[]): readonly string[] {
  return commands.map(({ name }) => name);
}
