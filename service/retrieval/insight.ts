// What businesses learn from answers to AI companies: how often they were shown and fetched, by whom, and what was asked
// for (specification, «Business machine API», analytics; «Retrieval API», `topic_keywords`).
//   N1. Counting is memory only: no answer waits for a store, and a store that is away changes no answer.
//   N2. What is counted was answered: its nonce was accepted and its receipt is durable.
//   N3. A subject is screened before anything of it is kept, and a session is only a mark of the day.
//   N4. What is counted is written every `flushEveryMs`, and sooner where much waits: what a busy node counts in that time has no room in
//       memory. A process that is killed loses what it counted since. Nothing is written sooner while the store is away.

import type { Clock, CryptoPort } from "../../crypto/port.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import { repeat } from "../../std/back-off.ts";
import { oneAtATime } from "../../std/semaphore.ts";
import type { InsightCount, InsightStore } from "../../storage/insight-store.ts";
import { SessionMarks, screenTopic } from "./topic-screening.ts";

export const flushEveryMs = 5_000;
/** Counts of businesses, and of subjects, that a node has in memory at most. */
const shownMax = 100_000;
const subjectsMax = 50_000;
/** So many counts that wait are written at once: a quarter of the room, so that there is some while they are written. */
const fillingAt = shownMax / 4;
const subjectsFillingAt = subjectsMax / 4;
/** Different subjects that one company may name in a day at one node. */
export const subjectsPerCompanyMax = 5_000;

export interface InsightDeps {
  readonly store: InsightStore;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  /** Identifies this run of the process. */
  readonly incarnation: string;
  /** How long a day's counts are kept after it. */
  readonly retentionDays: number;
}

/** What a search says of itself beside its question. */
export interface AskedFor {
  /** From {@link Insight.markOf}; null for a search without `session_ref`. */
  readonly session: string | null;
  readonly subjects: readonly string[];
}

export interface AnsweredSearch {
  readonly company: string;
  /** Timestamp of the answer. */
  readonly servedAt: string;
  readonly collection: CollectionName;
  readonly country: string;
  /** The business of each row. */
  readonly businesses: readonly string[];
  readonly asked: AskedFor;
}

export interface AnsweredFetch {
  readonly company: string;
  readonly servedAt: string;
  readonly collection: CollectionName;
  readonly business: string;
}

export interface Insight {
  /** What stands for a session from its arrival on (N3). */
  markOf(company: string, sessionRef: string): string;
  searched(answered: AnsweredSearch): void;
  fetched(answered: AnsweredFetch): void;
  /** Writes what was counted, and ends the sessions of earlier days. Rejects with the store's error; nothing is lost. */
  flush(): Promise<void>;
  /** Removes the counts of days that are over their retention, at most `limit`; returns how many. */
  forget(limit: number): Promise<number>;
  figures(): InsightFigures;
}

export interface InsightFigures {
  readonly waiting: number;
  readonly lost: number;
  /** Searches of sessions that search too often. */
  readonly excessive: number;
  /** The day of the sessions that are known; empty if there are none. */
  readonly sessionDay: string;
}

const dayMs = 86_400_000;

/** Counts answers in memory; see {@link Insight.flush} for when they are in the store. */
export function createInsight(deps: InsightDeps): Insight {
  const { store, clock, incarnation: name } = deps;
  const shown = new CountBook({ name, cellsMax: shownMax });
  const demand = new CountBook({ name, cellsMax: subjectsMax, namesPerCompanyMax: subjectsPerCompanyMax });
  const sessions = new SessionMarks(deps.crypto);
  let [isWriting, isAway] = [false, false];
  const flush = oneAtATime(async () => {
    isWriting = true;
    try {
      sessions.turn(dayOf(clock.now()));
      await shown.flush((counts) => store.put("shown", counts));
      await demand.flush((counts) => store.put("demand", counts));
      isAway = false;
    } catch (error) {
      isAway = true;
      throw error;
    } finally {
      isWriting = false;
    }
  });
  const writeIfFilling = (): void => {
    if (isWriting || isAway) return;
    if (shown.waiting < fillingAt && demand.waiting < subjectsFillingAt) return;
    // Who flushes regularly hears of it: what was not written waits for that.
    flush().catch(() => {});
  };
  return {
    markOf: (company, sessionRef) => sessions.mark(company, sessionRef, dayOf(clock.now())),
    searched: ({ company, servedAt, collection, country, businesses, asked }) => {
      const place = { day: servedAt.slice(0, 10), country, collection, company };
      shown.search(place, businesses);
      const subjects = screened(asked.subjects);
      const counted = asked.session === null ? subjects : sessions.search(asked.session, subjects);
      if (counted.length > 0) demand.search(place, counted);
      writeIfFilling();
    },
    fetched: ({ company, servedAt, collection, business }) => {
      shown.fetch({ day: servedAt.slice(0, 10), country: "", collection, company }, business);
      writeIfFilling();
    },
    flush,
    forget: (limit) => store.forget(dayOf(clock.now() - deps.retentionDays * dayMs), limit),
    figures: () => ({
      waiting: shown.waiting + demand.waiting,
      lost: shown.lost + demand.lost,
      excessive: sessions.excessive,
      sessionDay: sessions.day,
    }),
  };
}

