// `svc analytics` and `svc demand`: how a business's records are found, and what is asked for. `svc usage`: what an AI company
// used, counted from its receipts.

import type { DailyAnalytics, WhoIsAsking } from "../client/business-answers.ts";
import { recordTypeNames } from "../client/business-client.ts";
import type { UsageLine } from "../client/service-client.ts";
import { type Arguments, UsageError } from "./command.ts";
import { recordTypeOf } from "./publishing/catalogue.ts";
import { number } from "./publishing/push-progress.ts";
import { businessQuery, companyQuery, givenOf, printTable } from "./query.ts";
import { type Terminal, visible } from "./terminal.ts";

const windowOptions = `
    --from DAY    the first day, in UTC (default: thirty days before --to)
    --to DAY      the day after the last one (default: tomorrow)
    --country CC  only searches in this country
    --type TYPE   only ${recordTypeNames.join(", ")}`;

/** What was asked of the service, as query parameters. */
function windowOf(call: Arguments) {
  const type = recordTypeOf(call);
  const given = givenOf(call, { from: "from", to: "to", country: "country" });
  return { ...given, ...(type === undefined ? {} : { type }) };
}

export const analytics = businessQuery<DailyAnalytics | WhoIsAsking>({
  name: "analytics",
  usage: "",
  summary: "count how often the business's records were found and fetched, by day, country and type",
  details: ["Exits with 1 if there is nothing to count."],
  options: `
    --companies  count by the AI company that asked instead${windowOptions}`,
  ask: (call) => {
    const window = windowOf(call);
    return (business) =>
      call.flag("companies") ? business.whoIsAsking(window) : business.dailyAnalytics(window);
  },
  show: (answer, { terminal }) =>
    "companies" in answer ? showCompanies(terminal, answer) : showDays(terminal, answer),
  isNo: (answer) => ("companies" in answer ? answer.companies : answer.figures).length === 0,
});

function showDays(terminal: Terminal, { figures, from, to, totals }: DailyAnalytics): void {
  const rows = figures.map(({ day, type, country, ...counts }) => [
    day,
    type,
    country ?? "-",
    ...numbersOf(counts),
  ]);
  printTable(terminal, ["DAY", "TYPE", "COUNTRY", "SEARCHES", "ROWS", "FETCHES"], rows);
  const [searches, shown, fetches] = numbersOf(totals);
  terminal.note(
    `From ${from} to ${to}: in ${searches} searches, with ${shown} rows; fetched ${fetches} times.`,
  );
}

function showCompanies(terminal: Terminal, { companies, from, to }: WhoIsAsking): void {
  const rows = companies.map(({ legal_name, ai_company_uuid, days, ...counts }) => [
    visible(legal_name ?? ai_company_uuid),
    ...numbersOf(counts),
    number(days.length),
  ]);
  printTable(terminal, ["COMPANY", "SEARCHES", "ROWS", "FETCHES", "DAYS"], rows);
  if (rows.length === 0) terminal.note(`Nobody asked from ${from} to ${to}.`);
}

function numbersOf({ searches, rows, fetches }: DailyAnalytics["totals"]): readonly string[] {
  return [searches, rows, fetches].map(number);
}

export const demand = businessQuery({
  name: "demand",
  usage: "",
  summary: "show what AI companies are asked for in a country, of a type that the business publishes",
  details: [
    "A subject counts on a day on which several AI companies named it often enough (docs/ads.md).",
    "Exits with 1 if no subject counts.",
  ],
  options: windowOptions,
  ask: (call) => {
    const { country, type, ...window } = { country: null, type: null, ...windowOf(call) };
    if (country === null || type === null)
      throw new UsageError("Name --country and --type, such as --country US --type products.");
    return (business) => business.demand({ ...window, country, type });
  },
  show: ({ subjects, threshold: { companies, searches }, from, to }, { terminal }) => {
    const rows = subjects.map((each) => [visible(each.subject), number(each.searches), number(each.days)]);
    printTable(terminal, ["SUBJECT", "SEARCHES", "DAYS"], rows);
    terminal.note(
      `From ${from} to ${to}; a subject counts on a day on which ${companies} companies named it in ${searches} searches.`,
    );
  },
  isNo: ({ subjects }) => subjects.length === 0,
});

const columns = ["day", "key_id", "kind", "collection", "country"] as const;

export const usage = companyQuery({
  name: "usage",
  usage: "",
  summary: "count what an AI company asked, by day, key, kind, collection and country",
  details: ["DAY is a day in UTC; --from is included, --to is not. Each region counts its own answers."],
  options: `
    --from DAY   the first day (default: thirty days before --to)
    --to DAY     the day after the last one (default: tomorrow)
    --by GROUPS  some of day,key,kind,collection,country (default: all)`,
  ask: (call) => (client) => client.usage(givenOf(call, { from: "from", to: "to", by: "group_by" })),
  show: ({ from, to, region, usage: lines, total }, { terminal }) => {
    const [first] = lines;
    if (first === undefined) {
      terminal.note(`Nothing was answered in ${region} from ${from} to ${to}.`);
      return;
    }
    const shown = columns.filter((name) => first[name] !== undefined);
    const names = shown.map((name) => name.replace("_id", "").toUpperCase());
    const rows = lines.map((line) => [...shown.map((name) => line[name] ?? "-"), ...usageNumbers(line)]);
    printTable(terminal, [...names, "REQUESTS", "BILLED", "ROWS"], rows);
    const [requests, billable, rowCount] = usageNumbers(total);
    terminal.note(
      `${requests} requests in ${region} from ${from} to ${to}, ${billable} of them billed; ${rowCount} rows.`,
    );
  },
  isNo: ({ total }) => total.requests === 0,
});

function usageNumbers({ requests, billable, rows }: Pick<UsageLine, "requests" | "billable" | "rows">) {
  return [requests, billable, rows].map(number);
}
