// What the service answers about a business's own data, as documented in its OpenAPI document.

import type { CollectionName } from "../protocol/identifiers.ts";
import type { HeldReason, PublishOutcome, PushCounts, RecordFault } from "../protocol/wire/push.ts";

/** POST /v1/publish/products?validate_only=true */
export interface ValidationOutcome {
  readonly validate_only: true;
  readonly batch_id: string;
  readonly seq: number;
  readonly held: boolean;
  readonly held_reasons: readonly HeldReason[];
  readonly records: number;
  readonly counts: PushCounts;
  readonly results: readonly PublishOutcome[];
}

/** POST /v1/publish/{type}/withdraw and …/delete */
export interface RemovalOutcome {
  readonly record_id: string;
  readonly action: "withdraw" | "delete";
  /** Regions in which a search may still find the record; empty once it is gone everywhere. */
  readonly live_in: readonly string[];
}

export interface CatalogueEntry {
  readonly record_id: string;
  readonly business_product_id: string;
  readonly last_updated: string;
  readonly source: "manual" | "import" | "api";
}

/** GET /v1/catalogue */
export interface CataloguePage {
  readonly entries: readonly CatalogueEntry[];
  readonly next_cursor: string | null;
}

/** GET /v1/catalogue/{record_id} */
export interface CatalogueRecord extends CatalogueEntry {
  readonly type: CollectionName;
  /** As parsed; the exact text is in the answer's text. */
  readonly record: unknown;
  readonly seal: unknown;
  readonly live_in: readonly string[];
}

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