/** `YYYY-MM-DD` in UTC. */
export function dayOf(ms: number): string {
  return formatTimestamp(ms).slice(0, 10);
}

function screened(keywords: readonly string[]): readonly string[] {
  if (keywords.length === 0) return keywords;
  return [...new Set(keywords.flatMap((each) => screenTopic(each) ?? []))];
}

// The counts of one node that are not lost with it: what is counted in memory and written to the store now and then.
//   B1. What is written of a count is its total since this book began it, so a write that is repeated counts nothing twice.
//   B2. A count that was let go is never continued: whatever is counted next under its name has another writer.
//   B3. Memory is bounded: at `cellsMax` counts all are let go once they are written, and while so many are waiting to be
//       written, or a company has named `namesPerCompanyMax` names of a day, further ones are only counted as lost.
//   B4. What could not be written is written again with the next flush.

/** What several names are counted under. */
export type CountPlace = Pick<InsightCount, "day" | "country" | "collection" | "company">;

export interface CountBookOptions {
  /** Unique among all books that ever were. */
  readonly name: string;
  readonly cellsMax: number;
  readonly namesPerCompanyMax?: number;
}

/** Counts in one write, and writes at once. */
const countsPerWrite = 250;
const writesAtOnce = 4;

interface Cell {
  readonly place: CountPlace;
  readonly name: string;
  readonly writer: string;
  searches: number;
  rows: number;
  fetches: number;
  /** The search that counted it last. */
  lastSearch: number;
  /** Whether it is among those that wait to be written; asking the set for each row would cost more than counting. */
  isWaiting: boolean;
}

export class CountBook {
  readonly #options: CountBookOptions;
  readonly #groups = new Map<string, Map<string, Cell>>();
  readonly #unwritten = new Set<Cell>();
  readonly #namesOf = new Map<string, number>();
  #cells = 0;
  #part = 0;
  #day = "";
  #search = 0;
  #lost = 0;

  constructor(options: CountBookOptions) {
    this.#options = options;
  }

  /** How often something was not counted because of the bounds (B3). */
  get lost(): number {
    return this.#lost;
  }

  /** How many places have counts in memory. */
  get places(): number {
    return this.#groups.size;
  }

  /** How many counts wait to be written. */
  get waiting(): number {
    return this.#unwritten.size;
  }

