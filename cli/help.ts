import { nearestName } from "../client/errors.ts";
import { type Command, optionsOf } from "./command.ts";

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
  const options = Object.entries(optionsOf(command.options)).map(([name, { short, value, help }]) => ({
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
