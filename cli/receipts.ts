// `svc receipts`: an AI company's own receipts, or one of them, checked by the service; `svc receipts check`: a receipt that
// somebody presents, checked here.

import { resolve } from "node:path";
import { SvcProblemError } from "../client/errors.ts";
import { ownReceipts } from "../client/pages.ts";
import { checkReceipt, type PresentedReceipt, readPresented } from "../client/receipt-check.ts";
import type { JsonValue } from "../client/record-set.ts";
import type { OwnReceipt, ReceiptsAnswer, SvcClient } from "../client/service-client.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "./command.ts";
import { type Connection, connect, connectionOptions, parseJson, readText } from "./connection.ts";
import { listLimitMax, printList } from "./listing.ts";
import { number } from "./publishing/push-progress.ts";
import type { Terminal } from "./terminal.ts";
import { loadAnchors, readBytes, showReport } from "./verify.ts";

const limitDefault = 50;
const pageMax = 200;
const dayMs = 86_400_000;
const patienceMs = 60_000;

const company = {
  type: "string",
  value: "N|UUID",
  help: "AI company of the sandbox that asks (default 1)",
} as const;

export const receipts: Command = {
  name: "receipts",
  usage: "[RETRIEVAL_ID]",
  summary: "list the receipts of an AI company's searches and fetches, or show one with its proof",
  details: [
    "TIME is a day, or a moment such as 2026-11-21T03:00:00.000Z; --from is included, --to is not.",
    "Each region has the receipts that it gave.",
  ],
  options: {
    from: { type: "string", value: "TIME", help: "since when (default: a day ago)" },
    to: { type: "string", value: "TIME", help: "until when" },
    of: { type: "string", value: "KEY_ID", help: "only those of one key of the company" },
    limit: { type: "string", short: "n", value: "N", help: `how many at most (default ${limitDefault})` },
    json: { type: "boolean", help: "print one JSON document a line" },
    company,
    ...connectionOptions,
  },
  run: runReceipts,
};

export const receiptsCheck: Command = {
  name: "receipts check",
  usage: "FILE",
  summary:
    "check a receipt that somebody presents: who signed it, to whom, over which rows, and the log's proof",
  details: [
    "FILE has the receipt: its envelope, the saved answer of a search or fetch, or one of svc receipts --json.",
    "Trust comes only from anchors: --anchors FILE, or with --sandbox those of the sandbox in the home folder.",
    "With --key-set nothing is asked of the service, and the log's proof is not checked.",
    "Exits with 0 if every check that could be made passes, and with 1 if one fails.",
  ],
  options: {
    caller: { type: "string", value: "KEY_ID", help: "key of the one who presents it (default: your own)" },
    rows: {
      type: "string",
      value: "FILE",
      help: "rows that it must list unchanged: a list, or the answer of a search",
    },
    anchors: { type: "string", value: "FILE", help: "pinned anchors (JSON)" },
    sandbox: { type: "boolean", help: "accept sandbox anchors" },
    "key-set": {
      type: "string",
      value: "FILE",
      help: "a saved GET /.well-known/keys, instead of reading it",
    },
    json: { type: "boolean", help: "print the report as JSON" },
    company,
    ...connectionOptions,
  },
  run: runCheck,
};

async function runReceipts(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [retrievalId] = args.positionals;
  if (retrievalId !== undefined) onlyArgument(args, receipts);
  const limit = args.integer("limit", { min: 1, max: listLimitMax, fallback: limitDefault });
  const { client } = await connect("ai_company", args, context);
  if (retrievalId !== undefined) return showOne(client, retrievalId, args, context);
  const { terminal } = context;
  const patience = { ...context, patienceMs, onWaiting: () => terminal.status("Waiting for the service …") };
  const found = ownReceipts(client, patience, queryOf(args, context, Math.min(limit, pageMax)));
  return printList(args, terminal, found, {
    limit,
    header: ["SERVED", "RETRIEVAL", "KIND", "COLLECTION", "COUNTRY", "ROWS", "BILLED", "KEY"],
    rowOf: cellsOf,
    none: "Nothing was answered in that time.",
  });
}

function queryOf(args: Arguments, { now }: CommandContext, limit: number) {
  const to = args.text("to");
  const of = args.text("of");
  return {
    from: args.text("from") ?? new Date(now() - dayMs).toISOString(),
    ...(to === null ? {} : { to }),
    ...(of === null ? {} : { key_id: of }),
    limit,
  };
}

function cellsOf(receipt: OwnReceipt): string[] {
  const { served_at, retrieval_id, kind, collection, country, rows, billable, key_id } = receipt;
  return [
    ...[
      served_at,
      retrieval_id,
      kind,
      collection ?? "-",
      country ?? "-",
      number(rows),
      billable ? "yes" : "no",
    ],
    key_id,
  ];
}

async function showOne(
  client: SvcClient,
  retrievalId: string,
  args: Arguments,
  { terminal }: CommandContext,
): Promise<ExitCode> {
  const answer = await found(() => client.ownReceipt(retrievalId));
  if (answer === null) {
    terminal.note("There is no receipt of this retrieval in this region, or it is not yours.");
    return exitCodes.negative;
  }
  if (args.flag("json")) terminal.write(`${answer.text}\n`);
  else showChecked(terminal, answer.body);
  return answer.body.checked?.valid === true ? exitCodes.done : exitCodes.negative;
}

async function found<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SvcProblemError && error.status === 404) return null;
    throw error;
  }
}

function showChecked(terminal: Terminal, { receipts: [receipt], checked }: ReceiptsAnswer): void {
  if (receipt === undefined || checked === undefined) return;
  const { served_at, kind, collection, country, rows, billable, key_id, region } = receipt;
  terminal.print(terminal.bold(receipt.retrieval_id));
  terminal.print(`served      ${served_at} by ${region}`);
  terminal.print(`to key      ${key_id}`);
  terminal.print(
    `what        ${[kind, collection, country].filter((each) => each !== null).join(" ")}, ${rows} rows`,
  );
  terminal.print(`billed      ${billable ? "yes" : "no"}`);
  terminal.print(
    `receipt     ${checked.valid ? terminal.good("valid") : terminal.bad(`not valid: ${checked.reason}`)}`,
  );
  const { log } = checked;
  terminal.print(
    `log         ${log === null ? "does not contain it yet" : `leaf ${log.leaf_index} of ${log.tree_size}, batch ${log.batch?.name}`}`,
  );
}

async function runCheck(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const file = await readBytes(onlyArgument(args, receiptsCheck), context);
  const presented = readPresented(file);
  if (!presented.ok) throw new UsageError(presented.detail);
  const choice = { anchorsText: await loadAnchors(args, context), allowSandbox: args.flag("sandbox") };
  const given = args.text("key-set");
  const caller = args.text("caller");
  const connection: Connection | null =
    given !== null && caller !== null ? null : await connect("ai_company", args, context);
  const keySet = given === null ? await keySetOf(connection) : await readBytes(given, context);
  const outcome = await checkReceipt(await withRows(presented.value, args, context), {
    ...choice,
    keySet,
    callerKeyId: caller ?? connection?.key.keyId ?? "",
    log: given === null ? (connection?.client ?? null) : null,
  });
  if (!outcome.ok) throw new UsageError(outcome.detail);
  return showReport(outcome.value, args, context);
}

async function keySetOf(connection: Connection | null): Promise<Uint8Array> {
  const answer = await connection?.client.verificationRead("/.well-known/keys");
  return new TextEncoder().encode(answer?.text ?? "");
}

async function withRows(
  presented: PresentedReceipt,
  args: Arguments,
  { cwd }: CommandContext,
): Promise<PresentedReceipt> {
  const path = args.text("rows");
  if (path === null) return presented;
  const value = parseJson(path, await readText(resolve(cwd, path)));
  const rows = Array.isArray(value) ? value : (value as { readonly rows?: unknown } | null)?.rows;
  if (!Array.isArray(rows))
    throw new UsageError(`${path} has no rows: use a list of rows, or the answer of a search.`);
  return { ...presented, rows: rows as readonly JsonValue[] };
}