  /** Counts one search, and each of the names as a row in it; a name may occur several times. */
  search(place: CountPlace, names: readonly string[]): void {
    this.#search += 1;
    const group = this.#group(place);
    for (const name of names) {
      const cell = group.get(name) ?? this.#begin(group, place, name);
      if (cell === null) continue;
      cell.rows += 1;
      if (cell.lastSearch !== this.#search) cell.searches += 1;
      cell.lastSearch = this.#search;
      if (!cell.isWaiting) this.#wait(cell);
    }
  }

  fetch(place: CountPlace, name: string): void {
    const group = this.#group(place);
    const cell = group.get(name) ?? this.#begin(group, place, name);
    if (cell === null) return;
    cell.fetches += 1;
    if (!cell.isWaiting) this.#wait(cell);
  }

  /** Writes what has changed; rejects with what `put` rejects with, and the rest waits for the next call (B4). */
  async flush(put: (counts: readonly InsightCount[]) => Promise<void>): Promise<void> {
    const cells = [...this.#unwritten];
    for (let from = 0; from < cells.length; from += countsPerWrite * writesAtOnce) {
      const parts = Array.from({ length: writesAtOnce }, (_, at) => {
        const start = from + at * countsPerWrite;
        return cells.slice(start, start + countsPerWrite);
      });
      const written = await Promise.allSettled(parts.map((part) => this.#write(part, put)));
      for (const each of written) if (each.status === "rejected") throw each.reason;
    }
  }

  async #write(
    part: readonly Cell[],
    put: (counts: readonly InsightCount[]) => Promise<void>,
  ): Promise<void> {
    if (part.length === 0) return;
    const counts = part.map(countOf);
    for (const cell of part) {
      cell.isWaiting = false;
      this.#unwritten.delete(cell);
    }
    try {
      await put(counts);
    } catch (error) {
      for (const cell of part) this.#wait(cell);
      throw error;
    }
  }

  #wait(cell: Cell): void {
    cell.isWaiting = true;
    this.#unwritten.add(cell);
  }

  #group(place: CountPlace): Map<string, Cell> {
    if (place.day > this.#day) {
      this.#day = place.day;
      this.#namesOf.clear();
      this.#letGo();
    }
    if (this.#cells >= this.#options.cellsMax) this.#letGo();
    return this.#groups.get(keyOf(place)) ?? new Map<string, Cell>();
  }

  #begin(group: Map<string, Cell>, place: CountPlace, name: string): Cell | null {
    const { cellsMax, namesPerCompanyMax = Number.POSITIVE_INFINITY } = this.#options;
    const names = this.#namesOf.get(place.company) ?? 0;
    if (this.#unwritten.size >= cellsMax || names >= namesPerCompanyMax) {
      this.#lost += 1;
      return null;
    }
    this.#namesOf.set(place.company, names + 1);
    this.#cells += 1;
    const writer = `${this.#options.name}.${this.#part}`;
    const cell: Cell = {
      place,
      name,
      writer,
      searches: 0,
      rows: 0,
      fetches: 0,
      lastSearch: 0,
      isWaiting: false,
    };
    // A place is kept with its first count only, so there are never more places than counts (B3).
    if (group.size === 0) this.#groups.set(keyOf(place), group);
    group.set(name, cell);
    return cell;
  }

  /** Those that are not written yet stay until they are (B2). */
  #letGo(): void {
    this.#groups.clear();
    this.#cells = 0;
    this.#part += 1;
  }
}

function keyOf({ day, country, collection, company }: CountPlace): string {
  return `${day} ${country} ${collection} ${company}`;
}

function countOf({ place, name, writer, searches, rows, fetches }: Cell): InsightCount {
  return { ...place, name, writer, searches, rows, fetches };
}

// Writes what was counted for as long as a node runs, and once more when it stops.
//   F1. Writes never overlap; the next one starts its interval after the previous one has ended, or sooner (N4).
//   F2. A write that fails is reported, and its counts are part of the next one.
//   F3. Once an hour, counts beyond their retention are removed, a few in each step.
//   F4. The stop completes after a last write of whatever was counted.

const forgetEveryMs = 3_600_000;
const forgottenAtOnce = 500;

export interface FlushingDeps {
  readonly insight: Pick<Insight, "flush" | "forget">;
  readonly clock: Clock;
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  readonly failed: (error: unknown) => void;
}

/** Starts writing; the returned function stops it (F4). */
export function flushRegularly({ insight, clock, timers, failed }: FlushingDeps): () => Promise<void> {
  let forgetAtMs = clock.now();
  const flush = async (isStopped: () => boolean): Promise<void> => {
    try {
      await insight.flush();
      if (isStopped() || clock.now() < forgetAtMs) return;
      const forgotten = await insight.forget(forgottenAtOnce);
      if (forgotten < forgottenAtOnce) forgetAtMs = clock.now() + forgetEveryMs;
    } catch (error) {
      failed(error);
    }
  };
  const stop = repeat({ everyMs: flushEveryMs, timers, run: flush });
  return async () => {
    await stop();
    await flush(() => true);
  };
}
