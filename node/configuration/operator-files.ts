// The operator's lists: content lists, blocked addresses, the table of autonomous systems, the terms and the prices of AI companies. The
// files of a node are read at start, where a fault stops it, and again when they change, where a fault keeps what is in force; each
// counts until operators set its list for all nodes (set-lists.ts).
//   O1. All content lists are replaced together: no record is judged by half of them. A push is judged chunk by chunk, by the
//       lists in force when each chunk is judged; what was settled stays.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { OutageLog } from "../../cluster/cluster-view.ts";
import type { Monotonic } from "../../cluster/poller.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import type { ListActs } from "../../ops/lists.ts";
import { counter, gauge, type Reading } from "../../ops/metrics.ts";
import { formatHash, hashOf, parseUtf8 } from "../../protocol/bytes.ts";
import { listBytesMax } from "../../protocol/limits.ts";
import type { PriceList } from "../../protocol/price-list.ts";
import type { CertifiedNames, ContentLists, OperatorLists } from "../../protocol/records/name-index.ts";
import { type BlockedUrls, collectBlocked, parseBlocked } from "../../protocol/records/url-rule.ts";
import { counted } from "../../protocol/result.ts";
import type { Judging } from "../../service/register/find-mandate.ts";
import { type AsTable, buildAsTable } from "../../service/register/source-address.ts";
import type { TermsText } from "../../service/register/terms.ts";
import { repeat } from "../../std/back-off.ts";
import { parseRange } from "../../std/ip-address.ts";
import type { ListStore } from "../../storage/list-store.ts";
import type { NodeConfig } from "./config.ts";
import { ConfigError } from "./config-error.ts";
import { type ListSource, loadContentLists, nameOf } from "./content-lists.ts";
import { type ListFile, ListInForce, type ListKind, listActsOf } from "./set-lists.ts";
import { loadPrices, loadTerms, pricesFault, pricesLost, termsFault, termsLost } from "./versioned-file.ts";

/** How often the files are looked at. */
const lookEveryMs = 5_000;
const fileBytesMax = 128 * 1024 * 1024;
const blockedUrlsMax = 1_000_000;
const asPrefixesMax = 2_000_000;

/** The files that the settings name. */
export type OperatorPaths = Pick<NodeConfig, "contentLists" | "blockedUrls" | "asTable" | "terms" | "prices">;

export interface OperatorFiles {
  /** The lists in force beside these names; the same object for as long as the node runs. */
  readonly listsWith: (certified: CertifiedNames) => ContentLists;
  readonly asTable: () => AsTable | null;
  /** The terms that operators published; null where there are none. */
  readonly terms: () => readonly TermsText[] | null;
  /** What is charged; null where nothing is. */
  readonly prices: () => PriceList | null;
  readonly readings: () => readonly Reading[];
  /**
   * Takes up what operators set, on this node or another, and from then on at each look. Throws {@link ConfigError} for what cannot be
   * used here, or StoreError.
   */
  follow(parts: { readonly store: ListStore; readonly clock: Clock }): Promise<ListActs>;
  /** Looks once at all files and at what was set. Throws StoreError. */
  look(): Promise<void>;
}

/** What a node judges by. */
export interface JudgingFiles extends Pick<Judging, "lists" | "asTable"> {
  readonly operatorFiles: OperatorFiles;
}

export function judgingBy(
  operatorFiles: OperatorFiles,
  { certifiedNames }: { readonly certifiedNames: CertifiedNames },
): JudgingFiles {
  const { asTable } = operatorFiles;
  return { operatorFiles, lists: operatorFiles.listsWith(certifiedNames), asTable };
}

/** Reads the files. Throws `ConfigError` for the first that cannot be used. */
export async function openOperatorFiles(
  paths: OperatorPaths,
  log: (entry: LogEntry) => void,
): Promise<OperatorFiles> {
  const names = await opened(contentListsKind, paths.contentLists, log);
  const urls = await opened(blockedUrlsKind, paths.blockedUrls, log);
  const systems = await opened(asTableKind, paths.asTable, log);
  const terms = await opened(termsKind, paths.terms, log);
  const prices = await opened(pricesKind, paths.prices, log);
  const all = [names, urls, systems, prices, terms];
  let store: ListStore | null = null;
  return {
    listsWith: (certified) =>
      new ListsInForce(certified, () => ({
        ...(names.value ?? none),
        blockedUrls: urls.value ?? undefined,
      })),
    asTable: () => systems.value,
    terms: () => terms.value,
    prices: () => prices.value,
    readings: () => readingsOf(all, urls.value, systems.value),
    follow: async (parts) => {
      store = parts.store;
      for (const list of all) {
        await list.takeUp(store);
        if (list.unusable !== null) throw list.unusable;
      }
      return listActsOf(all, parts);
    },
    look: async () => {
      for (const list of all) await list.lookAtFile();
      const from = store;
      if (from === null) return;
      // One that cannot be read now, because its bytes are not here yet, holds up no other.
      const looks = await Promise.allSettled(all.map((list) => list.takeUp(from)));
      for (const looked of looks) if (looked.status === "rejected") throw looked.reason;
    },
  };
}

