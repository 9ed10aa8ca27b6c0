// What is said to a region actor: one per region. It has no journal: everything it does can be asked again.

import type { RowChange } from "../../storage/row-index.ts";
import type { Message } from "../system/definition.ts";
import type { RowReference } from "./push.ts";

export type RegionCommand =
  /** Starts the clock that closes receipt batches; harmless when repeated. */
  | (Message & { readonly type: "region.open"; readonly region: string })
  /** Applies row changes to the region's index; answered when a search sees them. */
  | (Message & {
      readonly type: "rows.apply";
      readonly work_id: string;
      readonly changes: readonly RowChange[];
    })
  /** As `rows.apply`, with rows that the region reads from its own store: answered when they are there and found. */
  | (Message & {
      readonly type: "rows.index";
      readonly work_id: string;
      readonly collection: string;
      readonly references: readonly RowReference[];
    })
  | (Message & {
      readonly type: "rows.applied";
      readonly work_id: string;
      readonly stale: number;
      readonly rows: number;
    })
  | (Message & { readonly type: "rows.failed"; readonly work_id: string; readonly detail: string })
  | (Message & { readonly type: "receipts.closed"; readonly batches: number })
  | (Message & { readonly type: "receipts.forgotten"; readonly batches: number });

export type RowsReply =
  | { readonly status: "applied"; readonly stale: number }
  /** The index cannot be reached; the rows are asked for again. */
  | { readonly status: "unavailable"; readonly retry_after_seconds: number };
