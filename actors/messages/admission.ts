// What a business answers about the admission of a push.

import type { HeldReason } from "../../protocol/wire/push.ts";

export type AdmitReply =
  | {
      readonly status: "admitted";
      readonly number: number;
      readonly held: boolean;
      readonly held_reasons: readonly HeldReason[];
      /** When the batch was received first, if the admission said so. */
      readonly received_at_ms?: number;
    }
  | { readonly status: "plan_stale"; readonly pending: readonly string[] }
  | {
      readonly status: "busy";
      readonly retry_after_seconds: number;
      /** Which limit of fair use is reached; absent for too many waiting pushes. */
      readonly reason?: "push_rate" | "records_unchanged" | "holds_waiting";
    }
  /** The business is not in a state in which it may publish. */
  | { readonly status: "refused"; readonly code: "business_not_verified"; readonly detail: string };

/** The generation that a record would get, and whether the record would be live before it. */
export type PlannedVersion = readonly [generation: number, live: boolean];

export type PreviewReply =
  | {
      readonly status: "admitted";
      readonly held_reasons: readonly HeldReason[];
      /** By the records of `plan.listings`, in their order. */
      readonly versions: readonly PlannedVersion[];
    }
  | Exclude<AdmitReply, { status: "admitted" }>;
