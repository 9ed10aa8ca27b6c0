// The program `svc`.

import { createInterface } from "node:readline/promises";
import { adsCommands, adsImage } from "./ads.ts";
import { analytics, demand, usage } from "./analytics.ts";
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
import { doctor } from "./doctor.ts";
import { failureJson, failureOf } from "./failure.ts";
import { fetchCommand } from "./fetch.ts";
import { grant } from "./grant.ts";
import { blocks, brands, group } from "./groups.ts";
import { commandHelp, programHelp, unknownCommand } from "./help.ts";
import { keygen, proveKey } from "./keygen.ts";
import { keyCommands } from "./keys/commands.ts";
import { allowance, ledger } from "./ledger.ts";
import { logAudit } from "./log-audit.ts";
import { mcp, programVersion } from "./mcp.ts";
import { opsAct } from "./ops/act.ts";
import { opsApplications, opsApprove, opsRefuse } from "./ops/applications.ts";
import { opsActors, opsAudit, opsNodes, opsPushes, opsRefusals, opsSearch } from "./ops/lists.ts";
import { opsCertify, opsParty, opsRegisterKey } from "./ops/party.ts";
import { opsExport, opsShow } from "./ops/show.ts";
import { opsTakedown } from "./ops/takedown.ts";
import { attempts, domains } from "./publishing/attempts.ts";
import { catalogue } from "./publishing/catalogue.ts";
import { holdCommands } from "./publishing/hold.ts";
import { publish } from "./publishing/publish.ts";
import { push } from "./publishing/push.ts";
import { cancel, pushes, pushStatus } from "./publishing/push-status.ts";
import { deleteCommand, withdraw } from "./publishing/remove.ts";
import { purges } from "./purges.ts";
import { receipts, receiptsCheck } from "./receipts.ts";
import { revoke } from "./revoke.ts";
import { search } from "./search.ts";
import { start } from "./start.ts";
import { createTerminal, type Terminal } from "./terminal.ts";
import { entitlement, terms, termsAgree } from "./terms.ts";
import { tryCommand } from "./try.ts";
import { verify } from "./verify.ts";
import { witness } from "./witness.ts";

const commands: readonly Command[] = [
  completion(() => commands),
  start,
  search,
  fetchCommand,
  verify,
  mcp,
  push,
  publish,
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
  withdraw,
  adsImage,
  deleteCommand,
  keygen,
  proveKey,
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
  ...adsCommands,
  ...holdCommands,
  opsNodes,
  opsActors,
  opsSearch,
  opsPushes,
  opsRefusals,
  opsShow,
  opsExport,
  opsAct,
  opsTakedown,
  opsParty,
  opsCertify,
  opsRegisterKey,
  opsApplications,
  opsApprove,
  opsRefuse,
  opsAudit,
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
  const [name, ...more] = words;
  if (name === undefined || name === "help" || isHelp(name))
    return showHelp(
      more.filter((word) => !isHelp(word)),
      terminal,
    );
  if (["--version", "-V", "version"].includes(name)) {
    terminal.print(`svc ${await programVersion()}`);
    return exitCodes.done;
  }
  const named = commandNamed(words);
  if (named === null && isGroup(name) && more.every(isHelp)) return showHelp([name], terminal);
  if (named === null) {
    terminal.note(unknownCommand(nameIn(words), commandNames));
    return exitCodes.usage;
  }
  const { command, args } = named;
  let asJson = false;
  try {
    const parsed = parseArguments(command, args);
    if (parsed === null) return showHelp(words, terminal);
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
