// Reads the file of `svc push`, or the feeds for several countries, into a spool of the exact records to seal, and reports what could not be mapped.

import { randomInt } from "node:crypto";
import { createReadStream, openAsBlob } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { base64Length } from "../../client/batch.ts";
import { joinCountries } from "../../client/country-feeds.ts";
import { FeedError } from "../../client/feeds/feed-item.ts";
import { emptyMapping, type FeedMapping, parseFeedMapping } from "../../client/feeds/feed-mapping.ts";
import { type FeedEncoding, feedEncodings } from "../../client/feeds/feed-text.ts";
import { type FeedFormat, feedFormats, readFeed } from "../../client/feeds/read-feed.ts";
import {
  bulkLine,
  leafOf,
  parseJsonText,
  type RecordSet,
  recordOfLine,
  selectRecords,
} from "../../client/record-set.ts";
import { type Arguments, type Call, type CommandContext, UsageError } from "../command.ts";
import { homeOf, readText } from "../connection.ts";
import { FeedReport } from "./feed-report.ts";
import { number } from "./push-progress.ts";

export const inputOptions = `
    --format FORMAT       ${feedFormats.join(", ")} (default: by the content)
    --encoding ENCODING   ${feedEncodings.join(", ")} (default: utf-8, or utf-16 with its mark)
    --mapping FILE        how columns or attributes become members (docs/schemas/feed-mapping-1.json)
    --map COLUMN=MEMBER…  rename a column; COLUMN= leaves it out
    --set MEMBER=VALUE…   a member for products of which the file does not say it
    --skip-unmapped       publish the rest of a file of which some items cannot be mapped
    --report FILE         write every fault and note, as NDJSON`;

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

