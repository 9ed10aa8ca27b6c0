// The commands of a region actor. There is one for each region. It has no journal: everything it does can be requested again.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { Commands, DoneReply } from "./protocol.ts";
import type { RowReference } from "./push.ts";

export interface RegionProtocol {
  /** Starts the timer that closes receipt batches; harmless when repeated. */
  "region.open"(command: { readonly region: string }): DoneReply;
  /** Applies row changes to the region's index; answered once a search sees them. */
  "rows.apply"(command: { readonly work_id: string; readonly changes: readonly RowChange[] }): RowsReply;
  /**
   * Like `rows.apply`, but the region reads the rows from its own store: answered once they are readable there and
   * searchable.
   */
  "rows.index"(command: {
    readonly work_id: string;
    readonly collection: CollectionName;
    readonly references: readonly RowReference[];
  }): RowsReply;
  /**
   * Read-only: whether a search in the region could return the record. A `work_id` names one question: it must not be used
   * again for a later one.
   */
  "rows.find"(command: {
    readonly work_id: string;
    readonly collection: CollectionName;
    readonly record_id: string;
  }): FindReply;
  /** `found` is null if the index did not say. */
  "rows.found"(command: { readonly work_id: string; readonly found: boolean | null }): DoneReply;
  /** Has the region's engine forgotten what was removed from these collections; answered once its files are without it. */
  "rows.purge"(command: {
    readonly work_id: string;
    readonly collections: readonly CollectionName[];
  }): RowsReply;
  "rows.applied"(command: {
    readonly work_id: string;
    readonly stale: number;
    readonly rows: number;
  }): DoneReply;
  "rows.failed"(command: { readonly work_id: string; readonly detail: string }): DoneReply;
  "receipts.closed"(command: { readonly batches: number }): DoneReply;
  "receipts.forgotten"(command: { readonly batches: number }): DoneReply;
}

export type RegionCommand = Commands<RegionProtocol>;

export type FindReply =
  | { readonly status: "found"; readonly found: boolean }
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };

export type RowsReply =
  | { readonly status: "applied"; readonly stale: number }
  /** The index cannot be reached; the caller should retry. */
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };
