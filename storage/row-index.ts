// Port: the searchable rows. Every implementation passes storage/row-index.conformance.ts: for the same rows and query
// every engine returns the same rows, in the same order wherever the sort determines it.
//   X1. `apply` keeps, for each record id, the change with the highest number; a lower one is answered with `stale`.
//   X2. A removal leaves a tombstone, so that a late put with a lower number does not bring the row back.
//   X3. A row is returned exactly as it was signed: the same text.
//   X4. Once `apply` has returned, a search finds rows that were put and no longer finds rows that were removed.
//   X5. An engine that cannot answer the complete request rejects with `IndexUnavailable`: it never returns fewer rows. An
//       `apply` that was rejected this way may have been carried out in part; the same changes may be applied again.
//   X6. The row is all that an engine receives of a record: it searches by the `indexDocument` of the row's JSON.
//       Relevance (`_text_match`) is that of collections/text-analysis.ts on every engine.
//   X7. Once `purge` has returned, the engine's files hold nothing of rows that were removed or replaced before, as far as the engine
//       can be made to forget them.
//   X8. If no row of the country, of a business that is not excluded, matches the text as it is written, words may be
//       misspelt by one edit, as collections/text-analysis.ts defines it.

import type { CollectionName } from "../protocol/identifiers.ts";
import { Unavailable } from "../std/unavailable.ts";

/** What an engine searches a row by. collections/ derives it from the row's text (X6): the engine computes none of it. */
export interface IndexDocument {
  readonly countries: readonly string[];
  /** Filter values by index field, for example `brand`, `price_US` (number), `start_at` (Unix milliseconds). */
  readonly fields: Readonly<Record<string, IndexValue | readonly IndexValue[]>>;
  /** Geographic points by field. */
  readonly points: Readonly<Record<string, readonly GeoPoint[]>>;
  /** Analysed text by text field: terms separated by single spaces. */
  readonly texts: Readonly<Record<string, string>>;
}

export type IndexValue = string | number | boolean;

export interface GeoPoint {
  readonly lat: number;
  readonly lng: number;
}

export type RowChange =
  | {
      readonly kind: "put";
      readonly collection: CollectionName;
      readonly record_id: string;
      readonly business_uuid: string;
      /** Of the version whose row it is. */
      readonly generation: number;
      readonly change: number;
      /** Exact signed row text. */
      readonly row: string;
    }
  | {
      readonly kind: "remove";
      readonly collection: CollectionName;
      readonly record_id: string;
      readonly change: number;
    };

export type RowClause =
  | { readonly field: string; readonly op: "eq" | "ne"; readonly value: IndexValue }
  | { readonly field: string; readonly op: "in" | "nin"; readonly values: readonly IndexValue[] }
  | { readonly field: string; readonly op: "lt" | "lte" | "gt" | "gte"; readonly value: number }
  | { readonly field: string; readonly op: "near"; readonly point: GeoPoint; readonly radiusKm: number }
  /** The row's record is one of these, or none of them; there may be many. */
  | { readonly op: "among" | "except"; readonly records: readonly string[] };

/** A clause about what the row says, and not about which row it is. */
export type FieldClause = Exclude<RowClause, { readonly op: "among" | "except" }>;

export function isFieldClause(clause: RowClause): clause is FieldClause {
  return clause.op !== "among" && clause.op !== "except";
}

/** A text as a query asks for it: a row matches if each word does. */
export interface QueryText {
  readonly words: readonly QueryWord[];
  readonly fields: readonly string[];
}

/** A word of a query: it matches a row that has one of its terms in at least one of the searched fields. */
export interface QueryWord {
  /** The analysed word as it is written. */
  readonly exact: string;
  /** Its singular or plural. */
  readonly forms: readonly string[];
  /** Spellings one edit away. The engine adds them if no row matches the text as it is written (X8). */
  readonly spellings?: readonly string[];
}

export interface RowQuery {
  readonly collection: string;
  readonly country: string;
  readonly text?: QueryText;
  /** All clauses must hold. Index field names are already resolved for the country. */
  readonly clauses: readonly RowClause[];
  /** Sort keys, applied in order; ties are broken by record_id ascending. A row without the field sorts last. */
  readonly sort: readonly { readonly field: string; readonly direction: "asc" | "desc" }[];
  /** 1 to 50. */
  readonly limit: number;
  readonly excludeBusinesses: readonly string[];
}

export interface RowHit {
  readonly record_id: string;
  readonly business_uuid: string;
  /** Of the version whose row it is. */
  readonly generation: number;
  /** Exact signed row text (X3). */
  readonly row: string;
}

/**
 * Why the engine cannot serve the request now. `incomplete`: some rows, or some data needed for the query, are missing.
 */
export type IndexTrouble = "unreachable" | "timeout" | "overloaded" | "incomplete" | "malformed";

/** The engine cannot serve the request now (X5); the call may be repeated. The message begins with the trouble. */
export type IndexUnavailable = Unavailable<"index">;

export function indexUnavailable(
  trouble: IndexTrouble,
  message: string,
  { retryAfterSeconds = 1, ...options }: ErrorOptions & { readonly retryAfterSeconds?: number } = {},
): IndexUnavailable {
  const facts = { reason: "index", effect: "unknown", retryAfterSeconds } as const;
  return new Unavailable(`${trouble}: ${message}`, facts, options);
}

export interface RowIndex {
  apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]>;
  search(query: RowQuery): Promise<readonly RowHit[]>;
  /** Whether some search could return the row of this record. */
  isFindable(collection: string, recordId: string): Promise<boolean>;
  /** Forgets what was removed from these collections, and what was replaced (X7). May take as long as writing them again. */
  purge(collections: readonly CollectionName[]): Promise<void>;
  /** Number of rows of a collection that a search could return. */
  count(collection: string): Promise<number>;
}
