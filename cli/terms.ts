// `svc terms`: the terms of AI companies.

import type { Arguments, Command, CommandContext } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";
import { formatTable, visible } from "./terminal.ts";

export const terms: Command = {
  name: "terms",
  usage: "[VERSION]",
  summary: "show the terms of AI companies, those in force or of a version",
  options: {
    json: { type: "boolean", help: "print the service's answer exactly as it came" },
    company: { type: "string", value: "N|UUID", help: "AI company of the sandbox that asks (default 1)" },
    ...connectionOptions,
  },
  run: runTerms,
};

async function runTerms(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const query = queryOf(args.positionals);
  const { client } = await connect("ai_company", args, context);
  const { body, text } = await client.terms(query);
  const { terminal } = context;
  if (args.flag("json")) {
    terminal.write(`${text}\n`);
    return exitCodes.done;
  }
  const rows = body.versions.map(({ version, effective_from, language, sha256 }) => [
    `${version}${version === body.current_version ? " (in force)" : ""}`,
    ...[effective_from, language, sha256],
  ]);
  for (const line of body.text.split("\n")) terminal.print(visible(line));
  for (const line of formatTable(["VERSION", "FROM", "LANGUAGE", "SHA-256"], rows, terminal.columns))
    terminal.note(line);
  return exitCodes.done;
}

function queryOf(positionals: readonly string[]): { readonly version?: number } {
  const [version, further] = positionals;
  if (further !== undefined) throw new UsageError("svc terms takes one version.");
  if (version === undefined) return {};
  if (!/^[1-9][0-9]{0,6}$/.test(version)) throw new UsageError("VERSION is the number of a version.");
  return { version: Number(version) };
}
