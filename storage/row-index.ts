// Port: the searchable rows. Every implementation passes storage/row-index.conformance.ts: for the same rows and
// query every engine gives the same rows, in the same order wherever the sort decides it.
//   X1. `apply` keeps, for a record id, the change with the highest number; a lower one answers `stale`.
//   X2. A removal leaves a tombstone, so that a late, lower put does not bring the row back.
//   X3. A row is returned exactly as it was signed: the same text.
//   X4. When `apply` returned, a search finds the put and no longer finds the removed row.
//   X5. An engine that cannot answer the whole of what it was asked rejects with `IndexUnavailable`: never fewer rows.
//       An `apply` that was rejected so may have been carried out in part; the same changes may be applied again.
//   X6. The row is all that an engine is given of a record: what it searches by is `indexDocument` of the row's JSON.
// Relevance (`_text_match`) is that of collections/relevance.ts on every engine.

import type { CollectionName } from "../protocol/identifiers.ts";
import { Unavailable } from "../std/unavailable.ts";

/** What an engine searches a row by, made of its text by collections/ (X6): nothing here is computed by the engine. */
export interface IndexDocument {
  /** Countries that the record is published for. */
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
  | { readonly field: string; readonly op: "near"; readonly point: GeoPoint; readonly radiusKm: number };

export interface RowQuery {
  readonly collection: string;
  readonly country: string;
  /** Analysed query terms, all of which must occur in at least one of `fields`; absent for a query without text. */
  readonly text?: { readonly terms: readonly string[]; readonly fields: readonly string[] };
  /** All must hold. Index field names, already resolved for the country. */
  readonly clauses: readonly RowClause[];
  /** Applied in order; ties are broken by record_id ascending. A row without the field sorts last. */
  readonly sort: readonly { readonly field: string; readonly direction: "asc" | "desc" }[];
  /** 1 to 50. */
  readonly limit: number;
  /** Rows of these businesses are absent. */
  readonly excludeBusinesses: readonly string[];
}

export interface RowHit {
  readonly record_id: string;
  readonly business_uuid: string;
  /** Exact signed row text (X3). */
  readonly row: string;
}

/** Why the engine cannot do it now. `incomplete`: part of the rows, or of what is asked about them, is not there. */
export type IndexTrouble = "unreachable" | "timeout" | "overloaded" | "incomplete" | "malformed";

/** The engine cannot do it now (X5); the same call may be made again. The message begins with the trouble. */
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
  /** Rows that a search could return, by collection. */
  count(collection: string): Promise<number>;
}
