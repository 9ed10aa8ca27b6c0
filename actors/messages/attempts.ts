// What a business actor keeps of the pushes of a business by time, and of the batches that were refused.

/** Why an attempt failed: its records, its seal, what its mandate allows in an hour or a day, or who may publish at all. */
export type AttemptCategory = "validation" | "seal" | "caps" | "authority";

/** A batch that was refused as a whole after its request was authenticated. */
export interface RefusedBatch {
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** `ref_` and 24 lower-case hex digits. */
  readonly id: string;
  readonly category: AttemptCategory;
  readonly code: string;
  readonly reason: string | null;
  readonly detail: string;
  readonly type: string;
  readonly source: "api" | "bulk";
  readonly key_id: string;
  /** Null where the batch was refused before its records were read. */
  readonly records: number | null;
  /** Null where the batch was refused before its seal was found genuine. */
  readonly push_id: string | null;
  readonly seq: number | null;
}

/** How the records of a push ended. */
export interface EndedCounts {
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
}

/** A push that was admitted. */
export interface AdmittedPush {
  readonly at_ms: number;
  readonly id: string;
  /** The number of the admission, which the facts of the accepted push repeat. */
  readonly number: number;
  readonly records: number;
  /** Null until the push is over. */
  readonly counts: EndedCounts | null;
}

export type AttemptEntry =
  | { readonly kind: "push"; readonly push: AdmittedPush }
  | { readonly kind: "refused"; readonly refused: RefusedBatch };

/** Attempts are in the order of their time, then their id. */
export interface AttemptPlace {
  readonly at_ms: number;
  readonly id: string;
}

export interface AttemptsReply {
  /** Oldest first. */
  readonly entries: readonly AttemptEntry[];
  /** Whether there may be more behind them. */
  readonly more: boolean;
}

export interface KeepReply {
  /** `enough`: as many were kept in the last hour as are kept in an hour. */
  readonly status: "kept" | "enough";
}

/** The commands of a business actor that concern attempts. */
export interface AttemptsProtocol {
  /** Keeps what is known of a refused batch, unless enough were kept in this hour. */
  "refusal.keep"(command: { readonly refused: RefusedBatch }): KeepReply;
  /** Read-only: pushes and refused batches after a place and before an instant, oldest first. */
  "attempts.read"(command: {
    readonly after: AttemptPlace;
    readonly to_ms: number;
    readonly limit: number;
  }): AttemptsReply;
  /** Read-only: the business's own ids of its records. */
  "own_ids.read"(command: { readonly record_ids: readonly string[] }): {
    readonly own_ids: readonly (string | null)[];
  };
}
