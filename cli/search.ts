// `svc search`: lists candidates in one collection.

import { forms, ofForm } from "../client/business-client.ts";
import { evidenceOf } from "../client/evidence.ts";
import type { IndexRow, SearchRequest } from "../client/service-client.ts";
import { type Arguments, type Command, exitCodes, UsageError } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { saveEvidence } from "./fetch.ts";
import { formatTable, type Terminal, visible } from "./terminal.ts";

// `--where`: one condition of a search as people type it, turned into a filter clause of the request.

type Clause = Readonly<Record<string, unknown>>;

const comparison = /^([a-z_][a-z_.]*)(:=|!=|<=|>=|=|<|>)(.*)$/s;
const listing = /^([a-z_][a-z_.]*)\s+(in|nin)\s+(.+)$/s;
const nearby = /^([a-z_][a-z_.]*)\s+near\s+(-?[0-9.]+),(-?[0-9.]+),([0-9.]+)$/;
const operators: Readonly<Record<string, string>> = {
  "!=": "ne",
  "<": "lt",
  "<=": "lte",
  ">": "gt",
  ">=": "gte",
};

/** Shown when a condition cannot be parsed. */
const whereHelp = [
  "field=value   field!=value   field<n   field<=n   field>n   field>=n",
  "'field in a,b'   'field nin a,b'   'geo near LAT,LNG,KM'",
  "field:=JSON for a value that is not a text, for example year_established:=1987",
];

/** Throws {@link UsageError}. Fields and operators are checked by the service. */
export function parseWhere(text: string): Clause {
  const near = nearby.exec(text);
  if (near !== null) {
    const [, field = "", lat, lng, radius] = near;
    return { [field]: { near: { lat: Number(lat), lng: Number(lng), radius_km: Number(radius) } } };
  }
  const list = listing.exec(text);
  if (list !== null) {
    const [, field = "", operator = "", values = ""] = list;
    return { [field]: { [operator]: values.split(",").map((value) => value.trim()) } };
  }
  const match = comparison.exec(text);
  if (match === null)
    throw new UsageError(
      [`--where ${JSON.stringify(text)} is not a condition. Use:`, ...whereHelp].join("\n  "),
    );
  const [, field = "", operator = "", value = ""] = match;
  if (operator === ":=") return { [field]: jsonValue(text, value) };
  if (operator === "=") return { [field]: value === "true" || value === "false" ? value === "true" : value };
  const isOrder = operator.startsWith("<") || operator.startsWith(">");
  const operand = isOrder && /^-?[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : value;
  return { [field]: { [operators[operator] ?? operator]: operand } };
}

function jsonValue(text: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new UsageError(`--where ${JSON.stringify(text)}: what follows := must be JSON.`);
  }
}

const collections = ["products", "business_files", "events", "jobs", "updates"];
export const limitMax = 50;
const limitDefault = 20;

export const search: Command = {
  name: "search",
  usage: "COLLECTION [TEXT]",
  summary: "find records of a collection by text and conditions",
  details: [
    `COLLECTION is one of ${collections.join(", ")}.`,
    "Conditions (--where, repeatable; all must hold):",
    ...whereHelp.map((line) => `  ${line}`),
    "Every search names one country and an order. With TEXT the order is by relevance unless --sort says otherwise;",
    "without TEXT it is published_at:desc.",
  ],
  options: `
    -c, --country CC        country the records are published for
    -w, --where CONDITION…  a condition, see above
    -s, --sort KEYS         up to three, as key:asc or key:desc, separated by commas
    -n, --limit N           rows, 1 to ${limitMax} (default ${limitDefault})
    --query-by FIELDS       text fields in which TEXT is looked for, separated by commas
    --save FILE             write an evidence file that \`svc verify FILE\` checks offline
    --json                  print the service's answer exactly as it came
    --company N|UUID        AI company of the sandbox that asks (default 1)
${connectionOptions}`,
  run: async (call) => {
    // An invalid request is reported before anything is read or sent.
    searchRequest(call, "US");
    const connection = await connect("ai_company", call);
    const request = searchRequest(call, connection.country);
    const { client, environment, key } = connection;
    const answer = ofForm(forms.search, await client.search(request));
    const { body, text } = answer;
    const { terminal } = call;
    const save = call.text("save");
    if (save !== null) {
      const evidence = await evidenceOf(client, answer, { environment, keyId: key.keyId });
      await saveEvidence(save, evidence, { environment, call });
    }
    if (call.flag("json")) terminal.write(`${text}\n`);
    else showRows(terminal, body.rows, request);
    return body.rows.length > 0 ? exitCodes.done : exitCodes.negative;
  },
};

/** Builds the request body, whose fields, operators and sort keys the service judges; throws {@link UsageError}. */
export function searchRequest(args: Arguments, knownCountry: string | null): SearchRequest {
  const [name = "", ...words] = args.positionals;
  const collection = name.replaceAll("-", "_");
  if (!collections.includes(collection)) {
    const given = name === "" ? "COLLECTION is missing" : `${JSON.stringify(name)} is not a collection`;
    throw new UsageError(`${given}; use one of ${collections.join(", ")}.`);
  }
  const country = args.text("country") ?? knownCountry;
  if (country === null)
    throw new UsageError("Name the country that the records are for, for example --country US.");
  const q = words.join(" ");
  const queryBy = args.text("query-by");
  return {
    collection,
    ...(q === "" ? {} : { q }),
    ...(queryBy === null ? {} : { query_by: queryBy.split(",").map((field) => field.trim()) }),
    filter: { all: [{ country: country.toUpperCase() }, ...args.texts("where").map(parseWhere)] },
    sort_by: args.text("sort") ?? (q === "" ? "published_at:desc" : "_text_match:desc"),
    limit: args.integer("limit", { min: 1, max: limitMax, fallback: limitDefault }),
  } as unknown as SearchRequest;
}

function showRows(terminal: Terminal, rows: readonly IndexRow[], request: SearchRequest): void {
  if (rows.length === 0) {
    terminal.note(`Nothing was found in ${request.collection}.`);
    return;
  }
  const country = String(request.filter.all[0]?.["country"]);
  const header = ["RECORD", "PUBLISHED", "PRICE", "NAME"];
  const cells = rows.map((row) => [
    row.record_id,
    publishedDay(row),
    priceOf(row, country),
    visible(nameOf(row)),
  ]);
  const [head = "", ...lines] = formatTable(
    header,
    cells,
    terminal.isScreen ? terminal.columns : Number.MAX_SAFE_INTEGER,
  );
  terminal.print(terminal.bold(head));
  for (const line of lines) terminal.print(line);
  terminal.note(`${rows.length} ${rows.length === 1 ? "row" : "rows"}. Show one with: svc fetch RECORD`);
}

function publishedDay(row: IndexRow): string {
  const { published_at: seconds } = row;
  return typeof seconds === "number" ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
}

function priceOf(row: IndexRow, country: string): string {
  const amount = row[`price_${country}`] ?? row["price_min"] ?? row["salary_min"];
  const currency = row[`price_currency_${country}`] ?? row["price_currency"] ?? row["salary_currency"];
  return amount === undefined ? "" : visible(`${String(amount)} ${String(currency ?? "")}`).trim();
}

/** Collections use different members for the name; a row of a business file may have no name at all. */
function nameOf(row: IndexRow): string {
  const name =
    row["product_name"] ?? row["title"] ?? row["headline"] ?? row["business_name"] ?? row["description"];
  return typeof name === "string" ? name : row.business_uuid;
}
