import type { Command } from "./command.ts";

/** Lines of `svc help`. */
export function programHelp(commands: readonly Command[]): readonly string[] {
  const left = commands.map(({ name, usage }) => `${name} ${usage}`.trim());
  const width = Math.max(...left.map((text) => text.length));
  return [
    "svc: publish, search and verify signed business data",
    "",
    "Usage: svc COMMAND …",
    "",
    ...commands.map(({ summary }, at) => `  ${(left[at] ?? "").padEnd(width)}  ${summary}`),
    `  ${"help [COMMAND]".padEnd(width)}  show this, or all about one command`,
    "",
    "Ends with 0 done · 1 the answer is no · 2 wrong usage · 3 refused · 4 try again later · 130 interrupted",
  ];
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
