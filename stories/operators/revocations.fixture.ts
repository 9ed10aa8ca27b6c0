// `svc revoke …` and other commands of operators in this process, as an operator on the node's machine types it. For tests.

import { setTimeout as delay } from "node:timers/promises";
import { type Command, type CommandContext, parseArguments, runCommand } from "../../cli/command.ts";
import { failureOf } from "../../cli/failure.ts";
import { revoke } from "../../cli/revoke.ts";
import { createTerminal } from "../../cli/terminal.ts";

export interface Run {
  readonly code: number;
  readonly said: string;
  readonly printed: string;
}

/** `reply` is typed when the command asks; null if it cannot ask anybody. A command that asks no node has no home. */
export async function runRevoke(
  words: readonly string[],
  {
    home,
    reply,
    command = revoke,
  }: { readonly home: string | null; readonly reply: string | null; readonly command?: Command },
): Promise<Run> {
  let [said, printed] = ["", ""];
  const out = { write: (text: string) => (printed += text) };
  const terminal = createTerminal(out, { write: (text) => (said += text) }, { plain: true });
  const context: CommandContext = {
    terminal,
    cwd: "/",
    env: {},
    now: Date.now,
    wait: (ms) => delay(ms),
    onStop: () => {},
    question: async () => reply,
  };
  try {
    const where = home === null || words.includes("--ops-url") ? [] : ["--home", home];
    const args = parseArguments(command, [...words, ...where]);
    if (args === null) throw new Error("help");
    return { code: await runCommand(command, args, context), said, printed };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return { code: failure.code, said: failure.lines.join("\n"), printed };
  }
}
