// What is kept of a push that is under way, so that it can be resumed after a crash at any moment. Plain JSON.

import type { SealedBatch } from "./batch.ts";
import type { PublishOutcome } from "./service-client.ts";

export interface PushState {
  readonly v: 1;
  readonly business_uuid: string;
  readonly records: number;
  /** Root over all records of the push: these bytes and no others belong to this state. */
  readonly root: string;
  readonly batches: readonly BatchState[];
}

export interface BatchState {
  /** Index of the batch's first record. */
  readonly first: number;
  readonly count: number;
  /** Null until it was sealed; sent only after this was kept. */
  readonly sealed: SealedBatch | null;
  /** Null until the service said how it ended. */
  readonly result: BatchResult | null;
}

export interface BatchResult {
  readonly state: "complete" | "held" | "failed";
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
  /** Rejected records, at most {@link faultsKeptMax}; `leaf_index` counts within the batch. */
  readonly faults: readonly Pick<PublishOutcome, "leaf_index" | "record_id" | "errors">[];
  /** Why it is held or failed. */
  readonly reasons: readonly { readonly code: string; readonly detail: string }[];
}

export const faultsKeptMax = 1_000;

/** Where the state of one push is kept. */
export interface PushJournal {
  /** Null when nothing was kept. */
  load(): Promise<PushState | null>;
  /** Once it returned, the state survives the loss of the process and of the machine's power. */
  save(state: PushState): Promise<void>;
}

/** Nothing more happens to it by itself. A held batch is asked about again: somebody may have confirmed it. */
export function isSettled(batch: BatchState): boolean {
  return batch.result !== null && batch.result.state !== "held";
}

export function replaceBatch(state: PushState, index: number, change: Partial<BatchState>): PushState {
  return {
    ...state,
    batches: state.batches.map((batch, at) => (at === index ? { ...batch, ...change } : batch)),
  };
}

/** A number greater than any seq that this push used; wall-clock milliseconds, so that it exceeds other pushes' too. */
export function nextSeq(state: PushState, nowMs: number): number {
  return Math.max(nowMs, ...state.batches.map((batch) => (batch.sealed?.seq ?? 0) + 1));
}
