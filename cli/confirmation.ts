// What every act of an operator in the terminal asks for: who and why, and a yes.

import { type Arguments, type Call, type Command, UsageError } from "./command.ts";

export const actOptions = `
    --by WHO       who signs in to act; kept with the act
    --reason TEXT  why, in at most 500 characters; kept with the act`;

/** The text of an option that the command cannot do without. Throws {@link UsageError}. */
export function requiredText(args: Arguments, name: string, command: Pick<Command, "name">): string {
  const text = args.text(name);
  if (text === null || text.trim() === "")
    throw new UsageError(`--${name} is missing. See: svc help ${command.name}`);
  return text;
}

/** Shows where the act is done and what it does, and asks, unless `--yes` is given. False if nothing is to be done, which is said. */
export async function isAgreed(call: Call, url: string, lines: readonly string[]): Promise<boolean> {
  const { terminal, question } = call;
  terminal.note(`At ${url}:`);
  for (const line of lines) terminal.note(line);
  if (call.flag("yes")) return true;
  const answer = await question("Type yes to continue: ");
  if (answer === null) throw new UsageError("Nobody can be asked here; use --yes if that is what you want.");
  const isYes = answer.trim() === "yes";
  if (!isYes) terminal.note("Nothing was changed.");
  return isYes;
}
