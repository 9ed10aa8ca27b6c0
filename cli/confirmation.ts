// What every act in the terminal asks for: who and why, and a yes.

import { type Arguments, type Command, type CommandContext, UsageError } from "./command.ts";

/** The text of an option that the command cannot do without. Throws {@link UsageError}. */
export function requiredText(args: Arguments, name: string, command: Pick<Command, "name">): string {
  const text = args.text(name);
  if (text === null || text.trim() === "")
    throw new UsageError(`--${name} is missing. See: svc help ${command.name}`);
  return text;
}

/** Whether the person at the terminal says yes. Throws {@link UsageError} where nobody can be asked. */
export async function isConfirmed({ question }: CommandContext): Promise<boolean> {
  const answer = await question("Type yes to continue: ");
  if (answer === null) throw new UsageError("Nobody can be asked here; use --yes if that is what you want.");
  return answer.trim() === "yes";
}
