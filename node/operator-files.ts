// The operator's files: content lists, blocked addresses, the table of autonomous systems, the terms and the prices of AI companies. They are
// read at start, where a fault stops the node, and again when they change, where a fault keeps what is in force
// (watched-file.ts).
//   O1. All content lists are replaced together: no record is judged by half of them. A push is judged chunk by chunk, by the
//       lists in force when each chunk is judged; what was settled stays.

import type { LogEntry, TimerPort } from "../actors/system/ports.ts";
import type { Reading } from "../ops/metrics.ts";
import type { PriceList } from "../protocol/price-list.ts";
import type { CertifiedNames, ContentLists, OperatorLists } from "../protocol/records/content-lists.ts";
import { type BlockedUrls, collectBlocked, parseBlocked } from "../protocol/records/url-rule.ts";
import { type AsTable, buildAsTable } from "../service/as-table.ts";
import type { TermsText } from "../service/terms.ts";
import { parseRange } from "../std/ip-address.ts";
import { repeat } from "../std/repeat.ts";
import type { NodeConfig } from "./config.ts";
import { loadContentLists } from "./content-lists.ts";
import { readLines } from "./line-file.ts";
import { loadPrices } from "./price-file.ts";
import { loadTerms } from "./terms-file.ts";
import { WatchedFile } from "./watched-file.ts";

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
  /** The terms that the file has; null where there is none. */
  readonly terms: () => readonly TermsText[] | null;
  /** What is charged; null where nothing is. */
  readonly prices: () => PriceList | null;
  readonly readings: () => readonly Reading[];
  /** Looks at all files once. */
  look(): Promise<void>;
}

/** What a node judges by. */
export interface Judging {
  readonly operatorFiles: OperatorFiles;
  /** The lists that the content rules judge by. */
  readonly lists: ContentLists;
  /** The operator's table of autonomous systems as it is now. */
  readonly asTable: () => AsTable | null;
}

export function judgingBy(
  operatorFiles: OperatorFiles,
  { certifiedNames }: { readonly certifiedNames: CertifiedNames },
): Judging {
  const { asTable } = operatorFiles;
  return { operatorFiles, lists: operatorFiles.listsWith(certifiedNames), asTable };
}

/** Reads the files. Throws `ConfigError` for the first that cannot be used. */
export async function openOperatorFiles(
  paths: OperatorPaths,
  log: (entry: LogEntry) => void,
): Promise<OperatorFiles> {
  const names = await watched("SVC_CONTENT_LISTS", paths.contentLists, {
    load: (path) => loadContentLists(path),
    describe: ({ protectedNames, exemptNames, blockedHosts }) =>
      `${protectedNames.length} protected names, ${exemptNames.length} exempt names, ${blockedHosts.length} blocked hosts`,
    log,
  });
  const urls = await watched("SVC_BLOCKED_URLS", paths.blockedUrls, {
    load: loadBlockedUrls,
    describe: (list) => `${sizeOf(list)} blocked hosts and addresses`,
    log,
  });
  const systems = await watched("SVC_AS_TABLE", paths.asTable, {
    load: loadAsTable,
    describe: ({ prefixes }) => `${prefixes} prefixes`,
    log,
  });
  const terms = await watched("SVC_TERMS", paths.terms, {
    load: loadTerms,
    describe: (versions) => `${versions.length} versions of the terms`,
    log,
  });
  const prices = await watched("SVC_PRICES", paths.prices, {
    load: loadPrices,
    describe: ({ currency, versions }) => `${versions.length} versions of the prices in ${currency}`,
    log,
  });
  const files = [names, urls, systems, terms, prices].filter((file) => file !== null);
  return {
    listsWith: (certified) =>
      new ListsInForce(certified, () => ({ ...(names?.value ?? none), blockedUrls: urls?.value })),
    asTable: () => systems?.value ?? null,
    terms: () => terms?.value ?? null,
    prices: () => prices?.value ?? null,
    readings: () => readingsOf(files, urls?.value, systems?.value),
    look: async () => {
      for (const file of files) await file.look();
    },
  };
}

const none: OperatorLists = { protectedNames: [], exemptNames: [], blockedHosts: [] };

async function watched<T>(
  setting: string,
  path: string | null,
  options: Pick<Parameters<typeof WatchedFile.open<T>>[0], "load" | "describe" | "log">,
): Promise<WatchedFile<T> | null> {
  return path === null ? null : WatchedFile.open({ setting, path, ...options });
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
export async function loadBlockedUrls(path: string): Promise<BlockedUrls> {
  const { add, ...list } = collectBlocked();
  const take = (entry: string): string | null => {
    const canonical = parseBlocked(entry);
    if (canonical !== null) add(canonical);
    return canonical === null
      ? "is no host, address or prefix; write bad.example, *.bad.example, 203.0.113.7 or https://bad.example/path"
      : null;
  };
  const limits = { bytesMax: fileBytesMax, linesMax: blockedUrlsMax };
  await readLines({ setting: "SVC_BLOCKED_URLS", path, ...limits, take });
  return list;
}

/** The table that a file of prefixes contains: a CIDR range, white space, and the number of a system, on each line. */
export async function loadAsTable(path: string): Promise<AsTable> {
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
  await readLines({ setting: "SVC_AS_TABLE", path, ...limits, take });
  return table.finish();
}

function sizeOf({ hosts, under, prefixes }: BlockedUrls): number {
  return hosts.size + under.size + [...prefixes.values()].reduce((sum, each) => sum + each.length, 0);
}

function readingsOf(
  files: readonly { readonly fault: string | null; readonly reloads: number }[],
  urls: BlockedUrls | undefined,
  systems: AsTable | undefined,
): readonly Reading[] {
  const gauge = (name: string, help: string, value: number): Reading => ({
    name,
    help,
    kind: "gauge",
    value,
  });
  return [
    gauge(
      "svc_operator_file_faults",
      "Files of the operator's whose newest state has a fault, so that an earlier one is in force.",
      files.filter((file) => file.fault !== null).length,
    ),
    {
      ...{
        name: "svc_operator_file_reloads_total",
        help: "Files of the operator's that were read again and came into force.",
      },
      ...{ kind: "counter", value: files.reduce((sum, file) => sum + file.reloads, 0) },
    },
    gauge(
      "svc_blocked_urls",
      "Entries of the list of blocked addresses.",
      urls === undefined ? 0 : sizeOf(urls),
    ),
    gauge("svc_as_prefixes", "Prefixes of the table of autonomous systems.", systems?.prefixes ?? 0),
  ];
}

/** Looks at the files from time to time; the returned function stops that and resolves after the last look. */
export function watchOperatorFiles(
  files: Pick<OperatorFiles, "look">,
  timers: TimerPort,
): () => Promise<void> {
  return repeat({ everyMs: lookEveryMs, timers, run: () => files.look() });
}
