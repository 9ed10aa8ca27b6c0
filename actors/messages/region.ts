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
  /**
   * Read-only: the billable answers that a company was given in this region, in the order of their receipts, as far as their
   * batches are closed. A `work_id` names one question, as with `rows.find`.
   */
  "receipts.billable"(command: {
    readonly work_id: string;
    readonly company: string;
    /** The retrieval id after which the page begins; empty for the first. */
    readonly after: string;
    readonly limit: number;
  }): BillableReply;
  /** `page` is null if the receipts could not be read. */
  "billable.read"(command: { readonly work_id: string; readonly page: BillablePage | null }): DoneReply;
  "receipts.closed"(command: { readonly batches: number }): DoneReply;
  "receipts.forgotten"(command: { readonly batches: number }): DoneReply;
}

export type RegionCommand = Commands<RegionProtocol>;

export type FindReply =
  | { readonly status: "found"; readonly found: boolean }
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };

export interface BillableAnswer {
  readonly retrieval_id: string;
  readonly key_id: string;
  readonly nonce: string;
  readonly kind: "search" | "fetch";
  readonly collection: string | null;
  readonly served_at_ms: number;
  /** The run of the node that served it. */
  readonly incarnation: string;
}

export interface BillablePage {
  readonly answers: readonly BillableAnswer[];
  /** The last receipt that was looked at, billable or not; where the page began if there was none. */
  readonly up_to: string;
  /** Whether more is closed. */
  readonly more: boolean;
  /** What was served before is closed, and all of it is in this page or in earlier ones unless there is more. */
  readonly settled_ms: number;
}

export type BillableReply =
  | ({ readonly status: "read" } & BillablePage)
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };

export type RowsReply =
  | { readonly status: "applied"; readonly stale: number }
  /** The index cannot be reached; the caller should retry. */
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };
