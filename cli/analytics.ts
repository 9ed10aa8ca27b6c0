// `svc analytics` and `svc demand`: how a business's records are found, and what is asked for.

import type { DailyAnalytics, Demand, WhoIsAsking } from "../client/business-answers.ts";
import { recordTypeNames } from "../client/business-client.ts";
import type { UsageAnswer, UsageLine } from "../client/service-client.ts";
import { businessOptions, connectBusiness, jsonOption } from "./business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  noArguments,
  type OptionSpecs,
  UsageError,
} from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { printTable } from "./listing.ts";
import { number } from "./publishing/push-progress.ts";
import { formatTable, type Terminal, visible } from "./terminal.ts";

const windowOptions = {
  from: { type: "string", value: "DAY", help: "the first day, in UTC (default: thirty days before --to)" },
  to: { type: "string", value: "DAY", help: "the day after the last one (default: tomorrow)" },
  country: { type: "string", value: "CC", help: "only searches in this country" },
  type: { type: "string", value: "TYPE", help: `only ${recordTypeNames.join(", ")}` },
  json: jsonOption,
  ...businessOptions,
} as const satisfies OptionSpecs;

export const analytics: Command = {
  name: "analytics",
  usage: "",
  summary: "count how often the business's records were found and fetched, by day, country and type",
  details: ["Exits with 1 if there is nothing to count."],
  options: {
    companies: { type: "boolean", help: "count by the AI company that asked instead" },
    ...windowOptions,
  },
  run: async (args, context) => {
    noArguments(args, analytics);
    return await (args.flag("companies") ? showCompanies : showDays)(args, context);
  },
};

export const demand: Command = {
  name: "demand",
  usage: "",
  summary: "show what AI companies are asked for in a country, of a type that the business publishes",
  details: [
    "A subject counts on a day on which several AI companies named it often enough (docs/ads.md).",
    "Exits with 1 if no subject counts.",
  ],
  options: windowOptions,
  run: runDemand,
};

/** What was asked of the service, as query parameters. */
function windowOf(args: Arguments) {
  const wanted = args.text("type");
  const type = recordTypeNames.find((name) => name === wanted?.replaceAll("-", "_"));
  if (wanted !== null && type === undefined)
    throw new UsageError(`--type is ${JSON.stringify(wanted)}; use one of ${recordTypeNames.join(", ")}.`);
  const given = (["from", "to", "country"] as const).flatMap((name) => {
    const value = args.text(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(given), ...(type === undefined ? {} : { type }) };
}

async function showDays(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { business } = await connectBusiness(args, context);
  const answer = await business.dailyAnalytics(windowOf(args));
  const { terminal } = context;
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else {
    const header = ["DAY", "TYPE", "COUNTRY", "SEARCHES", "ROWS", "FETCHES"];
    const rows = answer.figures.map(({ day, type, country, ...counts }) => [
      ...[day, type, country ?? "-"],
      ...numbersOf(counts),
    ]);
    printTable(terminal, header, rows);
    showTotals(terminal, answer);
  }
  return answer.figures.length === 0 ? exitCodes.negative : exitCodes.done;
}

function showTotals(terminal: Terminal, { from, to, totals }: DailyAnalytics): void {
  const [searches, rows, fetches] = numbersOf(totals);
  terminal.note(
    `From ${from} to ${to}: in ${searches} searches, with ${rows} rows; fetched ${fetches} times.`,
  );
}

async function showCompanies(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { business } = await connectBusiness(args, context);
  const answer: WhoIsAsking = await business.whoIsAsking(windowOf(args));
  const { terminal } = context;
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else {
    const rows = answer.companies.map(({ legal_name, ai_company_uuid, days, ...counts }) => [
      visible(legal_name ?? ai_company_uuid),
      ...numbersOf(counts),
      number(days.length),
    ]);
    printTable(terminal, ["COMPANY", "SEARCHES", "ROWS", "FETCHES", "DAYS"], rows);
    if (rows.length === 0) terminal.note(`Nobody asked from ${answer.from} to ${answer.to}.`);
  }
  return answer.companies.length === 0 ? exitCodes.negative : exitCodes.done;
}

async function runDemand(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, demand);
  const { country, type, ...window } = { country: null, type: null, ...windowOf(args) };
  if (country === null || type === null)
    throw new UsageError("Name --country and --type, such as --country US --type products.");
  const { business } = await connectBusiness(args, context);
  const answer: Demand = await business.demand({ ...window, country, type });
  const { terminal } = context;
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else {
    const rows = answer.subjects.map(({ subject, searches, days }) => [
      visible(subject),
      number(searches),
      number(days),
    ]);
    printTable(terminal, ["SUBJECT", "SEARCHES", "DAYS"], rows);
    const { companies, searches } = answer.threshold;
    terminal.note(
      `From ${answer.from} to ${answer.to}; a subject counts on a day on which ${companies} companies named it in ${searches} searches.`,
    );
  }
  return answer.subjects.length === 0 ? exitCodes.negative : exitCodes.done;
}

function numbersOf({ searches, rows, fetches }: DailyAnalytics["totals"]): readonly [string, string, string] {
  return [number(searches), number(rows), number(fetches)];
}

// `svc usage`: what an AI company used, counted from its receipts.

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
  const rows = lines.map((line) => [...shown.map((name) => line[name] ?? "-"), ...usageNumbers(line)]);
  for (const line of formatTable(header, rows, terminal.columns)) terminal.print(line);
  const [requests, billable, rowCount] = usageNumbers(total);
  terminal.note(
    `${requests} requests in ${region} from ${from} to ${to}, ${billable} of them billed; ${rowCount} rows.`,
  );
}

function usageNumbers({
  requests,
  billable,
  rows,
}: Pick<UsageLine, "requests" | "billable" | "rows">): string[] {
  return [requests, billable, rows].map(number);
}
