// What the service answers about a business's own data, as documented in its OpenAPI document.

import type { Of } from "../protocol/shape.ts";
import type { catalogueRecord } from "../protocol/wire/catalogue.ts";
import type { PublishOutcome, RecordFault } from "../protocol/wire/push.ts";

export type { CatalogueEntry, CataloguePage } from "../protocol/wire/catalogue.ts";
export type { ValidationOutcome } from "../protocol/wire/validation.ts";

/** POST /v1/publish/{type}/withdraw and …/delete */
export interface RemovalOutcome {
  readonly record_id: string;
  readonly action: "withdraw" | "delete";
  /** Regions in which a search may still find the record; empty once it is gone everywhere. */
  readonly live_in: readonly string[];
}

/** GET /v1/catalogue/{record_id}. The record's exact text is in the answer's text. */
export type CatalogueRecord = Of<typeof catalogueRecord>;

/** One record of one push; or a whole batch that was refused, with `leaf_index` null. */
export interface PushAttempt {
  readonly attempt_id: string;
  readonly push_id: string | null;
  readonly leaf_index: number | null;
  readonly status: PublishOutcome["outcome"];
  /** Why it was not published; a seal failure is distinct from a validation failure. */
  readonly category: "validation" | "seal" | "caps" | "authority" | null;
  readonly record_id: string | null;
  readonly business_product_id: string | null;
  readonly version: number | null;
  readonly errors: readonly (Partial<RecordFault> & { readonly reason?: string })[];
  readonly type: string;
  readonly seq: number | null;
  readonly source: string;
  readonly key_id: string;
  readonly received_at: string;
  readonly settled_at: string | null;
  /** Number of records, for a refused batch. */
  readonly records?: number;
}

/** GET /v1/push-attempts */
export interface AttemptsPage {
  readonly attempts: readonly PushAttempt[];
  readonly next_cursor: string | null;
}