const contentListsKind: ListKind<OperatorLists> = {
  name: "content-lists",
  setting: "SVC_CONTENT_LISTS",
  load: (source) => loadContentLists(source),
  describe: ({ protectedNames, exemptNames, blockedHosts }) =>
    [
      counted(protectedNames.length, "protected name"),
      counted(exemptNames.length, "exempt name"),
      counted(blockedHosts.length, "blocked host"),
    ].join(", "),
};
const blockedUrlsKind: ListKind<BlockedUrls> = {
  name: "blocked-urls",
  setting: "SVC_BLOCKED_URLS",
  load: loadBlockedUrls,
  describe: (list) => counted(sizeOf(list), "blocked host or address", "blocked hosts and addresses"),
};
const asTableKind: ListKind<AsTable> = {
  name: "as-table",
  setting: "SVC_AS_TABLE",
  load: loadAsTable,
  describe: ({ prefixes }) => counted(prefixes, "prefix", "prefixes"),
};
const termsKind: ListKind<readonly TermsText[]> = {
  name: "terms",
  setting: "SVC_TERMS",
  load: loadTerms,
  describe: (versions) => counted(versions.length, "version of the terms", "versions of the terms"),
  relied: { fault: termsFault, lost: termsLost },
};
const pricesKind: ListKind<PriceList> = {
  name: "prices",
  setting: "SVC_PRICES",
  load: loadPrices,
  describe: ({ currency, versions }) => `${counted(versions.length, "version")} of the prices in ${currency}`,
  relied: { fault: pricesFault, lost: pricesLost },
};

const none: OperatorLists = { protectedNames: [], exemptNames: [], blockedHosts: [] };

async function opened<T>(
  kind: ListKind<T>,
  path: string | null,
  log: (entry: LogEntry) => void,
): Promise<ListInForce<T>> {
  const file = path === null ? null : await WatchedFile.open({ ...kind, path, log });
  return new ListInForce(kind, file, log);
}

/** The lists that the files contain now, with a version that changes when one of them does (O1). */
class ListsInForce implements ContentLists {
  readonly certified: CertifiedNames;
  readonly #read: () => OperatorLists;
  #lists: OperatorLists = none;
  #version = 0;

  constructor(certified: CertifiedNames, read: () => OperatorLists) {
    this.certified = certified;
    this.#read = read;
  }

  get version(): number {
    const lists = this.#read();
    const known = this.#lists;
    if (lists.protectedNames !== known.protectedNames || lists.blockedUrls !== known.blockedUrls) {
      this.#lists = lists;
      this.#version += 1;
    }
    return this.#version;
  }

  get protectedNames(): OperatorLists["protectedNames"] {
    return this.#current.protectedNames;
  }

  get exemptNames(): OperatorLists["exemptNames"] {
    return this.#current.exemptNames;
  }

  get blockedHosts(): OperatorLists["blockedHosts"] {
    return this.#current.blockedHosts;
  }

  get blockedUrls(): OperatorLists["blockedUrls"] {
    return this.#current.blockedUrls;
  }

  get #current(): OperatorLists {
    return this.version < 0 ? none : this.#lists;
  }
}

/** The list that a file of hosts and addresses contains, one a line. */
export async function loadBlockedUrls(source: ListSource): Promise<BlockedUrls> {
  const { add, ...list } = collectBlocked();
  const take = (entry: string): string | null => {
    const canonical = parseBlocked(entry);
    if (canonical !== null) add(canonical);
    return canonical === null
      ? "is no host, address or prefix; write bad.example, *.bad.example, 203.0.113.7 or https://bad.example/path"
      : null;
  };
  const limits = { bytesMax: fileBytesMax, linesMax: blockedUrlsMax };
  await readLines({ setting: "SVC_BLOCKED_URLS", source, ...limits, take });
  return list;
}

/** The table that a file of prefixes contains: a CIDR range, white space, and the number of a system, on each line. */
export async function loadAsTable(source: ListSource): Promise<AsTable> {
  const table = buildAsTable();
  const take = (entry: string): string | null => {
    const [, prefix = "", system = ""] = /^(\S+)\s+(?:AS)?([0-9]{1,10})$/.exec(entry) ?? [];
    const range = parseRange(prefix);
    if (range === null || system === "" || Number(system) > 0xffff_ffff)
      return "is not a range and the number of a system; write 203.0.113.0/24 64496";
    table.add(range, Number(system));
    return null;
  };
  const limits = { bytesMax: fileBytesMax, linesMax: asPrefixesMax };
  await readLines({ setting: "SVC_AS_TABLE", source, ...limits, take });
  return table.finish();
}

