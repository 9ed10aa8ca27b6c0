// `svc push`: publishes the products of a file, in sealed batches or bulk files. If it is killed at any moment and run
// again, it resumes where it stopped (client/push-run.ts); nothing is published twice.

import { createHash, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { batchRecordsMax, rootOf } from "../client/batch.ts";
import { productFaults } from "../client/product-check.ts";
import type { PushDeps } from "../client/push-event.ts";
import { runPush } from "../client/push-run.ts";
import { isSettled } from "../client/push-state.ts";
import type { RecordSet } from "../client/record-set.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "./command.ts";
import { type Connection, connect, connectionOptions, homeOf, sameBusiness } from "./connection.ts";
import { dryRun } from "./dry-run.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";
import { isNewest, rememberNewest } from "./newest-push.ts";
import { inputOptions, type ProductInput, readProducts } from "./product-input.ts";
import { formatFaults, type PlacedFaults, shownFaults } from "./push-faults.ts";
import { type FileJournal, openPushJournal, PushRunningError } from "./push-journal.ts";
import { createPushProgress, number } from "./push-progress.ts";
import { pushResult } from "./push-summary.ts";

const patienceSecondsDefault = 120;

export const push: Command = {
  name: "push",
  usage: "FILE",
  summary: "publish the products of a file: NDJSON, JSON, CSV, TSV or a Google Merchant feed, gzipped or not",
  details: [
    "Run it again after an interruption to continue; a file that has already been published is not sent again.",
    "The columns of a CSV file are members of a product: business_product_id, product_name, language, vertical, category,",
    "channel, brand, tags (separated by |), short_description, on_sale, availability, product_url, and for each",
    "country price_US with price_currency_US. Without the column countries, a product is published where it has a price.",
    "Other columns, and the attributes of a merchant feed, are mapped by --mapping; what cannot be mapped is reported.",
    `More than ${batchRecordsMax} records are uploaded as one file, where the service offers that.`,
    "Exits with 1 if records were rejected or left out, or a batch was held.",
  ],
  options: {
    check: { type: "boolean", help: "only report what is wrong with the file; send nothing" },
    "dry-run": { type: "boolean", help: "let the service judge every record, and publish nothing" },
    ...inputOptions,
    "batch-size": {
      type: "string",
      value: "N",
      help: `records in a batch (default and maximum ${batchRecordsMax}); no bulk file is used`,
    },
    patience: {
      type: "string",
      value: "SECONDS",
      help: `how long to wait for a service that is away (default ${patienceSecondsDefault})`,
    },
    again: { type: "boolean", help: "publish the file again although it was pushed before" },
    quiet: { type: "boolean", short: "q", help: "print only faults and the result" },
    json: { type: "boolean", help: "print events as NDJSON, for a program" },
    business: {
      type: "string",
      value: "N|UUID",
      help: "business of the sandbox that publishes (default 1)",
    },
    ...connectionOptions,
  },
  run: runPushCommand,
};

async function runPushCommand(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const file = resolve(context.cwd, onlyArgument(args, push));
  await using input = await readProducts(file, args, context);
  const { terminal } = context;
  context.onStop(async () => {
    await input[Symbol.asyncDispose]();
    terminal.note("Stopped. The same command continues from here.");
    return exitCodes.interrupted;
  });
  if (args.flag("check")) return await checkOnly(input, args, context);
  const connection = await connect("business", args, context);
  const how = {
    client: connection.client,
    key: connection.key,
    now: context.now,
    wait: context.wait,
    patienceMs: args.integer("patience", { min: 0, max: 86_400, fallback: patienceSecondsDefault }) * 1000,
    runId: randomBytes(8).toString("hex"),
  };
  const style = args.flag("json") ? "json" : args.flag("quiet") ? "quiet" : "people";
  if (args.flag("dry-run")) return await dryRun(how, input, { terminal, style });
  using journal = await openJournal(args, context, { connection, records: input.records });
  const home = homeOf(args, context);
  const name = basename(journal.path);
  const isLast = await isNewest(home, connection.identity, name);
  if (args.flag("again")) await rm(journal.path, { force: true });
  else if (!isLast) await sendSettledAgain(journal);
  await rememberNewest(home, connection.identity, name);
  const size = args.integer("batch-size", { min: 1, max: batchRecordsMax, fallback: batchRecordsMax });
  const deps: PushDeps = {
    ...how,
    journal,
    ...(args.text("batch-size") === null ? {} : { recordsPerBatch: size }),
    onEvent: createPushProgress(terminal, style, context.now),
  };
  const state = await runPush(deps, input.records);
  return await pushResult(terminal, input, { state, isJson: style === "json", as: sameBusiness(args) });
}

/** Something else was sent since: what this push had published may be overwritten or withdrawn. */
async function sendSettledAgain(journal: FileJournal): Promise<void> {
  const state = await journal.load();
  if (state === null || !state.batches.some(isSettled)) return;
  const batches = state.batches.map((batch) =>
    isSettled(batch)
      ? { ...batch, sealed: null, result: null, ...(batch.bulk ? { bulk: { upload_id: null } } : {}) }
      : batch,
  );
  await journal.save({ ...state, batches });
}

/** How many faulty records are described. */
const checkedAtOnce = 1_000;

async function checkOnly(
  input: ProductInput,
  args: Arguments,
  { terminal }: CommandContext,
): Promise<ExitCode> {
  const { records, report, placeName } = input;
  const faulty: PlacedFaults[] = [];
  for (let first = 0; first < records.lengths.length; first += checkedAtOnce) {
    for (const [at, bytes] of (await records.read(first, checkedAtOnce)).entries()) {
      const errors = productFaults(bytes);
      if (errors.length === 0) continue;
      const fault = { place: records.places[first + at] ?? 0, ...shownFaults(bytes, errors) };
      faulty.push(fault);
      await report.addFaults(fault);
    }
  }
  if (args.flag("json"))
    for (const each of faulty) terminal.print(JSON.stringify({ type: "record.faulty", ...each }));
  else for (const line of formatFaults(faulty, placeName)) terminal.print(line);
  const counts = { records: records.lengths.length, faulty: faulty.length, left_out: report.leftOut };
  if (args.flag("json")) terminal.print(JSON.stringify({ type: "check.finished", ...counts }));
  else
    terminal.print(
      `${number(counts.records)} ${counts.records === 1 ? "product" : "products"}, ${number(counts.faulty)} with faults. Nothing was sent.`,
    );
  return faulty.length + report.leftOut === 0 ? exitCodes.done : exitCodes.negative;
}

/** The state is found by the content of the push and its owner, even if the file has been renamed. */
async function openJournal(
  args: Arguments,
  context: CommandContext,
  what: { readonly connection: Connection; readonly records: RecordSet },
): Promise<FileJournal> {
  const root = rootOf(what.records.leaves);
  const name = createHash("sha256").update(`${what.connection.identity}\n${root}`).digest("hex");
  try {
    return await openPushJournal(join(homeOf(args, context), "pushes", `${name}.json`));
  } catch (error) {
    if (error instanceof PushRunningError) throw new UsageError(error.message);
    throw error;
  }
}
