// What is in force of each list of operators: what the file of this node says until operators set the list, and from then on what they
// set, on every node.
//   SL1. A node takes up what was set before it serves, and newer versions at each look; the node where it is set, at once.
//   SL2. What is set is judged by the parser of the file, and prices and terms by what they would change of the past, before anything is
//        kept. Two operators who replace the same version do not overwrite each other: one of them is told. What arrives late changes nothing.
//   SL3. What was in force of prices and terms by the file of a node before they were set is in the list, or the list cannot be used
//        there: the file of the node where they were set may have been another.
//   SL4. A version that cannot be used here stops a start. A running node keeps what it has, says so once, and counts the fault.

import { randomUUID } from "node:crypto";
import type { LogEntry } from "../../actors/system/ports.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import type { ListActs, ListSet } from "../../ops/lists.ts";
import type { ListState } from "../../ops/shapes.ts";
import { hashOf } from "../../protocol/bytes.ts";
import type { ListName } from "../../protocol/identifiers.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { listBytesMax } from "../../protocol/limits.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { ListStore, ListVersion } from "../../storage/list-store.ts";
import { ConfigError } from "./config-error.ts";
import type { ListSource } from "./content-lists.ts";

/** How many versions of a list are kept that is not kept for ever. */
const keptMax = 10;
const shownMax = 100;
/** More than any list is ever set. */
const readMax = 100_000;
/** How complaints name what an operator sent. */
const sent = "the text";

export interface ListKind<T> {
  readonly name: ListName;
  readonly setting: string;
  /** Rejects with {@link ConfigError}. */
  readonly load: (source: ListSource) => Promise<T>;
  /** One line about what is in force. */
  readonly describe: (value: T) => string;
  /** Of a list whose versions were relied on, all of which are kept. */
  readonly relied?: {
    /** Why `next` cannot take the place of what is in force; null if it can. */
    readonly fault: (before: T | null, next: T, nowMs: number) => string | null;
    /** What `next` has no more of what was in force; null if it has all. */
    readonly lost: (before: T, next: T, nowMs: number) => string | null;
  };
}

/** The file of this node that a list is in. */
export interface ListFile<T> {
  readonly value: T;
  readonly fault: string | null;
  readonly reloads: number;
  readonly path: string;
  /** Of the bytes in force. */
  readonly facts: { readonly sha256: string; readonly size: number; readonly readAtMs: number };
  look(): Promise<void>;
  /** Null where the file is another by now, or too large to be set. */
  bytes(): Promise<Uint8Array | null>;
}

export class ListInForce<T> {
  readonly #kind: ListKind<T>;
  readonly #file: ListFile<T> | null;
  readonly #log: (entry: LogEntry) => void;
  #set: { readonly version: ListVersion; readonly value: T } | null = null;
  /** The version that cannot be used here (SL4). */
  #refused: { readonly file: string; readonly error: ConfigError } | null = null;
  #takenUp = 0;

  constructor(kind: ListKind<T>, file: ListFile<T> | null, log: (entry: LogEntry) => void) {
    this.#kind = kind;
    this.#file = file;
    this.#log = log;
  }

  get name(): ListName {
    return this.#kind.name;
  }

  get value(): T | null {
    return this.#set?.value ?? this.#file?.value ?? null;
  }

