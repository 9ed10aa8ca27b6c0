// Reads the file of `svc push`, or the feeds for several countries, into a spool of the exact records to seal, and reports what could not be mapped.

import { createReadStream } from "node:fs";
import { basename, join, resolve } from "node:path";
import { FeedError } from "../client/feeds/feed-item.ts";
import { emptyMapping, type FeedMapping, parseFeedMapping } from "../client/feeds/feed-mapping.ts";
import { type FeedEncoding, feedEncodings } from "../client/feeds/feed-text.ts";
import { type FeedFormat, feedFormats, readFeed } from "../client/feeds/read-feed.ts";
import { parseJsonText } from "../client/record-bytes.ts";
import type { Arguments, CommandContext, OptionSpecs } from "./command.ts";
import { homeOf, readText } from "./connection.ts";
import { type CountryFeed, joinFeeds } from "./country-files.ts";
import { UsageError } from "./exit-codes.ts";
import { FeedReport } from "./feed-report.ts";
import { number } from "./push-progress.ts";
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
  readonly report: FeedReport;
}

/** A file of products, and the countries that it is for; null for those that it names itself. */
export interface ProductFile {
  readonly path: string;
  readonly countries: readonly string[] | null;
}

/** `FILE`, or `FILE=DE` or `FILE=DE,AT` for a feed for these countries. Several files need their countries. */
export function productFiles(args: Arguments, { cwd }: CommandContext): readonly ProductFile[] {
  const files = args.positionals.map((word) => {
    const [, path = word, countries] = /^(.+)=([A-Z]{2}(?:,[A-Z]{2})*)$/.exec(word) ?? [];
    return { path: resolve(cwd, path), countries: countries?.split(",") ?? null };
  });
  if (files.length === 0) throw new UsageError("FILE is missing. See: svc help push");
  const without = files.find(({ countries }) => countries === null);
  if (files.length > 1 && without !== undefined)
    throw new UsageError(
      `Several files are feeds for several countries: write ${basename(without.path)}=DE. See: svc help push`,
    );
  return files;
}

/** Throws {@link UsageError} for a file that cannot be read, or of which something would be lost without being asked for. */
export async function readProducts(
  files: readonly ProductFile[],
  args: Arguments,
  context: CommandContext,
): Promise<ProductInput> {
  const mapping = await mappingOf(args, context);
  await using open = new AsyncDisposableStack();
  const report = open.use(await openReport(args, context));
  const reading: Reading = { args, context, mapping, report, folder: join(homeOf(args, context), "pushes") };
  const feeds: ReadFeed[] = [];
  for (const file of files) {
    const feed = await readFile(file, { ...reading, isOneOfMany: files.length > 1 });
    open.use(feed.records);
    feeds.push(feed);
  }
  const records = files.length === 1 ? feeds[0]?.records : open.use(await joined(feeds, reading));
  if (records === undefined) throw new Error("No file was read.");
  const placeName = feeds[0]?.placeName ?? "line";
  tell(report, placeName, reading);
  refuseLoss(files.map(({ path }) => basename(path)).join(" and "), {
    isJoined: files.length > 1,
    ...reading,
  });
  if (records.lengths.length === 0) throw new UsageError("No item is left; nothing was sent.");
  const kept = open.move();
  return { records, placeName, report, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

interface Reading {
  readonly args: Arguments;
  readonly context: CommandContext;
  readonly mapping: FeedMapping;
  readonly report: FeedReport;
  /** Where the spools are. */
  readonly folder: string;
}

interface ReadFeed extends CountryFeed {
  readonly placeName: "line" | "item";
}

async function openReport(args: Arguments, context: CommandContext): Promise<FeedReport> {
  const path = args.text("report");
  const file = path === null ? null : resolve(context.cwd, path);
  return await FeedReport.open(file).catch((error: unknown) => {
    throw inputError(error, file ?? "", context);
  });
}

const toldEvery = 1_000;

async function readFile(
  { path, countries }: ProductFile,
  { args, context, mapping, report, folder, isOneOfMany }: Reading & { readonly isOneOfMany: boolean },
): Promise<ReadFeed> {
  const file = basename(path);
  report.source = isOneOfMany ? file : "";
  const spool = await SpoolWriter.open(folder);
  try {
    const bytes = createReadStream(path, { highWaterMark: 262_144 });
    const own = countries === null ? mapping : withCountries(mapping, countries);
    const how = { format: formatOf(args), encoding: encodingOf(args), set: pairs(args, "set") };
    const feed = await readFeed(bytes, { ...how, mapping: own, nowMs: context.now() });
    const ids: (string | null)[] = [];
    for await (const item of feed.items) {
      await report.add(item);
      if (report.items % toldEvery === 0) context.terminal.status(`read ${number(report.items)} of ${file}`);
      if (item.bytes === null) continue;
      await spool.add(item.bytes, item.place);
      if (isOneOfMany) ids.push(item.id);
    }
    return { file, records: await spool.finish(), ids, placeName: feed.placeName };
  } catch (error) {
    await spool.drop();
    if (error instanceof FeedError) report.addRefusal(error.place, error.message);
    throw inputError(error, path, context);
  }
}

function withCountries(mapping: FeedMapping, countries: readonly string[]): FeedMapping {
  return { ...mapping, constants: { ...mapping.constants, countries: [...countries] } };
}

async function joined(feeds: readonly ReadFeed[], { report, folder }: Reading): Promise<RecordSpool> {
  const spool = await SpoolWriter.open(folder);
  try {
    await joinFeeds(feeds, report, spool);
    return await spool.finish();
  } catch (error) {
    await spool.drop();
    throw error;
  }
}

function refuseLoss(
  names: string,
  { args, report, isJoined }: Reading & { readonly isJoined: boolean },
): void {
  const { items, leftOut, unnamed } = report;
  if (items === 0) throw new UsageError(`${names} has no products; nothing was sent.`);
  // A rehearsal sends nothing: it goes on, to tell the faults of the others as well.
  if (args.flag("check") || args.flag("dry-run")) return;
  if (isJoined && unnamed > 0)
    throw new UsageError(
      `${unnamed} items of ${names} have no id that can be read, so nobody can tell whose prices are missing; nothing was sent.`,
    );
  if (leftOut > 0 && !args.flag("skip-unmapped"))
    throw new UsageError(
      `${leftOut} of ${items} items of ${names} cannot be read as products; nothing was sent. --skip-unmapped sends the others.`,
    );
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
