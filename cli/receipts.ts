// `svc receipts`: an AI company's own receipts, or one of them, checked by the service; `svc receipts check`: a receipt that
// somebody presents, checked here.

import { resolve } from "node:path";
import { ownReceipts } from "../client/pages.ts";
import { checkReceipt, type PresentedReceipt, readPresented } from "../client/receipt-check.ts";
import type { JsonValue } from "../client/record-set.ts";
import type { OwnReceipt, ReceiptsAnswer, SvcClient } from "../client/service-client.ts";
import { type Call, type Command, type ExitCode, exitCodes, onlyArgument, UsageError } from "./command.ts";
import { type Connection, connect, parseJson, readText } from "./connection.ts";
import { ifThere } from "./failure.ts";
import { number } from "./publishing/push-progress.ts";
import { companyOptions, givenOf, listLimitMax, printList } from "./query.ts";
import type { Terminal } from "./terminal.ts";
import { loadAnchors, readBytes, showReport } from "./verify.ts";

const limitDefault = 50;
const pageMax = 200;
const dayMs = 86_400_000;
const patienceMs = 60_000;

export const receipts: Command = {
  name: "receipts",
  usage: "[RETRIEVAL_ID]",
  summary: "list the receipts of an AI company's searches and fetches, or show one with its proof",
  details: [
    "TIME is a day, or a moment such as 2026-11-21T03:00:00.000Z; --from is included, --to is not.",
    "Each region has the receipts that it gave.",
  ],
  options: `
    --from TIME    since when (default: a day ago)
    --to TIME      until when
    --of KEY_ID    only those of one key of the company
    -n, --limit N  how many at most (default ${limitDefault})
    --json         print one JSON document a line${companyOptions}`,
  run: async (call) => {
    const [retrievalId] = call.positionals;
    if (retrievalId !== undefined) onlyArgument(call, receipts);
    const limit = call.integer("limit", { min: 1, max: listLimitMax, fallback: limitDefault });
    const { client } = await connect("ai_company", call);
    if (retrievalId !== undefined) return showOne(client, retrievalId, call);
    const { terminal } = call;
    const patience = { ...call, patienceMs, onWaiting: () => terminal.status("Waiting for the service …") };
    const from = call.text("from") ?? new Date(call.now() - dayMs).toISOString();
    const given = givenOf(call, { to: "to", of: "key_id" });
    const found = ownReceipts(client, patience, { from, ...given, limit: Math.min(limit, pageMax) });
    return printList(call, found, {
      limit,
      header: ["SERVED", "RETRIEVAL", "KIND", "COLLECTION", "COUNTRY", "ROWS", "BILLED", "KEY"],
      rowOf: cellsOf,
      none: "Nothing was answered in that time.",
    });
  },
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
  options: `
    --caller KEY_ID  key of the one who presents it (default: your own)
    --rows FILE      rows that it must list unchanged: a list, or the answer of a search
    --anchors FILE   pinned anchors (JSON)
    --sandbox        accept sandbox anchors
    --key-set FILE   a saved GET /.well-known/keys, instead of reading it
    --json           print the report as JSON${companyOptions}`,
  run: async (call) => {
    const file = await readBytes(call.argument, call);
    const presented = readPresented(file);
    if (!presented.ok) throw new UsageError(presented.detail);
    const choice = { anchorsText: await loadAnchors(call), allowSandbox: call.flag("sandbox") };
    const given = call.text("key-set");
    const caller = call.text("caller");
    const connection: Connection | null =
      given !== null && caller !== null ? null : await connect("ai_company", call);
    const keySet = given === null ? await keySetOf(connection) : await readBytes(given, call);
    const outcome = await checkReceipt(await withRows(presented.value, call), {
      ...choice,
      keySet,
      callerKeyId: caller ?? connection?.key.keyId ?? "",
      log: given === null ? (connection?.client ?? null) : null,
    });
    if (!outcome.ok) throw new UsageError(outcome.detail);
    return showReport(outcome.value, call);
  },
};

function cellsOf(receipt: OwnReceipt): string[] {
  const { served_at, retrieval_id, kind, collection, country, rows, billable, key_id } = receipt;
  const what = [served_at, retrieval_id, kind, collection ?? "-", country ?? "-", number(rows)];
  return [...what, billable ? "yes" : "no", key_id];
}

async function showOne(client: SvcClient, retrievalId: string, call: Call): Promise<ExitCode> {
  const { terminal } = call;
  const answer = await ifThere(client.ownReceipt(retrievalId));
  if (answer === null) {
    terminal.note("There is no receipt of this retrieval in this region, or it is not yours.");
    return exitCodes.negative;
  }
  if (call.flag("json")) terminal.write(`${answer.text}\n`);
  else showChecked(terminal, answer.body);
  return answer.body.checked?.valid === true ? exitCodes.done : exitCodes.negative;
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

async function keySetOf(connection: Connection | null): Promise<Uint8Array> {
  const answer = await connection?.client.verificationRead("/.well-known/keys");
  return new TextEncoder().encode(answer?.text ?? "");
}

async function withRows(presented: PresentedReceipt, call: Call): Promise<PresentedReceipt> {
  const { cwd } = call;
  const path = call.text("rows");
  if (path === null) return presented;
  const value = parseJson(path, await readText(resolve(cwd, path)));
  const rows = Array.isArray(value) ? value : (value as { readonly rows?: unknown } | null)?.rows;
  if (!Array.isArray(rows))
    throw new UsageError(`${path} has no rows: use a list of rows, or the answer of a search.`);
  return { ...presented, rows: rows as readonly JsonValue[] };
}