  get fault(): string | null {
    return this.unusable?.message ?? (this.#set === null ? (this.#file?.fault ?? null) : null);
  }

  /** How often something newer came into force while the node ran. */
  get reloads(): number {
    return (this.#file?.reloads ?? 0) + this.#takenUp;
  }

  /** The file counts only until the list is set. */
  async lookAtFile(): Promise<void> {
    if (this.#set === null) await this.#file?.look();
  }

  /**
   * Takes up what was set (SL1), and returns the number of the newest version, 0 for none. What cannot be used here is noted (SL4).
   * Throws StoreError.
   */
  async takeUp(store: ListStore): Promise<number> {
    const [newest] = await store.versions(this.name, 1);
    if (newest === undefined) return 0;
    if (!this.#isNewer(newest) || this.#refused?.file === newest.file) return newest.version;
    const bytes = await store.read(newest);
    if (bytes === null)
      throw new Error(`the bytes of version ${newest.version} of ${this.name} are not there`);
    try {
      if (sha256Of(bytes) !== newest.sha256) throw this.#unusable(newest, "its bytes have another SHA-256");
      const value = await this.#kind.load({ name: `version ${newest.version} of ${this.name}`, bytes });
      const lost = await this.#lost(store, value);
      if (lost !== null) throw this.#unusable(newest, lost);
      this.#adopt(newest, value);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#refused = { file: newest.file, error };
      this.#note("error", "lists.not_taken_up", error.message);
    }
    return newest.version;
  }

  /** See SL3. */
  async #lost(store: ListStore, next: T): Promise<string | null> {
    const { relied } = this.#kind;
    if (relied === undefined || this.#set !== null || this.#file === null) return null;
    const first = (await store.versions(this.name, readMax)).at(-1);
    const lost = first && relied.lost(this.#file.value, next, Date.parse(first.set_at));
    return lost == null
      ? null
      : `it lacks what ${this.#file.path} has: ${lost}; set the list once more on this node, or unset its file`;
  }

  /** Why the newest version cannot be used here; null if it can. */
  get unusable(): ConfigError | null {
    return this.#refused?.error ?? null;
  }

  #isNewer({ version }: ListVersion): boolean {
    return version > (this.#set?.version.version ?? 0);
  }

  #unusable({ version }: ListVersion, fault: string): ConfigError {
    return new ConfigError(this.#kind.setting, `version ${version} of ${this.name}: ${fault}`);
  }

  #adopt(version: ListVersion, value: T): void {
    if (!this.#isNewer(version)) return;
    const isFirst = this.#set === null;
    this.#set = { version, value };
    this.#refused = null;
    this.#takenUp += 1;
    const { sha256, by } = version;
    this.#note(
      "info",
      "lists.set",
      `${this.name}: ${version.holds}; version ${version.version}, ${sha256}, by ${by}`,
    );
    if (isFirst && this.#file !== null)
      this.#note(
        "warn",
        "lists.file_unused",
        `${this.#kind.setting}: ${this.#file.path} is not used any more, because operators set ${this.name}; unset it`,
      );
  }

  #note(level: LogEntry["level"], event: string, detail: string): void {
    this.#log({ level, event, actor: "", detail });
  }

  state(): ListState {
    const { name: list } = this;
    const shown = { list, unused_file: this.#set !== null && this.#file !== null, fault: this.fault };
    if (this.#set !== null) {
      const { version } = this.#set;
      const { set_at: since, size: bytes, sha256, holds, by, reason } = version;
      return { ...shown, source: "act", version: version.version, sha256, bytes, holds, since, by, reason };
    }
    const nothing = { version: null, by: null, reason: null };
    if (this.#file === null)
      return { ...shown, ...nothing, source: "none", sha256: null, bytes: null, holds: null, since: null };
    const { facts, value } = this.#file;
    const { sha256, size: bytes, readAtMs } = facts;
    const since = formatTimestamp(readAtMs);
    return { ...shown, ...nothing, source: "file", sha256, bytes, holds: this.#kind.describe(value), since };
  }

  /** The bytes of a version, or of what is in force. */
  async bytes(store: ListStore, version: number | null): Promise<Uint8Array | null> {
    if (version === null && this.#set === null) return (await this.#file?.bytes()) ?? null;
    const wanted = version ?? this.#set?.version.version;
    const found = (await store.versions(this.name, readMax)).find((each) => each.version === wanted);
    return found === undefined ? null : store.read(found);
  }

  /** See SL2. */
  async set(
    store: ListStore,
    { bytes, expected, act, nowMs }: Omit<ListSet, "list"> & { readonly nowMs: number },
  ): Promise<
    Result<{ readonly changed: boolean; readonly subject: ListState }, "refused" | "state_changed">
  > {
    const { name: list, load, describe, relied } = this.#kind;
    if (bytes.length > listBytesMax)
      return refuse("refused", `${sent} has ${bytes.length} bytes; use at most ${listBytesMax}`);
    const parsed = await load({ name: sent, bytes }).then(ok, (error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      return refuse("refused", error.fix);
    });
    if (!parsed.ok) return parsed;
    const newest = await this.takeUp(store);
    const { value } = parsed;
    const [sha256, before] = [sha256Of(bytes), this.state()];
    // Sent again, because its outcome was not known.
    if (before.source === "act" && before.sha256 === sha256) return ok({ changed: false, subject: before });
    if (expected !== undefined && expected !== before.version) {
      const inForce = before.version === null ? "No version" : `Version ${before.version}`;
      return refuse("state_changed", `${inForce} is in force, not what was seen.`);
    }
    const past = relied?.fault(this.value, value, nowMs) ?? null;
    if (past !== null) return refuse("refused", `${sent}: ${past}`);
    const facts = { sha256, size: bytes.length, holds: describe(value), ...act };
    const next: ListVersion = {
      list,
      version: newest + 1,
      file: randomUUID(),
      ...facts,
      set_at: formatTimestamp(nowMs),
    };
    if (!(await store.set(next, bytes, relied === undefined ? keptMax : null)))
      return refuse("state_changed", "Somebody else has set this list meanwhile; look what is in force now.");
    this.#adopt(next, value);
    return ok({ changed: true, subject: this.state() });
  }
}

function sha256Of(bytes: Uint8Array): string {
  return hashOf(bytes, nativeCrypto.sha256);
}

/** What operators look at and do, over the lists of this node. */
export function listActsOf(
  lists: readonly Pick<ListInForce<unknown>, "name" | "state" | "bytes" | "set">[],
  { store, clock }: { readonly store: ListStore; readonly clock: Clock },
): ListActs {
  const find = (name: string) => lists.find((each) => each.name === name);
  return {
    all: () => lists.map((each) => each.state()),
    of: async (name) => {
      const found = find(name);
      if (found === undefined) return null;
      const versions = await store.versions(name, shownMax);
      return {
        list: found.state(),
        versions: versions.map(({ list: _list, file: _file, size: bytes, ...version }) => ({
          ...version,
          bytes,
        })),
      };
    },
    bytes: async (name, version) => (await find(name)?.bytes(store, version)) ?? null,
    set: async ({ list, ...asked }) => {
      const found = find(list);
      if (found === undefined) throw new Error(`There is no list ${list}.`);
      return found.set(store, { ...asked, nowMs: clock.now() });
    },
  };
}
