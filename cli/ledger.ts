// `svc ledger` and `svc ops accounts`: the accounts of AI companies, for operators.

import type { AllowanceAnswer, StatementAnswer } from "../client/service-client.ts";
import { account, accountList, operatorStatement, under } from "../ops/shapes.ts";
import type { Of } from "../protocol/shape.ts";
import { type Call, type Command, UsageError } from "./command.ts";
import { requiredText } from "./confirmation.ts";
import { connect } from "./connection.ts";
import { connectOps, opsOptions } from "./ops-connection.ts";
import { asItCame, companyOptions, opsList, printTable } from "./query.ts";
import { formatTable, type Terminal, visible } from "./terminal.ts";

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
  options: `
    --currency CODE  the account's currency (ISO 4217)
    --id ID          names the entry: it is made once
    --by WHO         who signs in to make the entry; kept with it
    --reason TEXT    why, in at most 500 characters; kept with the entry${opsOptions}`,
  run: async (call) => {
    const [name = "", ...words] = call.positionals;
    const usage = Object.hasOwn(usages, name) ? usages[name as keyof typeof usages] : undefined;
    if (usage === undefined)
      throw new UsageError("Use: svc ledger show, statement, top-up or correct. See: svc help ledger");
    const [company = "", word = ""] = words;
    if (words.length !== usage.split(" ").length)
      throw new UsageError(`Use: svc ledger ${name} ${usage}. See: svc help ledger`);
    const isEntry = name === "top-up" || name === "correct";
    const ops = await connectOps(call, isEntry ? requiredText(call, "by", ledger) : null);
    const path = `/ops/ledgers/${encodeURIComponent(company)}`;
    if (name === "statement") {
      const address = `${path}/statements/${encodeURIComponent(word)}`;
      const { statement } = await ops.get(address, under("statement", operatorStatement));
      if (call.flag("json")) call.terminal.print(JSON.stringify(statement));
      else printStatement(call.terminal, statement);
      return;
    }
    const [kind, amount] = [name === "top-up" ? "top_up" : "correction", word];
    const told = under("account", account);
    const answer = isEntry
      ? await ops.post(`${path}/entries`, { kind, amount, ...entryOf(call) }, told)
      : await ops.get(path, told);
    tellAccount(call, answer.account);
  },
};

/** What follows each of its words. */
const usages = {
  show: "COMPANY_UUID",
  statement: "COMPANY_UUID MONTH",
  "top-up": "COMPANY_UUID AMOUNT",
  correct: "COMPANY_UUID AMOUNT",
} as const;

function entryOf(call: Call) {
  return {
    entry_id: requiredText(call, "id", ledger),
    currency: requiredText(call, "currency", ledger),
    reason: requiredText(call, "reason", ledger),
  };
}

function tellAccount({ terminal, flag }: Call, shown: Of<typeof account>): void {
  const { currency, balance, reserved, available } = shown;
  terminal.print(
    flag("json")
      ? JSON.stringify(shown)
      : `balance ${balance} ${currency}, of which ${reserved} is reserved: ${available} is available`,
  );
}

export const opsAccounts: Command = opsList({
  name: "ops accounts",
  usage: "",
  summary: "list the accounts of AI companies, those that run low first, 50 at most (for operators)",
  details: [
    "  An account runs low where it lasts for less than seven days at the rate of the last day in which anything was charged.",
    "  Exits with 1 if any of these runs low.",
  ],
  options: "    --after UUID  the list goes on after this company",
  path: (call) => {
    const after = call.text("after");
    return `/ops/ledgers${after === null ? "" : `?after=${encodeURIComponent(after)}`}`;
  },
  form: accountList,
  items: ({ accounts }) => accounts,
  header: ["COMPANY", "NAME", "BALANCE", "USED IN A DAY", "DAYS LEFT", "LOW", "LAST TOP-UP"],
  rowOf: ({ company_uuid, legal_name, currency, balance, used_last_day, days_left, is_low, last_top_up }) => [
    company_uuid,
    visible(legal_name ?? "–"),
    `${balance} ${currency}`,
    used_last_day,
    String(days_left ?? "–"),
    is_low ? "yes" : "no",
    last_top_up === null ? "–" : `${last_top_up.amount} at ${last_top_up.at}`,
  ],
  none: () => "Nothing was ever paid in.",
  note: ({ next_after, is_complete }) =>
    next_after !== null
      ? `More: --after ${next_after}`
      : is_complete
        ? null
        : "Not all accounts are here: there are too many, or some cannot be asked now.",
  isNo: ({ accounts }) => accounts.some(({ is_low }) => is_low),
});

// `svc allowance`: what an AI company has paid in, and what it was charged.

export const allowance: Command = {
  name: "allowance",
  usage: "[MONTH]",
  summary: "show your prepaid allowance and the prices, or the statement of a month",
  options: `
${asItCame}
    --csv  print the statement as CSV${companyOptions}`,
  run: async (call) => {
    const [month, further] = call.positionals;
    if (further !== undefined) throw new UsageError("svc allowance takes one month.");
    if (month === undefined && call.flag("csv")) throw new UsageError("--csv needs a month such as 2026-11.");
    const { client } = await connect("ai_company", call);
    const tell = <T>({ body, text }: { readonly body: T; readonly text: string }, print: Print<T>): void =>
      call.flag("json") ? call.terminal.write(`${text}\n`) : print(call.terminal, body);
    if (month === undefined) tell(await client.allowance(), printAllowance);
    else if (call.flag("csv")) call.terminal.write((await client.statementCsv(month)).text);
    else tell(await client.statement(month), printStatement);
  },
};

type Print<T> = (terminal: Terminal, body: T) => void;

function printAllowance(terminal: Terminal, { billed, account, prices }: AllowanceAnswer): void {
  if (!billed) terminal.print("Nothing is charged here.");
  if (account !== null) {
    const { available, balance, reserved, currency } = account;
    terminal.print(`available ${available} ${currency} (balance ${balance}, reserved ${reserved})`);
  } else if (billed) terminal.print("Nothing was paid in yet.");
  if (prices === null) return;
  const rows = prices.versions.map(({ version, effective_from, search, fetch }) => [
    String(version),
    effective_from,
    fetch,
    Object.entries(search)
      .map(([collection, price]) => `${collection} ${price}`)
      .join(", "),
  ]);
  for (const line of formatTable(["PRICES", "FROM", "FETCH", "SEARCH"], rows, terminal.columns))
    terminal.note(line);
}

function printStatement(terminal: Terminal, statement: Omit<StatementAnswer, "entries"> & Entries): void {
  const { month, currency, opening, closing, is_final, entries, lines } = statement;
  const rows = [
    ["opening", `${month}-01`, "", "", opening],
    ...entries.map(({ kind, at, entry_id, amount }) => [kind, at.slice(0, 10), entry_id, "", amount]),
    ...lines.map(({ kind, day, collection, count, price, amount }) => [
      kind,
      day,
      collection ?? "",
      `${count} at ${price}`,
      amount === "0" ? amount : `-${amount}`,
    ]),
    ["closing", is_final ? "final" : "not final", "", "", closing],
  ];
  printTable(terminal, ["ITEM", "DAY", "FOR", "COUNT", currency], rows);
}

/** Those that a company and operators are told of alike. */
interface Entries {
  readonly entries: readonly Pick<
    StatementAnswer["entries"][number],
    "kind" | "at" | "entry_id" | "amount"
  >[];
}