/** `FILE`, or `FILE=DE` or `FILE=DE,AT` for a feed for these countries; `-` is the standard input. Several files need their countries. */
export function productFiles(call: Call): readonly ProductFile[] {
  const { cwd } = call;
  const files = call.positionals.map((word) => {
    const [, path = word, countries] = /^(.+)=([A-Z]{2}(?:,[A-Z]{2})*)$/.exec(word) ?? [];
    return { path: path === "-" ? path : resolve(cwd, path), countries: countries?.split(",") ?? null };
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
export async function readProducts(files: readonly ProductFile[], call: Call): Promise<ProductInput> {
  const mapping = await mappingOf(call);
  // Node 20 and 22 have no AsyncDisposableStack.
  const opened: AsyncDisposable[] = [];
  const use = <T extends AsyncDisposable | null>(each: T): T => {
    if (each !== null) opened.unshift(each);
    return each;
  };
  const close = async (): Promise<void> => {
    for (const each of opened) await each[Symbol.asyncDispose]();
  };
  try {
    const report = use(await openReport(call));
    const reading: Reading = { call, mapping, report, folder: join(homeOf(call), "pushes") };
    const feeds: ReadFeed[] = [];
    for (const file of files) {
      const feed = await readFile(file, { ...reading, isOneOfMany: files.length > 1 });
      use(feed.records);
      feeds.push(feed);
    }
    const records = files.length === 1 ? feeds[0]?.records : use(await joined(feeds, reading));
    if (records === undefined) throw new Error("No file was read.");
    const placeName = feeds[0]?.placeName ?? "line";
    tell(report, placeName, reading);
    refuseLoss(files.map(({ path }) => basename(path)).join(" and "), {
      isJoined: files.length > 1,
      ...reading,
    });
    if (records.lengths.length === 0) throw new UsageError("No item is left; nothing was sent.");
    return { records, placeName, report, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Reading {
  readonly call: Call;
  readonly mapping: FeedMapping;
  readonly report: FeedReport;
  /** Where the spools are. */
  readonly folder: string;
}

interface ReadFeed extends CountryFeed {
  readonly placeName: "line" | "item";
}

async function openReport(call: Call): Promise<FeedReport> {
  const path = call.text("report");
  const file = path === null ? null : resolve(call.cwd, path);
  return await FeedReport.open(file).catch((error: unknown) => {
    throw inputError(error, file ?? "", call);
  });
}

const toldEvery = 1_000;

async function readFile(
  { path, countries }: ProductFile,
  { call, mapping, report, folder, isOneOfMany }: Reading & { readonly isOneOfMany: boolean },
): Promise<ReadFeed> {
  const file = basename(path);
  report.source = isOneOfMany ? file : "";
  const spool = await SpoolWriter.open(folder);
  try {
    const bytes = path === "-" ? process.stdin : createReadStream(path, { highWaterMark: 262_144 });
    const own = countries === null ? mapping : withCountries(mapping, countries);
    const how = { format: formatOf(call), encoding: encodingOf(call), set: pairs(call, "set") };
    const feed = await readFeed(bytes, { ...how, mapping: own, nowMs: call.now() });
    const ids: (string | null)[] = [];
    for await (const item of feed.items) {
      await report.add(item);
      if (report.items % toldEvery === 0) call.terminal.status(`read ${number(report.items)} of ${file}`);
      if (item.bytes === null) continue;
      await spool.add(item.bytes, item.place);
      if (isOneOfMany) ids.push(item.id);
    }
    return { file, records: await spool.finish(), ids, placeName: feed.placeName };
  } catch (error) {
    await spool.drop();
    if (error instanceof FeedError) report.addRefusal(error.place, error.message);
    throw inputError(error, path, call);
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
  { call, report, isJoined }: Reading & { readonly isJoined: boolean },
): void {
  const { items, leftOut, unnamed } = report;
  if (items === 0) throw new UsageError(`${names} has no products; nothing was sent.`);
  // A rehearsal sends nothing: it goes on, to tell the faults of the others as well.
  if (call.flag("check") || call.flag("dry-run")) return;
  if (isJoined && unnamed > 0)
    throw new UsageError(
      `${unnamed} items of ${names} have no id that can be read, so nobody can tell whose prices are missing; nothing was sent.`,
    );
  if (leftOut > 0 && !call.flag("skip-unmapped"))
    throw new UsageError(
      `${leftOut} of ${items} items of ${names} cannot be read as products; nothing was sent. --skip-unmapped sends the others.`,
    );
}

function tell(report: FeedReport, placeName: "line" | "item", { call }: Pick<Reading, "call">): void {
  if (call.flag("json")) for (const line of report.events()) call.terminal.print(line);
  else for (const line of report.lines(placeName)) call.terminal.note(line);
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
async function mappingOf(call: Call): Promise<FeedMapping> {
  const path = call.text("mapping");
  const mapping = path === null ? emptyMapping : await loadMapping(resolve(call.cwd, path));
  const renamed = [...pairs(call, "map")].map(([column, to]) => [column, to === "" ? null : to] as const);
  return { ...mapping, columns: { ...mapping.columns, ...Object.fromEntries(renamed) } };
}

async function loadMapping(path: string): Promise<FeedMapping> {
  const value = parseJsonText(await readText(path));
  if (!value.ok) throw new UsageError(`${path} is not JSON: ${value.detail}`);
  const mapping = parseFeedMapping(value.value);
  if (mapping.ok) return mapping.value;
  throw new UsageError(`${path} is not a mapping, at ${mapping.pointer || "/"}: ${mapping.detail}`);
}

/** The values of an option `NAME=VALUE…`. */
export function pairs(args: Arguments, option: string): ReadonlyMap<string, string> {
  return new Map(
    args.texts(option).map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`--${option} ${JSON.stringify(pair)} has no =; use NAME=VALUE.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

// Joins the feeds for several countries, which are read already, into one spool of records (client/country-feeds.ts).

interface CountryFeed {
  /** The file's name. */
  readonly file: string;
  readonly records: RecordSpool;
  /** The own id of each record. */
  readonly ids: readonly (string | null)[];
}

/**
 * Writes one record for each product, in the order in which the feeds have them. A product that one feed has and that could not be
 * read there is left out of all: with the others alone it would no longer be published for that feed's countries.
 */
async function joinFeeds(
  feeds: readonly CountryFeed[],
  report: FeedReport,
  spool: SpoolWriter,
): Promise<void> {
  const places = feeds.map(({ ids }) => new Map(ids.map((id, index) => [id, index])));
  const faulty = new Set(report.leftOutIds);
  for (const [at, feed] of feeds.entries()) {
    report.source = feed.file;
    for (const [index, id] of feed.ids.entries()) {
      if (id === null || faulty.has(id)) continue;
      // It came with an earlier feed.
      if (places.slice(0, at).some((known) => known.has(id))) continue;
      const records: Uint8Array[] = [];
      for (const [other, known] of places.entries()) {
        const found = known.get(id);
        if (found !== undefined) records.push(...((await feeds[other]?.records.read(found, 1)) ?? []));
      }
      const place = feed.records.places[index] ?? 0;
      const { bytes, notes } = joinCountries(records);
      await report.addJoined({ place, id, notes }, bytes === null);
      if (bytes !== null) await spool.add(bytes, place);
    }
  }
}

// The records of a file on disk, in the form of a bulk file, so that a file of any size needs little memory: a line for each
// record with the base64 of its exact bytes. A spool belongs to one process and goes with it.

interface RecordSpool extends RecordSet, AsyncDisposable {
  /** Where each record was in the file that was read. */
  readonly places: readonly number[];
}

/** Some of the records, by their indexes in ascending order. */
export function selectSpooled(spool: RecordSpool, indexes: readonly number[]): RecordSpool {
  const places = indexes.map((index) => spool.places[index] ?? 0);
  return { ...spool, ...selectRecords(spool, indexes), places };
}

const flushedBytes = 1_048_576;
const spoolName = /^([0-9]+)-[0-9]+\.spool$/;

export class SpoolWriter {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #leaves: Uint8Array[] = [];
  readonly #lengths: number[] = [];
  readonly #places: number[] = [];
  #lines: Uint8Array[] = [];
  #lineBytes = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Opens a spool in the folder, and removes those of processes that have ended without doing so. */
  static async open(folder: string): Promise<SpoolWriter> {
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(folder)) {
      const pid = Number(spoolName.exec(name)?.[1] ?? process.pid);
      if (pid !== process.pid && !isRunning(pid)) await rm(join(folder, name), { force: true });
    }
    const path = join(folder, `${process.pid}-${randomInt(2 ** 47)}.spool`);
    return new SpoolWriter(path, await open(path, "wx+", 0o600));
  }

  async add(record: Uint8Array, place: number): Promise<void> {
    const line = bulkLine(record);
    this.#leaves.push(leafOf(record));
    this.#lengths.push(record.length);
    this.#places.push(place);
    this.#lines.push(line);
    this.#lineBytes += line.length;
    if (this.#lineBytes >= flushedBytes) await this.#flush();
  }

  async finish(): Promise<RecordSpool> {
    await this.#flush();
    const file = this.#file;
    const offsets = offsetsOf(this.#lengths);
    const rangeOf = (first: number, count: number): readonly [number, number] => [
      offsets[first] ?? 0,
      offsets[Math.min(first + count, this.#lengths.length)] ?? 0,
    ];
    return {
      leaves: this.#leaves,
      lengths: this.#lengths,
      places: this.#places,
      read: async (first, count) => {
        const [from, until] = rangeOf(first, count);
        if (until === from) return [];
        const text = Buffer.alloc(until - from);
        await file.read(text, 0, text.length, from);
        return text.toString("latin1").trimEnd().split("\n").map(recordOf);
      },
      bulkFile: async (first, count) => (await openAsBlob(this.path)).slice(...rangeOf(first, count)),
      [Symbol.asyncDispose]: () => this.drop(),
    };
  }

  async drop(): Promise<void> {
    await this.#file.close();
    await rm(this.path, { force: true });
  }

  async #flush(): Promise<void> {
    if (this.#lines.length > 0) await this.#file.appendFile(Buffer.concat(this.#lines));
    this.#lines = [];
    this.#lineBytes = 0;
  }
}

/** Where each line begins, and where the last one ends. */
function offsetsOf(lengths: readonly number[]): readonly number[] {
  const offsets = [0];
  let end = 0;
  for (const length of lengths) {
    end += base64Length(length) + 1;
    offsets.push(end);
  }
  return offsets;
}

function recordOf(line: string): Uint8Array {
  const record = recordOfLine(line);
  if (record === null) throw new Error("The spool was changed while it was in use.");
  return record;
}

/** Whether a process of this id runs on this machine. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
