// Reads the file of `svc push` into a spool of the exact records to seal, and reports what could not be mapped.

import { createReadStream } from "node:fs";
import { basename, join, resolve } from "node:path";
import { FeedError } from "../client/feeds/feed-item.ts";
import { emptyMapping, type FeedMapping, parseFeedMapping } from "../client/feeds/feed-mapping.ts";
import { type FeedEncoding, feedEncodings } from "../client/feeds/feed-text.ts";
import { type FeedFormat, feedFormats, readFeed } from "../client/feeds/read-feed.ts";
import { parseJsonText } from "../client/record-bytes.ts";
import type { Arguments, CommandContext, OptionSpecs } from "./command.ts";
import { homeOf, readText } from "./connection.ts";
import { UsageError } from "./exit-codes.ts";
import { FeedReport } from "./feed-report.ts";
import { type RecordSpool, SpoolWriter } from "./record-spool.ts";

export const inputOptions = {
  format: { type: "string", value: "FORMAT", help: `${feedFormats.join(", ")} (default: by the content)` },
  encoding: {
    ...{ type: "string", value: "ENCODING" },
    help: `${feedEncodings.join(", ")} (default: utf-8, or utf-16 with its mark)`,
  },
  mapping: {
    ...{ type: "string", value: "FILE" },
    help: "how columns or attributes become members (docs/schemas/feed-mapping-1.json)",
  },
  map: {
    ...{ type: "string", multiple: true, value: "COLUMN=MEMBER" },
    help: "rename a column; COLUMN= leaves it out",
  },
  set: {
    ...{ type: "string", multiple: true, value: "MEMBER=VALUE" },
    help: "a member for products of which the file does not say it",
  },
  "skip-unmapped": {
    type: "boolean",
    help: "publish the rest of a file of which some items cannot be mapped",
  },
  report: { type: "string", value: "FILE", help: "write every fault and note, as NDJSON" },
} as const satisfies OptionSpecs;

export interface ProductInput extends AsyncDisposable {
  readonly records: RecordSpool;
  readonly placeName: "line" | "item";
  readonly format: FeedFormat;
  readonly report: FeedReport;
}

/** Throws {@link UsageError} for a file that cannot be read, or of which something would be lost without being asked for. */
export async function readProducts(
  file: string,
  args: Arguments,
  context: CommandContext,
): Promise<ProductInput> {
  const mapping = await mappingOf(args, context);
  const format = formatOf(args);
  const encoding = encodingOf(args);
  const reportPath = args.text("report");
  const spool = await SpoolWriter.open(join(homeOf(args, context), "pushes"));
  let report: FeedReport | null = null;
  try {
    report = await FeedReport.open(reportPath === null ? null : resolve(context.cwd, reportPath));
    const bytes = createReadStream(file, { highWaterMark: 262_144 });
    const read = report;
    const set = pairs(args, "set");
    const feed = await readFeed(bytes, { format, encoding, mapping, set, nowMs: context.now() });
    for await (const item of feed.items) {
      await read.add(item);
      if (item.bytes !== null) await spool.add(item.bytes, item.place);
    }
    tell(read, feed.placeName, { args, context });
    if (read.items === 0) throw new UsageError(`${basename(file)} has no products; nothing was sent.`);
    // A rehearsal sends nothing: it goes on, to tell the faults of the others as well.
    const isRehearsal = args.flag("check") || args.flag("dry-run");
    if (read.leftOut > 0 && !args.flag("skip-unmapped") && !isRehearsal) {
      throw new UsageError(
        `${read.leftOut} of ${read.items} items of ${basename(file)} cannot be read as products; nothing was sent. --skip-unmapped sends the others.`,
      );
    }
    if (read.leftOut === read.items) throw new UsageError("No item is left; nothing was sent.");
    const records = await spool.finish();
    const { placeName } = feed;
    const close = async (): Promise<void> => {
      await spool.drop();
      await read[Symbol.asyncDispose]();
    };
    return { records, placeName, format: feed.format, report: read, [Symbol.asyncDispose]: close };
  } catch (error) {
    await spool.drop();
    if (error instanceof FeedError) report?.addRefusal(error.place, error.message);
    await report?.[Symbol.asyncDispose]();
    throw inputError(error, file, context);
  }
}

function tell(
  report: FeedReport,
  placeName: "line" | "item",
  { args, context }: { readonly args: Arguments; readonly context: CommandContext },
): void {
  if (args.flag("json")) for (const line of report.events()) context.terminal.print(line);
  else for (const line of report.lines(placeName)) context.terminal.note(line);
}

function inputError(error: unknown, file: string, { terminal }: CommandContext): unknown {
  if (error instanceof FeedError) {
    terminal.note(error.place === 0 ? error.message : `line ${error.place}: ${error.message}`);
    return new UsageError(`${basename(file)} cannot be read as products; nothing was sent.`);
  }
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || path === undefined || !(error instanceof Error)) return error;
  return new UsageError(`${path} cannot be used: ${error.message}`);
}

function formatOf(args: Arguments): FeedFormat | null {
  const format = args.text("format");
  const known = feedFormats.find((each) => each === format);
  if (format !== null && known === undefined)
    throw new UsageError(`--format is ${JSON.stringify(format)}; use one of ${feedFormats.join(", ")}.`);
  return known ?? null;
}

function encodingOf(args: Arguments): FeedEncoding | null {
  const encoding = args.text("encoding");
  const known = feedEncodings.find((each) => each === encoding?.toLowerCase());
  if (encoding !== null && known === undefined)
    throw new UsageError(
      `--encoding is ${JSON.stringify(encoding)}; use one of ${feedEncodings.join(", ")}.`,
    );
  return known ?? null;
}

/** The mapping file, with the renamed columns of `--map`. */
async function mappingOf(args: Arguments, context: CommandContext): Promise<FeedMapping> {
  const path = args.text("mapping");
  const mapping = path === null ? emptyMapping : await loadMapping(resolve(context.cwd, path));
  const renamed = [...pairs(args, "map")].map(([column, to]) => [column, to === "" ? null : to] as const);
  return { ...mapping, columns: { ...mapping.columns, ...Object.fromEntries(renamed) } };
}

async function loadMapping(path: string): Promise<FeedMapping> {
  const value = parseJsonText(await readText(path));
  if (!value.ok) throw new UsageError(`${path} is not JSON: ${value.detail}`);
  const mapping = parseFeedMapping(value.value);
  if (mapping.ok) return mapping.value;
  throw new UsageError(`${path} is not a mapping, at ${mapping.pointer || "/"}: ${mapping.detail}`);
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
