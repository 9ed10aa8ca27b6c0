// `svc allowance`: what an AI company has paid in, and what it was charged.

import type { AllowanceAnswer } from "../client/service-client.ts";
import type { Arguments, Command, CommandContext } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";
import { printStatement } from "./statement-table.ts";
import { formatTable, type Terminal } from "./terminal.ts";

export const allowance: Command = {
  name: "allowance",
  usage: "[MONTH]",
  summary: "show your prepaid allowance and the prices, or the statement of a month",
  options: {
    json: { type: "boolean", help: "print the service's answer exactly as it came" },
    csv: { type: "boolean", help: "print the statement as CSV" },
    company: { type: "string", value: "N|UUID", help: "AI company of the sandbox that asks (default 1)" },
    ...connectionOptions,
  },
  run: runAllowance,
};

async function runAllowance(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [month, further] = args.positionals;
  if (further !== undefined) throw new UsageError("svc allowance takes one month.");
  if (month === undefined && args.flag("csv")) throw new UsageError("--csv needs a month such as 2026-11.");
  const { client } = await connect("ai_company", args, context);
  const { terminal } = context;
  if (month === undefined) {
    const { body, text } = await client.allowance();
    if (args.flag("json")) terminal.write(`${text}\n`);
    else printAllowance(terminal, body);
    return exitCodes.done;
  }
  if (args.flag("csv")) {
    terminal.write((await client.statementCsv(month)).text);
    return exitCodes.done;
  }
  const { body, text } = await client.statement(month);
  if (args.flag("json")) terminal.write(`${text}\n`);
  else printStatement(terminal, body);
  return exitCodes.done;
}

function printAllowance(terminal: Terminal, { billed, account, prices }: AllowanceAnswer): void {
  if (!billed) terminal.print("Nothing is charged here.");
  if (account !== null) {
    const { available, balance, reserved, currency } = account;
    terminal.print(`available ${available} ${currency} (balance ${balance}, reserved ${reserved})`);
  } else if (billed) terminal.print("Nothing was paid in yet.");
  if (prices === null) return;
  const rows = prices.versions.map(({ version, effective_from, search, fetch }) => [
    ...[String(version), effective_from, fetch],
    Object.entries(search)
      .map(([collection, price]) => `${collection} ${price}`)
      .join(", "),
  ]);
  for (const line of formatTable(["PRICES", "FROM", "FETCH", "SEARCH"], rows, terminal.columns))
    terminal.note(line);
}
