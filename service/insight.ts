// What businesses learn from answers to AI companies: how often they were shown and fetched, by whom, and what was asked
// for (specification, «Business machine API», analytics; «Retrieval API», `topic_keywords`).
//   N1. Counting is memory only: no answer waits for a store, and a store that is away changes no answer.
//   N2. What is counted was answered: its nonce was accepted and its receipt is durable.
//   N3. A subject is screened before anything of it is kept, and a session is only a mark of the day.
//   N4. What is counted is written every `flushEveryMs`, and sooner where much waits: what a busy node counts in that time has no room in
//       memory. A process that is killed loses what it counted since. Nothing is written sooner while the store is away.

import type { Clock, CryptoPort } from "../crypto/port.ts";
import { type CollectionName, formatTimestamp } from "../protocol/identifiers.ts";
import { oneAtATime } from "../std/one-at-a-time.ts";
import type { InsightStore } from "../storage/insight-store.ts";
import { CountBook } from "./count-book.ts";
import { SessionMarks } from "./session-marks.ts";
import { screenTopic } from "./topic-screening.ts";

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
  readonly crypto: Pick<CryptoPort, "hmacSha256" | "randomBytes">;
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
