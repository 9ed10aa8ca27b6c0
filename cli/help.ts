import { nearestName } from "../client/errors.ts";
import { type Command, optionsOf } from "./command.ts";

/** A command with its usage and summary: one line of the help. */
type HelpLine = Pick<Command, "name" | "usage" | "summary">;

/** The program help's entries for groups of commands of two words. */
const groups: readonly HelpLine[] = [
  { name: "hold", usage: "", summary: "show held pushes, and confirm or reject one; see svc help hold" },
  {
    name: "ads",
    usage: "",
    summary: "ask for ads, confirm renders and clicks, publish campaigns; see svc help ads",
  },
  {
    name: "keys",
    usage: "",
    summary:
      "have a system's key registered; make, certify, issue, show those of the service; see svc help keys",
  },
  { name: "mandate", usage: "", summary: "ask an owner for a mandate; see svc help mandate" },
  { name: "ops", usage: "", summary: "look at nodes, actors and parties, and act on them; see svc help ops" },
];

/** What one reads first, by who comes for it: names of commands and of {@link groups}. */
const sections: Readonly<Record<string, string>> = {
  "Try it": "start, grant, try",
  "Publish, as a business":
    "push, publish, push-status, pushes, cancel, hold, catalogue, attempts, withdraw, delete, analytics, demand, domains",
  "Ask, as an AI company":
    "search, fetch, prove-price, ads, mcp, receipts, usage, allowance, terms, terms agree, entitlement",
  "Check, as anyone": "verify, receipts check, log audit, witness",
  "Keys of a system": "keygen, prove-key, mandate",
  "Run the service": "ops, keys, doctor, revoke, ledger, blocks, brands, group, purges",
  "This program": "completion, help",
};

/** Lines of `svc help`, or, given a group's name, those of its commands. */
export function programHelp(all: readonly Command[], group: string | null = null): readonly string[] {
  const help = { name: "help", usage: "[COMMAND]", summary: "show this help, or the details of one command" };
  const commands: readonly HelpLine[] =
    group === null
      ? [...all.filter(({ name }) => !isGrouped(name)), ...groups, help]
      : all.filter(({ name }) => name.startsWith(`${group} `));
  const left = ({ name, usage }: HelpLine): string => (group === null ? name : `${name} ${usage}`.trim());
  const width = Math.max(...commands.map((each) => left(each).length));
  const lineOf = (each: HelpLine): string => `  ${left(each).padEnd(width)}  ${each.summary}`;
  const parts =
    group === null
      ? Object.entries(sections).map(([title, names]) => ({ title, commands: namedIn(names, commands) }))
      : [{ title: `svc ${group}`, commands }];
  return [
    "svc: publish, search and verify signed business data",
    "",
    "Usage: svc COMMAND …",
    ...parts.flatMap(({ title, commands }) => ["", `${title}:`, ...commands.map(lineOf)]),
    "",
    "Exit codes: 0 done · 1 the answer is no · 2 wrong usage · 3 refused · 4 try again later · 130 interrupted",
  ];
}

/** Those that this program has, in this order. */
function namedIn(names: string, commands: readonly HelpLine[]): readonly HelpLine[] {
  return names.split(", ").flatMap((name) => commands.find((each) => each.name === name) ?? []);
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
