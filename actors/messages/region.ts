// What is said to a region actor: one per region. It has no journal: everything it does can be asked again.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { Commands, DoneReply } from "./protocol.ts";
import type { RowReference } from "./push.ts";

export interface RegionProtocol {
  /** Starts the clock that closes receipt batches; harmless when repeated. */
  "region.open"(command: { readonly region: string }): DoneReply;
  /** Applies row changes to the region's index; answered when a search sees them. */
  "rows.apply"(command: { readonly work_id: string; readonly changes: readonly RowChange[] }): RowsReply;
  /** As `rows.apply`, with rows that the region reads from its own store: answered when they are there and found. */
  "rows.index"(command: {
    readonly work_id: string;
    readonly collection: CollectionName;
    readonly references: readonly RowReference[];
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

export type RowsReply =
  | { readonly status: "applied"; readonly stale: number }
  /** The index cannot be reached; the rows are asked for again. */
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };
