// Commands that ask one thing and print the answer, as rows of a table: what is asked, and what is shown of the answer. Before
// anything is connected, `ask` judges what was typed.

import { type Business, createBusiness } from "../client/business.ts";
import { evidenceOf } from "../client/evidence.ts";
import type { Patience } from "../client/retry-until.ts";
import type { JsonAnswer, SvcClient } from "../client/service-client.ts";
import type { Shape } from "../protocol/shape.ts";
import {
  type Arguments,
  type Call,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
} from "./command.ts";
import { type Connection, connect, connectionOptions } from "./connection.ts";
import { saveEvidence } from "./fetch.ts";
import { connectOps, opsOptions } from "./ops-connection.ts";
import { number } from "./publishing/push-progress.ts";
import { formatTable, type Terminal, visible } from "./terminal.ts";

interface About extends Pick<Command, "name" | "usage" | "summary" | "details"> {
  /** Its own options, which precede those of all of its kind. */
  readonly options?: string;
}

interface Row<C, A, T> extends About {
  ask(call: Call): (service: C) => Promise<A>;
  /** Prints the answer for a person. */
  show(answer: T, call: Call): void;
  /** Whether the answer is a no, for the exit code. */
  isNo?(answer: T, call: Call): boolean;
}

function exitCode<T>(row: { isNo?(answer: T, call: Call): boolean }, answer: T, call: Call): ExitCode {
  return row.isNo?.(answer, call) === true ? exitCodes.negative : exitCodes.done;
}

/** The options with which an AI company asks. */
export const companyOptions = `
    --company N|UUID  AI company of the sandbox that asks (default 1)
${connectionOptions}`;
export const asItCame = "    --json  print the service's answer exactly as it came";
export const oneOnEachLine = "    --json  print the service's answers as JSON, one on each line";

/** What an AI company asks, with the answer and its exact text. A row with the option `--save` has an answer that is evidence. */
export function companyQuery<T>(
  row: Row<SvcClient, Answer<T>, T>,
  json = { option: asItCame, isExact: true },
): Command {
  return {
    ...row,
    options: `${row.options ?? ""}\n${json.option}${companyOptions}`,
    run: async (call) => {
      const ask = row.ask(call);
      const { client, environment, key } = await connect("ai_company", call);
      const answer = await ask(client);
      const { text, body } = answer;
      const save = call.text("save");
      if (save !== null) {
        const evidence = await evidenceOf(client, answer, { environment, keyId: key.keyId });
        await saveEvidence(save, evidence, { environment, call });
      }
      if (!call.flag("json")) row.show(body, call);
      else if (json.isExact) call.terminal.write(`${text}\n`);
      else call.terminal.print(text);
      return exitCode(row, body, call);
    },
  };
}

type Answer<T> = Pick<JsonAnswer<T>, "text" | "body" | "requestHash">;

// What a business's own system asks.

/** The options with which a business asks. */
export const businessAndConnection = `
    --business N|UUID  business of the sandbox that asks (default 1)
${connectionOptions}`;
export const businessOptions = `
${oneOnEachLine}${businessAndConnection}`;

export function businessQuery<T>(row: Row<Business, T, T>): Command {
  return {
    ...row,
    options: `${row.options ?? ""}${businessOptions}`,
    run: async (call) => {
      const ask = row.ask(call);
      const { business } = await connectBusiness(call);
      const answer = await ask(business);
      if (call.flag("json")) call.terminal.print(JSON.stringify(answer));
      else row.show(answer, call);
      return exitCode(row, answer, call);
    },
  };
}

/** How long a service that is away, or asks to wait, is waited for. */
const patienceMs = 60_000;

export interface BusinessConnection extends Connection {
  readonly business: Business;
}

export async function connectBusiness(call: Call): Promise<BusinessConnection> {
  const connection = await connect("business", call);
  const { client, key } = connection;
  return { ...connection, business: createBusiness({ client, key, ...patienceOf(call) }) };
}

/** How long a command waits, and what it says meanwhile. */
export function patienceOf({ now, wait, terminal }: CommandContext): Patience {
  return {
    now,
    wait,
    patienceMs,
    onWaiting: ({ delayMs, error }) =>
      terminal.note(`Waiting ${Math.ceil(delayMs / 1000)} s: ${error.message}`),
  };
}

// What operators ask of a node: a list in the answer of one address, whose form is judged.

interface OpsListing<A extends object, T> {
  path(call: Call): string;
  readonly form: Shape<A>;
  readonly header: readonly string[];
  items(answer: A): readonly T[];
  rowOf(item: T): readonly string[];
  /** What is noted if there is no item. */
  readonly none?: (call: Call) => string;
  /** What else is noted; null for nothing. */
  readonly note?: (answer: A) => string | null;
  /** Whether the answer is a no, for the exit code. */
  isNo?(answer: A, call: Call): boolean;
}

export function opsList<A extends object, T>(row: About & OpsListing<A, T>): Command {
  return {
    ...row,
    options: `${row.options ?? ""}${opsOptions}`,
    run: (call) => showOpsList(call, row),
  };
}

/** Asks for the list and prints it, with the nodes that did not answer. */
export async function showOpsList<A extends object, T>(
  call: Call,
  list: OpsListing<A, T>,
): Promise<ExitCode> {
  const path = list.path(call);
  const answer = await (await connectOps(call)).get(path, list.form);
  const items = list.items(answer);
  printItems(call, items, list);
  noteMissing(call.terminal, answer);
  if (items.length === 0 && list.none !== undefined) call.terminal.note(list.none(call));
  const note = list.note?.(answer) ?? null;
  if (note !== null) call.terminal.note(note);
  return exitCode(list, answer, call);
}

/** Prints the items, each as JSON or all as a table. */
export function printItems<T>(
  call: Call,
  items: readonly T[],
  { header, rowOf }: Pick<Listing<T>, "header" | "rowOf">,
): void {
  if (call.flag("json")) for (const item of items) call.terminal.print(JSON.stringify(item));
  else printTable(call.terminal, header, items.map(rowOf));
}

/** Notes the nodes that did not answer, of an answer that several nodes make. */
export function noteMissing(terminal: Terminal, answer: object): void {
  const { missing = [] } = answer as { readonly missing?: readonly Readonly<Record<string, string>>[] };
  for (const { incarnation, region, detail } of missing)
    terminal.note(`The node ${incarnation} of ${region} does not answer: ${visible(String(detail))}`);
}

// Lists of which no more is read than is shown.

export interface Listing<T> {
  /** How many are shown at most. */
  readonly limit?: number;
  readonly header: readonly string[];
  readonly rowOf: (item: T) => readonly string[];
  /** What is noted if there is no item. */
  readonly none: string;
}

export const listLimitMax = 1_000_000;

/** Prints the items; the exit code says whether there is any. */
export async function printList<T>(
  call: Arguments & { readonly terminal: Terminal },
  items: AsyncIterable<T> | Iterable<T>,
  { limit = Number.POSITIVE_INFINITY, header, rowOf, none }: Listing<T>,
): Promise<ExitCode> {
  const { terminal } = call;
  const rows: (readonly string[])[] = [];
  let [count, isMore] = [0, false];
  for await (const item of items) {
    isMore = count === limit;
    if (isMore) break;
    count += 1;
    if (call.flag("json")) terminal.print(JSON.stringify(item));
    else rows.push(rowOf(item));
  }
  printTable(terminal, header, rows);
  if (isMore) terminal.note(`The first ${number(limit)} are shown; --limit shows more.`);
  if (count === 0) terminal.note(none);
  return count === 0 ? exitCodes.negative : exitCodes.done;
}

/** Prints nothing if there are no rows. */
export function printTable(
  terminal: Terminal,
  header: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  if (rows.length > 0) for (const line of formatTable(header, rows, terminal.columns)) terminal.print(line);
}

/** The options that were given, under the names of their query parameters. */
export function givenOf(
  call: Arguments,
  names: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const given = Object.entries(names).map(([option, name]) => [name, call.text(option)] as const);
  return Object.fromEntries(given.filter((each): each is [string, string] => each[1] !== null));
}