function sizeOf({ hosts, under, prefixes }: BlockedUrls): number {
  return hosts.size + under.size + [...prefixes.values()].reduce((sum, each) => sum + each.length, 0);
}

function readingsOf(
  files: readonly { readonly fault: string | null; readonly reloads: number }[],
  urls: BlockedUrls | null,
  systems: AsTable | null,
): readonly Reading[] {
  return [
    gauge(
      "svc_operator_file_faults",
      "Lists of operators whose newest state has a fault, so that an earlier one is in force.",
      files.filter((file) => file.fault !== null).length,
    ),
    counter(
      "svc_operator_file_reloads_total",
      "Lists of operators that were read again, or set, and came into force.",
      files.reduce((sum, file) => sum + file.reloads, 0),
    ),
    gauge("svc_blocked_urls", "Entries of the list of blocked addresses.", urls === null ? 0 : sizeOf(urls)),
    gauge("svc_as_prefixes", "Prefixes of the table of autonomous systems.", systems?.prefixes ?? 0),
  ];
}

/** Looks at the files from time to time; the returned function stops that and resolves after the last look. */
export function watchOperatorFiles(
  files: Pick<OperatorFiles, "look">,
  {
    timers,
    monotonic,
    log,
  }: {
    readonly timers: TimerPort;
    readonly monotonic: Monotonic;
    readonly log: (entry: LogEntry) => void;
  },
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    log({ level, event, actor: "", detail });
  const outage = new OutageLog({
    monotonic,
    failed: (detail) => note("warn", "lists.not_followed", detail),
    over: (detail) => note("info", "lists.followed", detail),
  });
  const run = (): Promise<void> => outage.watch("the lists of operators", () => files.look());
  return repeat({ everyMs: lookEveryMs, timers, run });
}

// Long lists of the operator's, one entry a line. Empty lines, and what follows a # at the start of a line or after a space,
// mean nothing.
//   L1. The first line with a fault refuses the file, and so does a file without an entry: a list that was cut off while it
//       was written must not count as short.
//   L2. Reading yields the thread after each block, however long the file is.

export interface LineFile {
  readonly setting: string;
  readonly source: ListSource;
  readonly bytesMax: number;
  readonly linesMax: number;
  /** Takes one entry; returns what is wrong with it, null if nothing is. */
  readonly take: (entry: string) => string | null;
}

const blockBytes = 65_536;
const lineLengthMax = 4_096;
const quotedMax = 100;

