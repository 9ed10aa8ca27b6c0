// `svc usage`: what an AI company used, counted from its receipts.

import type { UsageAnswer, UsageLine } from "../client/service-client.ts";
import { type Arguments, type Command, type CommandContext, noArguments } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { number } from "./push-progress.ts";
import { formatTable, type Terminal } from "./terminal.ts";

export const usage: Command = {
  name: "usage",
  usage: "",
  summary: "count what an AI company asked, by day, key, kind, collection and country",
  details: ["DAY is a day in UTC; --from is included, --to is not. Each region counts its own answers."],
  options: {
    from: { type: "string", value: "DAY", help: "the first day (default: thirty days before --to)" },
    to: { type: "string", value: "DAY", help: "the day after the last one (default: tomorrow)" },
    by: { type: "string", value: "GROUPS", help: "some of day,key,kind,collection,country (default: all)" },
    json: { type: "boolean", help: "print the service's answer exactly as it came" },
    company: { type: "string", value: "N|UUID", help: "AI company of the sandbox that asks (default 1)" },
    ...connectionOptions,
  },
  run: runUsage,
};

async function runUsage(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, usage);
  const { client } = await connect("ai_company", args, context);
  const names = { from: "from", to: "to", by: "group_by" } as const;
  const given = Object.entries(names).flatMap(([option, name]) => {
    const value = args.text(option);
    return value === null ? [] : [[name, value] as const];
  });
  const { body, text } = await client.usage(Object.fromEntries(given));
  const { terminal } = context;
  if (args.flag("json")) terminal.write(`${text}\n`);
  else showUsage(terminal, body);
  return body.total.requests === 0 ? exitCodes.negative : exitCodes.done;
}

const columns = ["day", "key_id", "kind", "collection", "country"] as const;

function showUsage(terminal: Terminal, { from, to, region, usage: lines, total }: UsageAnswer): void {
  const [first] = lines;
  if (first === undefined) {
    terminal.note(`Nothing was answered in ${region} from ${from} to ${to}.`);
    return;
  }
  const shown = columns.filter((name) => first[name] !== undefined);
  const header = [
    ...shown.map((name) => name.replace("_id", "").toUpperCase()),
    "REQUESTS",
    "BILLED",
    "ROWS",
  ];
  const rows = lines.map((line) => [...shown.map((name) => line[name] ?? "-"), ...numbersOf(line)]);
  for (const line of formatTable(header, rows, terminal.columns)) terminal.print(line);
  const [requests, billable, rowCount] = numbersOf(total);
  terminal.note(
    `${requests} requests in ${region} from ${from} to ${to}, ${billable} of them billed; ${rowCount} rows.`,
  );
}

function numbersOf({
  requests,
  billable,
  rows,
}: Pick<UsageLine, "requests" | "billable" | "rows">): string[] {
  return [requests, billable, rows].map(number);
}
