// `svc ledger`: the accounts of AI companies, for operators.

import type { AllowanceAnswer, StatementAnswer } from "../client/service-client.ts";
import { jsonOption } from "./business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  UsageError,
} from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { connectOps, type OpsConnection, opsOptions } from "./ops-connection.ts";
import { formatTable, type Terminal } from "./terminal.ts";

export const ledger: Command = {
  name: "ledger",
  usage: "show|statement|top-up|correct COMPANY_UUID …",
  summary: "show the account of an AI company, pay in, or correct it (for operators)",
  details: [
    "  svc ledger show COMPANY_UUID",
    "  svc ledger statement COMPANY_UUID MONTH",
    "  svc ledger top-up COMPANY_UUID AMOUNT --currency EUR --id ID --by WHO --reason TEXT",
    "  svc ledger correct COMPANY_UUID AMOUNT --currency EUR --id ID --by WHO --reason TEXT",
    "",
    "  An entry is made once under its ID, such as the number of the payment: send it again if no answer came. A correction",
    "  may be negative; write -- before it: svc ledger correct --currency EUR … -- COMPANY_UUID -2.50",
  ],
  options: {
    currency: { type: "string", value: "CODE", help: "the account's currency (ISO 4217)" },
    id: { type: "string", value: "ID", help: "names the entry: it is made once" },
    by: { type: "string", value: "WHO", help: "who signs in to make the entry; kept with it" },
    reason: { type: "string", value: "TEXT", help: "why, in at most 500 characters; kept with the entry" },
    json: jsonOption,
    ...opsOptions,
  },
  run: runLedger,
};

interface Given {
  readonly args: Arguments;
  readonly ops: OpsConnection;
  readonly terminal: Terminal;
  readonly path: string;
  /** What follows the company. */
  readonly word: string;
}

type Run = (given: Given) => Promise<ExitCode>;

const acts: Readonly<
  Record<
    string,
    { readonly usage: string; readonly words: number; readonly isEntry?: true; readonly run: Run }
  >
> = {
  show: { usage: "COMPANY_UUID", words: 1, run: show },
  statement: { usage: "COMPANY_UUID MONTH", words: 2, run: statement },
  "top-up": { usage: "COMPANY_UUID AMOUNT", words: 2, isEntry: true, run: (given) => enter(given, "top_up") },
  correct: {
    usage: "COMPANY_UUID AMOUNT",
    words: 2,
    isEntry: true,
    run: (given) => enter(given, "correction"),
  },
};

async function runLedger(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [name = "", ...words] = args.positionals;
  const act = Object.hasOwn(acts, name) ? acts[name] : undefined;
  if (act === undefined)
    throw new UsageError("Use: svc ledger show, statement, top-up or correct. See: svc help ledger");
  const [company = "", word = ""] = words;
  if (words.length !== act.words)
    throw new UsageError(`Use: svc ledger ${name} ${act.usage}. See: svc help ledger`);
  const ops = await connectOps(args, context, act.isEntry === true ? required(args, "by") : null);
  const path = `/ops/ledgers/${encodeURIComponent(company)}`;
  return act.run({ args, ops, terminal: context.terminal, path, word });
}

async function show({ args, ops, terminal, path }: Given): Promise<ExitCode> {
  const { account } = await ops.get(path);
  tellAccount(terminal, args, account);
  return exitCodes.done;
}

async function statement({ args, ops, terminal, path, word }: Given): Promise<ExitCode> {
  const { statement: found } = await ops.get(`${path}/statements/${encodeURIComponent(word)}`);
  if (args.flag("json")) terminal.print(JSON.stringify(found));
  else printStatement(terminal, found as StatementShown);
  return exitCodes.done;
}

async function enter(given: Given, kind: "top_up" | "correction"): Promise<ExitCode> {
  const { args, ops, terminal, path, word: amount } = given;
  const { account } = await ops.post(`${path}/entries`, {
    ...{ kind, amount, entry_id: required(args, "id"), currency: required(args, "currency") },
    reason: required(args, "reason"),
  });
  tellAccount(terminal, args, account);
  return exitCodes.done;
}

function tellAccount(terminal: Terminal, args: Arguments, account: unknown): void {
  if (args.flag("json")) {
    terminal.print(JSON.stringify(account));
    return;
  }
  const { currency, balance, reserved, available } = account as Readonly<Record<string, string>>;
  terminal.print(
    `balance ${balance} ${currency}, of which ${reserved} is reserved: ${available} is available`,
  );
}

function required(args: Arguments, name: string): string {
  const text = args.text(name);
  if (text === null || text.trim() === "") throw new UsageError(`--${name} is missing. See: svc help ledger`);
  return text;
}

// `svc allowance`: what an AI company has paid in, and what it was charged.

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

// A statement as a table.

type StatementShown = StatementAnswer;

function printStatement(terminal: Terminal, statement: StatementShown): void {
  const { month, currency, opening, closing, is_final, entries, lines } = statement;
  const rows = [
    ["opening", `${month}-01`, "", "", opening],
    ...entries.map(({ kind, at, entry_id, amount }) => [kind, at.slice(0, 10), entry_id, "", amount]),
    ...lines.map(({ kind, day, collection, count, price, amount }) => [
      ...[kind, day, collection ?? "", `${count} at ${price}`, amount === "0" ? amount : `-${amount}`],
    ]),
    ["closing", is_final ? "final" : "not final", "", "", closing],
  ];
  for (const line of formatTable(["ITEM", "DAY", "FOR", "COUNT", currency], rows, terminal.columns))
    terminal.print(line);
}
