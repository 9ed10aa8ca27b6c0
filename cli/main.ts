// The program `svc`.

import { createInterface } from "node:readline/promises";
import { nearestName, SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { ConfigError } from "../node/configuration/config-error.ts";
import { adsCommands, adsImage } from "./ads.ts";
import { analytics, demand, usage } from "./analytics.ts";
import {
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  parseArguments,
  UsageError,
} from "./command.ts";
import { doctor } from "./doctor.ts";
import { fetchCommand } from "./fetch.ts";
import { grant } from "./grant.ts";
import { blocks, brands, group } from "./groups.ts";
import { keygen } from "./keygen.ts";
import { keyCommands } from "./keys/commands.ts";
import { allowance, ledger } from "./ledger.ts";
import { logAudit } from "./log-audit.ts";
import { mcp } from "./mcp.ts";
import { opsAct } from "./ops/act.ts";
import { opsAudit, opsList, opsNodes, opsPushes, opsRefusals, opsSearch } from "./ops/lists.ts";
import { opsExport, opsShow, opsWatch } from "./ops/show.ts";
import { opsTakedown } from "./ops/takedown.ts";
import { attempts, domains } from "./publishing/attempts.ts";
import { catalogue } from "./publishing/catalogue.ts";
import { holdCommands } from "./publishing/hold.ts";
import { push } from "./publishing/push.ts";
import { cancel, pushes, pushStatus } from "./publishing/push-status.ts";
import { deleteCommand, withdraw } from "./publishing/remove.ts";
import { purges } from "./purges.ts";
import { receipts, receiptsCheck } from "./receipts.ts";
import { revoke } from "./revoke.ts";
import { search } from "./search.ts";
import { start } from "./start.ts";
import { createTerminal, type Terminal, visible } from "./terminal.ts";
import { entitlement, terms, termsAgree } from "./terms.ts";
import { tryCommand } from "./try.ts";
import { verify } from "./verify.ts";
import { witness } from "./witness.ts";

/** A command with its usage and summary: one line of the help. */
type HelpLine = Pick<Command, "name" | "usage" | "summary">;

/** The program help's entries for groups of commands of two words; a command of no group has a line of its own. */
const groups: readonly HelpLine[] = [
  {
    name: "hold",
    usage: "list|confirm|reject",
    summary: "show held pushes, and confirm or reject one; see svc help hold",
  },
  {
    name: "keys",
    usage: "CEREMONY",
    summary: "manage the keys of the service: make, certify, issue, show; see svc help keys",
  },
];

/** Lines of `svc help`, or, given a group's name, those of its commands. */
export function programHelp(all: readonly Command[], group: string | null = null): readonly string[] {
  const commands: readonly HelpLine[] =
    group === null
      ? [...all.filter(({ name }) => !isGrouped(name)), ...groups]
      : all.filter(({ name }) => name.startsWith(`${group} `));
  const left = commands.map(({ name, usage }) => `${name} ${usage}`.trim());
  const width = Math.max(...left.map((text) => text.length));
  return [
    "svc: publish, search and verify signed business data",
    "",
    "Usage: svc COMMAND …",
    "",
    ...commands.map(({ summary }, at) => `  ${(left[at] ?? "").padEnd(width)}  ${summary}`),
    `  ${"help [COMMAND]".padEnd(width)}  show this help, or the details of one command`,
    "",
    "Exit codes: 0 done · 1 the answer is no · 2 wrong usage · 3 refused · 4 try again later · 130 interrupted",
  ];
}

/** Whether its group stands for it. */
function isGrouped(command: string): boolean {
  return groups.some(({ name }) => command.startsWith(`${name} `));
}

/** Lines of `svc help COMMAND`. */
export function commandHelp(command: Command): readonly string[] {
  const options = Object.entries(command.options).map(([name, { short, value, help }]) => ({
    left: `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
    help,
  }));
  const width = Math.max(0, ...options.map(({ left }) => left.length));
  return [
    `svc ${command.name} ${command.usage}`.trim(),
    `  ${command.summary}`,
    ...(command.details === undefined ? [] : ["", ...command.details]),
    "",
    ...options.map(({ left, help }) => `  ${left.padEnd(width)}  ${help}`),
  ];
}

/** What is said to a command that there is not; `names` are those of all commands. */
export function unknownCommand(wrong: string, names: readonly string[]): string {
  const firsts = names.map((name) => name.split(" ")[0] ?? "");
  const [first = ""] = wrong.split(" ");
  const isGroup = names.some((name) => name.startsWith(`${first} `));
  const nearest = nearestName(wrong, isGroup ? names : [...names, ...firsts]);
  const hint = nearest === null ? "" : ` Did you mean svc ${nearest}?`;
  const topic = isGroup && nearest === null ? ` ${first}` : "";
  return `There is no command ${JSON.stringify(wrong)}.${hint} See: svc help${topic}`;
}

// What a failed command prints, and its exit code.

export interface Failure {
  readonly lines: readonly string[];
  readonly code: ExitCode;
}

/** The failure to report, or null for a bug, which is shown with its stack. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof UsageError || error instanceof ConfigError || isRefusedStart(error)) {
    return { lines: [error.message], code: exitCodes.usage };
  }
  if (error instanceof SvcConnectionError) {
    const again = error.effect === "unknown" ? "It may have been served. " : "";
    return {
      lines: [`${error.message} ${again}Is it running? Try again later.`],
      code: exitCodes.unavailable,
    };
  }
  if (isFullDisk(error))
    return {
      lines: [`There is no room for a file of this command (${error.message}). Make room and run it again.`],
      code: exitCodes.unavailable,
    };
  return error instanceof SvcProblemError ? problemFailure(error) : null;
}

function isFullDisk(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT"].includes(String(error.code));
}

const refusedStarts = ["KeyStoreError", "JoinRefused", "StoreFileRefused", "SchemaTooOld", "SchemaTooNew"];

/** Thrown when a node fails to start: the message names the file, or why the cluster refuses the node, and what to do. */
function isRefusedStart(error: unknown): error is Error {
  return error instanceof Error && refusedStarts.includes(error.name);
}

/** Advice for some codes, in addition to the service's own message. */
const advice: Readonly<Record<string, string>> = {
  key_unknown:
    "The key is not registered here, or was revoked. If this is a sandbox, it may have been recreated: its current keys are in sandbox.json.",
  mandate_missing: "Ask an owner or admin of the business to seal a mandate for this key.",
  source_not_allowed: "Send from an address that the mandate allows.",
  sort_required:
    "Name an order with --sort, for example --sort _text_match:desc or --sort published_at:desc.",
};

function problemFailure(error: SvcProblemError): Failure {
  const { problem, retryAfterSeconds } = error;
  const said = visible(error.detail || error.code);
  const lines = [`The service refused: ${said} (${error.status} ${visible(error.code)})`];
  const { pointer, suggestion, errors } = problem;
  if (typeof pointer === "string" && pointer !== "") lines.push(`  at ${visible(pointer)}`);
  if (typeof suggestion === "string" && !error.detail.includes(suggestion))
    lines.push(`  Did you mean ${visible(suggestion)}?`);
  if (Array.isArray(errors)) lines.push(...errors.slice(0, 10).map((each) => `  ${faultLine(each)}`));
  const help = advice[error.code];
  if (help !== undefined) lines.push(help);
  const clock = clockAdvice(error);
  if (clock !== null) lines.push(clock);
  if (retryAfterSeconds !== null) lines.push(`Try again in ${retryAfterSeconds} s.`);
  const isPassing = [429, 502, 503, 504].includes(error.status);
  return { lines, code: isPassing ? exitCodes.unavailable : exitCodes.refused };
}

/** What is signed and sealed says when, so a clock that is wrong is refused. */
const timed = ["signature_expired", "seal_invalid"];
const clockAheadSecondsMax = 30;

function clockAdvice({ code, clockAheadSeconds }: SvcProblemError): string | null {
  if (!timed.includes(code)) return null;
  const off = Math.abs(clockAheadSeconds ?? 0);
  if (clockAheadSeconds === null || off <= clockAheadSecondsMax)
    return code === "signature_expired" ? "Check that this machine's clock is right." : null;
  return `This machine's clock is ${off} s ${clockAheadSeconds > 0 ? "ahead of" : "behind"} the service's: set it, and run this again.`;
}

function faultLine(fault: unknown): string {
  const { code, pointer, detail } = (fault ?? {}) as { code?: unknown; pointer?: unknown; detail?: unknown };
  return visible(
    [code, pointer, detail].filter((part) => typeof part === "string" && part !== "").join("  "),
  );
}

const commands: readonly Command[] = [
  ...[
    start,
    search,
    fetchCommand,
    verify,
    mcp,
    push,
    pushStatus,
    pushes,
    cancel,
    catalogue,
    attempts,
    analytics,
    demand,
    domains,
    terms,
    termsAgree,
    entitlement,
    receipts,
    receiptsCheck,
    usage,
    allowance,
  ],
  ...[
    withdraw,
    adsImage,
    deleteCommand,
    keygen,
    grant,
    tryCommand,
    doctor,
    revoke,
    ledger,
    blocks,
    brands,
    group,
    purges,
    witness,
    logAudit,
  ],
  ...adsCommands,
  ...holdCommands,
  ...[
    opsNodes,
    opsList,
    opsSearch,
    opsPushes,
    opsRefusals,
    opsShow,
    opsWatch,
    opsExport,
    opsAct,
    opsTakedown,
    opsAudit,
  ],
  ...keyCommands,
];

const commandNames = commands.map(({ name }) => name);

const lingerMs = 1_000;
const terminal = createTerminal(process.stdout, process.stderr, {
  plain: process.env["NO_COLOR"] !== undefined,
});
// The other end of the pipe was closed (`svc … | head`): there is no reader left.
process.stdout.on("error", (error: NodeJS.ErrnoException) =>
  process.exit(error.code === "EPIPE" ? exitCodes.done : 1),
);
process.exitCode = await runProgram(process.argv.slice(2), terminal);

async function runProgram(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [name] = words;
  if (name === undefined || name === "help" || name === "--help" || name === "-h")
    return showHelp(words.slice(1), terminal);
  const named = commandNamed(words);
  if (named === null && isGroup(name) && words.length === 1) return showHelp(words, terminal);
  if (named === null) {
    terminal.note(unknownCommand(nameIn(words), commandNames));
    return exitCodes.usage;
  }
  const { command, args } = named;
  try {
    const parsed = parseArguments(command, args);
    if (parsed === null) return showHelp(words, terminal);
    return await command.run(parsed, contextOf(terminal));
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    for (const line of failure.lines) terminal.note(line);
    // Handles that a library left open must not keep a failed program running.
    setTimeout(() => process.exit(), lingerMs).unref();
    return failure.code;
  }
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
): { readonly command: Command; readonly args: readonly string[] } | null {
  for (const length of [2, 1]) {
    const command = commands.find((each) => each.name === words.slice(0, length).join(" "));
    if (command !== undefined && words.length >= length) return { command, args: words.slice(length) };
  }
  return null;
}

/** The command name that the person intended. */
function nameIn([first = "", second = ""]: readonly string[]): string {
  return isGroup(first) && !second.startsWith("-") ? `${first} ${second}`.trim() : first;
}

function isGroup(word: string): boolean {
  return commands.some((each) => each.name.startsWith(`${word} `));
}

function showHelp(words: readonly string[], terminal: Terminal): ExitCode {
  const [first] = words;
  const command = commandNamed(words)?.command;
  const group = first !== undefined && isGroup(first) ? first : null;
  if (first !== undefined && command === undefined && (group === null || words[1] !== undefined)) {
    terminal.note(unknownCommand(nameIn(words), commandNames));
    return exitCodes.usage;
  }
  for (const line of command === undefined ? programHelp(commands, group) : commandHelp(command))
    terminal.print(line);
  return exitCodes.done;
}
