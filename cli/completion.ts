// `svc completion`: the script by which a shell completes the words of this program, from the same table as its help.

import { type Command, optionsOf, UsageError } from "./command.ts";

export const shells = ["bash", "zsh", "fish"] as const;

/** Prints the script for a shell; `commands` are all that the program has. */
export function completion(commands: () => readonly Command[]): Command {
  return {
    name: "completion",
    usage: "SHELL",
    summary: "print the script by which bash, zsh or fish completes commands and options",
    details: [
      "bash: svc completion bash > ~/.local/share/bash-completion/completions/svc",
      "zsh:  svc completion zsh >> ~/.zshrc     fish: svc completion fish > ~/.config/fish/completions/svc.fish",
    ],
    options: "",
    run: async ({ argument: shell, terminal }) => {
      if (!(shells as readonly string[]).includes(shell))
        throw new UsageError(
          `There is no script for ${JSON.stringify(shell)}, only for ${shells.join(", ")}.`,
        );
      terminal.print(shell === "fish" ? fishScript(commands()) : bashScript(commands(), shell));
    },
  };
}

/** What may follow the words of a command line so far: names of commands, then options. */
function followers(commands: readonly Command[]): ReadonlyMap<string, readonly string[]> {
  const after = new Map<string, Set<string>>();
  for (const { name, options } of commands) {
    const words = name.split(" ");
    for (const [at, word] of words.entries()) {
      const typed = words.slice(0, at).join(" ");
      after.set(typed, (after.get(typed) ?? new Set()).add(word));
    }
    const names = Object.keys(optionsOf(options)).map((option) => `--${option}`);
    after.set(name, new Set([...(after.get(name) ?? []), ...names, "--help"]));
  }
  return new Map([...after].map(([typed, words]) => [typed, [...words]]));
}

function bashScript(commands: readonly Command[], shell: string): string {
  const cases = [...followers(commands)]
    .sort(([one], [other]) => other.split(" ").length - one.split(" ").length)
    .map(([typed, words]) => {
      const pattern = typed === "" ? '""' : `"${typed}"|"${typed} "*`;
      return `    ${pattern}) names="${words.join(" ")}" ;;`;
    });
  const words = (which: string, range = ""): string => `\${COMP_WORDS[${which}]${range}}`;
  return [
    ...(shell === "zsh" ? ["autoload -U +X bashcompinit && bashcompinit"] : []),
    "_svc() {",
    `  local current="${words("COMP_CWORD")}" names=""`,
    `  local typed="${words("*", ":1:COMP_CWORD-1")}"`,
    '  case "$typed" in',
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$names" -- "$current"))',
    "}",
    "complete -o default -F _svc svc",
  ].join("\n");
}

function fishScript(commands: readonly Command[]): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
  const seen = (words: readonly string[]): string =>
    quoted(words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and "));
  return commands
    .flatMap(({ name, summary, options }) => {
      const words = name.split(" ");
      const [first = "", second] = words;
      const start = `complete -c svc -n __fish_use_subcommand -a ${first}`;
      const named =
        second === undefined
          ? [`${start} -d ${quoted(summary)}`]
          : [start, `complete -c svc -n ${seen([first])} -a ${second} -d ${quoted(summary)}`];
      const lines = Object.entries(optionsOf(options)).map(([option, { value, help }]) => {
        const takes = value === undefined ? "" : " -r";
        return `complete -c svc -n ${seen(words)} -l ${option}${takes} -d ${quoted(help)}`;
      });
      return [...named, ...lines];
    })
    .join("\n");
}