/** Reads all entries; returns their number. Throws {@link ConfigError}, which names the line. */
async function readLines(file: LineFile): Promise<number> {
  const { setting, source, bytesMax, linesMax, take } = file;
  const fail = (fault: string): ConfigError => new ConfigError(setting, `${nameOf(source)} ${fault}`);
  if (typeof source === "string") await checkSize(source, bytesMax, fail);
  let [line, entries] = [0, 0];
  const takeLine = (written: string): void => {
    line += 1;
    const entry = written.replace(/(?:^|\s)#.*$/, "").trim();
    if (entry === "") return;
    entries += 1;
    if (entries > linesMax) throw fail(`has more than ${linesMax} entries; shorten it`);
    const fault = entry.length > lineLengthMax ? "is too long" : take(entry);
    if (fault !== null) throw fail(`line ${line}: ${JSON.stringify(entry.slice(0, quotedMax))} ${fault}`);
  };
  try {
    let bytes = 0;
    let rest: Uint8Array = new Uint8Array();
    for await (const block of blocksOf(source)) {
      bytes += block.length;
      if (bytes > bytesMax) throw fail(`has more than ${bytesMax} bytes; shorten it`);
      const read = Buffer.concat([rest, block]);
      const end = read.lastIndexOf(10) + 1;
      for (const each of textOf(read.subarray(0, end)).split("\n").slice(0, -1)) takeLine(each);
      rest = read.subarray(end);
      if (rest.length > 4 * lineLengthMax) throw fail(`line ${line + 1} is too long`);
      await nextTurn();
    }
    takeLine(textOf(rest));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fail(`cannot be read (${String(error)}); name a text file in UTF-8, or unset it`);
  }
  if (entries === 0) throw fail("has no entry; list at least one, or unset it");
  return entries;
}

function textOf(bytes: Uint8Array): string {
  const text = parseUtf8(bytes);
  if (text === null) throw new Error("it is not UTF-8");
  return text;
}

function blocksOf(source: ListSource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (typeof source === "string")
    return createReadStream(source, { highWaterMark: blockBytes }) as AsyncIterable<Buffer>;
  const { bytes } = source;
  return Array.from({ length: Math.ceil(bytes.length / blockBytes) }, (_, at) =>
    bytes.subarray(at * blockBytes, (at + 1) * blockBytes),
  );
}

async function checkSize(
  path: string,
  bytesMax: number,
  fail: (fault: string) => ConfigError,
): Promise<void> {
  const file = await stat(path).catch((error: unknown) => {
    throw fail(`cannot be read (${String(error)}); name a text file, or unset it`);
  });
  if (!file.isFile()) throw fail("is not a file; name a text file, or unset it");
  if (file.size > bytesMax) throw fail(`has ${file.size} bytes; use at most ${bytesMax}`);
}

// A file of the operator's that a running node reads again when it changes.
//   W1. What is in force is replaced at once and as a whole, by a file that was read without a fault. A file with a fault, or
//       that is gone, changes nothing, is reported once, and is counted until a good one takes its place.
//   W2. A changed file is read only after it has stayed the same from one look to the next, and what was read counts only if
//       it stayed the same meanwhile: a file that is being written is not taken for a whole one. Replacing it by a rename is
//       best all the same.
//   W3. Looking is by name, size, times and inode, so it works on every file system and follows links that are exchanged.

export interface WatchedFileOptions<T> {
  readonly setting: string;
  readonly path: string;
  /** Reads the file; rejects with an error that says what is wrong with it. */
  readonly load: (path: string) => Promise<T>;
  /** One line about what is in force, for the log. */
  readonly describe: (value: T) => string;
  readonly log: (entry: LogEntry) => void;
}

interface Read<T> {
  readonly value: T;
  readonly facts: ListFile<T>["facts"];
}

async function readFrom<T>({ path, load }: WatchedFileOptions<T>): Promise<Read<T>> {
  const value = await load(path);
  const [hash, readAtMs] = [createHash("sha256"), Date.now()];
  let size = 0;
  for await (const block of blocksOf(path)) {
    hash.update(block);
    size += block.length;
  }
  return { value, facts: { sha256: formatHash(hash.digest()), size, readAtMs } };
}

export class WatchedFile<T> implements ListFile<T> {
  readonly #options: WatchedFileOptions<T>;
  #value: T;
  /** The state of the file whose content is in force, or that was refused. */
  #judged: string;
  /** The state at the previous look. */
  #seen: string;
  #facts: ListFile<T>["facts"];
  #fault: string | null = null;
  #reloads = 0;

  private constructor(options: WatchedFileOptions<T>, read: Read<T>, state: string) {
    this.#options = options;
    this.#value = read.value;
    this.#facts = read.facts;
    this.#judged = state;
    this.#seen = state;
  }

  /** Reads the file for the first time; rejects if that fails. */
  static async open<T>(options: WatchedFileOptions<T>): Promise<WatchedFile<T>> {
    const state = await stateOf(options.path);
    return new WatchedFile(options, await readFrom(options), state);
  }

  get path(): string {
    return this.#options.path;
  }

  get facts(): ListFile<T>["facts"] {
    return this.#facts;
  }

  async bytes(): Promise<Uint8Array | null> {
    if (this.#facts.size > listBytesMax) return null;
    const bytes = await readFile(this.path).catch(() => null);
    return bytes !== null && hashOf(bytes, nativeCrypto.sha256) === this.#facts.sha256 ? bytes : null;
  }

  get value(): T {
    return this.#value;
  }

  /** What is wrong with the newest file, which is therefore not in force; null if nothing is. */
  get fault(): string | null {
    return this.#fault;
  }

  /** How often a newer file came into force. */
  get reloads(): number {
    return this.#reloads;
  }

  /** Takes over a newer file (W1, W2). Never throws. */
  async look(): Promise<void> {
    const { path } = this.#options;
    const state = await stateOf(path);
    const isSettled = state === this.#seen;
    this.#seen = state;
    if (!isSettled || state === this.#judged) return;
    try {
      const read = await readFrom(this.#options);
      if ((await stateOf(path)) === state) this.#adopt(read, state);
    } catch (error) {
      this.#judged = state;
      this.#fault = error instanceof Error ? error.message : String(error);
      this.#note("error", "lists.not_reloaded", this.#fault);
    }
  }

  #adopt({ value, facts }: Read<T>, state: string): void {
    this.#value = value;
    this.#facts = facts;
    this.#judged = state;
    this.#fault = null;
    this.#reloads += 1;
    this.#note("info", "lists.reloaded", `${this.#options.setting}: ${this.#options.describe(value)}`);
  }

  #note(level: LogEntry["level"], event: string, detail: string): void {
    this.#options.log({ level, event, actor: "", detail });
  }
}

async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join("/");
  } catch {
    return "gone";
  }
}
