// `svc push`: publishes the products of a file, in sealed batches. If it is killed at any moment and run again, it resumes
// where it stopped (client/push-run.ts); nothing is published twice.

import { createHash, randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { batchRecordsMax, recordsRoot } from "../client/batch.ts";
import { productFaults } from "../client/product-check.ts";
import { runPush } from "../client/push-run.ts";
import type { PushState } from "../client/push-state.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "./command.ts";
import { type Connection, connect, connectionOptions, homeOf } from "./connection.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";
import {
  type FileFormat,
  fileFormats,
  type InputRecord,
  type ProductFile,
  parseProductFile,
} from "./product-file.ts";
import { formatFaults, type PlacedFaults } from "./push-faults.ts";
import { type FileJournal, openPushJournal, PushRunningError } from "./push-journal.ts";
import { createPushProgress, number } from "./push-progress.ts";
import type { Terminal } from "./terminal.ts";

const patienceSecondsDefault = 120;

export const push: Command = {
  name: "push",
  usage: "FILE",
  summary: "publish the products of a file: NDJSON, a JSON array, CSV or TSV, gzipped or not",
  details: [
    "Run it again after an interruption to continue; a file that has already been published is not sent again.",
    "The columns of a CSV file are members of a product: business_product_id, product_name, language, vertical, category,",
    "channel, brand, tags (separated by |), short_description, on_sale, availability, product_url, and for each",
    "country price_US with price_currency_US. Without the column countries, a product is published where it has a price.",
    "Exits with 1 if records were rejected or a batch was held.",
  ],
  options: {
    check: { type: "boolean", help: "only report what is wrong with the file; send nothing" },
    format: {
      type: "string",
      value: "FORMAT",
      help: `${fileFormats.join(", ")} (default: by the file's name)`,
    },
    map: {
      type: "string",
      multiple: true,
      value: "COLUMN=MEMBER",
      help: "rename a column; COLUMN= leaves it out",
    },
    set: {
      type: "string",
      multiple: true,
      value: "MEMBER=VALUE",
      help: "a column that the file does not have",
    },
    "batch-size": {
      type: "string",
      value: "N",
      help: `records in a batch (default and maximum ${batchRecordsMax})`,
    },
    patience: {
      type: "string",
      value: "SECONDS",
      help: `how long to wait for a service that is away (default ${patienceSecondsDefault})`,
    },
    again: { type: "boolean", help: "publish the file again although it was pushed before" },
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
  const { terminal } = context;
  const input = await readProducts(file, args);
  if (!input.ok) {
    for (const { place, detail } of input.faults)
      terminal.note(place === 0 ? detail : `${input.placeName} ${place}: ${detail}`);
    throw new UsageError(`${basename(file)} cannot be read as products; nothing was sent.`);
  }
  if (args.flag("check")) return checkOnly(terminal, input);
  const connection = await connect("business", args, context);
  using journal = await openJournal(args, context, { connection, records: input.records });
  context.onStop(() => {
    terminal.note("Stopped. The same command continues from here.");
    return exitCodes.interrupted;
  });
  if (args.flag("again")) await rm(journal.path, { force: true });
  const style = args.flag("json") ? "json" : "people";
  const state = await runPush(
    {
      client: connection.client,
      key: connection.key,
      journal,
      now: context.now,
      wait: context.wait,
      patienceMs: args.integer("patience", { min: 0, max: 86_400, fallback: patienceSecondsDefault }) * 1000,
      runId: randomBytes(8).toString("hex"),
      recordsPerBatch: args.integer("batch-size", {
        min: 1,
        max: batchRecordsMax,
        fallback: batchRecordsMax,
      }),
      onEvent: createPushProgress(terminal, style),
    },
    input.records.map((record) => record.bytes),
  );
  return style === "json" ? tellResult(terminal, input, state) : showResult(terminal, input, state);
}

async function readProducts(file: string, args: Arguments): Promise<ProductFile> {
  const contents = await readFile(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  const format = args.text("format");
  if (format !== null && !isFormat(format))
    throw new UsageError(`--format is ${JSON.stringify(format)}; use one of ${fileFormats.join(", ")}.`);
  return parseProductFile(basename(file), new Uint8Array(contents), {
    format,
    map: pairs(args, "map"),
    set: pairs(args, "set"),
  });
}

function isFormat(text: string): text is FileFormat {
  return (fileFormats as readonly string[]).includes(text);
}

function pairs(args: Arguments, option: string): ReadonlyMap<string, string> {
  return new Map(
    args.texts(option).map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`--${option} ${JSON.stringify(pair)} has no =; use NAME=VALUE.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

type Products = Extract<ProductFile, { ok: true }>;

function checkOnly(terminal: Terminal, input: Products): ExitCode {
  const faulty = input.records.flatMap(({ bytes, place }) => {
    const errors = productFaults(bytes);
    return errors.length === 0 ? [] : [{ place, errors }];
  });
  for (const line of formatFaults(faulty, input.placeName)) terminal.print(line);
  terminal.print(
    `${products(input.records.length)}, ${number(faulty.length)} with faults. Nothing was sent.`,
  );
  return faulty.length === 0 ? exitCodes.done : exitCodes.negative;
}

/** The state is found by the content of the push and its owner, even if the file has been renamed. */
async function openJournal(
  args: Arguments,
  context: CommandContext,
  what: { readonly connection: Connection; readonly records: readonly InputRecord[] },
): Promise<FileJournal> {
  const root = recordsRoot(what.records.map((record) => record.bytes));
  const name = createHash("sha256").update(`${what.connection.identity}\n${root}`).digest("hex");
  try {
    return await openPushJournal(join(homeOf(args, context), "pushes", `${name}.json`));
  } catch (error) {
    if (error instanceof PushRunningError) throw new UsageError(error.message);
    throw error;
  }
}

interface Totals {
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
  readonly isPublished: boolean;
}

function totalsOf({ batches }: PushState): Totals {
  const sum = (name: "accepted" | "updated" | "rejected"): number =>
    batches.reduce((total, { result }) => total + (result?.[name] ?? 0), 0);
  const isPublished = batches.every(({ result }) => result?.state === "complete");
  return { accepted: sum("accepted"), updated: sum("updated"), rejected: sum("rejected"), isPublished };
}

function faultsOf(
  input: Products,
  { batches }: PushState,
): readonly (PlacedFaults & { readonly record_id: string | null })[] {
  return batches.flatMap(({ first, result }) =>
    (result?.faults ?? []).map(({ leaf_index, record_id, errors }) => ({
      place: input.records[first + leaf_index]?.place ?? 0,
      record_id,
      errors,
    })),
  );
}

function showResult(terminal: Terminal, input: Products, state: PushState): ExitCode {
  const { accepted, updated, rejected, isPublished } = totalsOf(state);
  for (const line of formatFaults(faultsOf(input, state), input.placeName)) terminal.print(line);
  for (const [index, { sealed, result }] of state.batches.entries()) {
    if (result === null || result.state === "complete") continue;
    terminal.print(`Batch ${index + 1} (${sealed?.push_id}) is ${result.state}.`);
    for (const { code, detail } of result.reasons) terminal.print(`  ${code}: ${detail}`);
    if (result.state === "held")
      terminal.print(
        "  An owner or admin can confirm it in the business portal; then run this command again.",
      );
  }
  const parts = [
    `${number(accepted)} published`,
    `${number(updated)} updated`,
    `${number(rejected)} rejected`,
  ];
  terminal.print(`${products(state.records)}: ${parts.join(", ")}.`);
  return isPublished && rejected === 0 ? exitCodes.done : exitCodes.negative;
}

function tellResult(terminal: Terminal, input: Products, state: PushState): ExitCode {
  const { isPublished, ...counts } = totalsOf(state);
  for (const fault of faultsOf(input, state))
    terminal.print(JSON.stringify({ type: "record.rejected", ...fault }));
  terminal.print(
    JSON.stringify({ type: "push.finished", published: isPublished, records: state.records, ...counts }),
  );
  return isPublished && counts.rejected === 0 ? exitCodes.done : exitCodes.negative;
}

function products(count: number): string {
  return `${number(count)} ${count === 1 ? "product" : "products"}`;
}
