// Port: receipts. Every implementation passes storage/receipt-store.conformance.ts.
//   T1. `append` returned means that the receipt survives the loss of the process; only then may the answer leave.
//   T2. Appending the same (region, batch, retrieval_id) again changes nothing.
//   T3. A batch is (minute, incarnation); a late row goes into the batch that its writer names, closed or not,
//       and is found by `readBatch`, so a closer reads again what it closed.
//   T4. A row appended `after` a commit is kept only if that commit was applied, and never without it.
//   T5. Receipts are removed by `forgetReceipts` alone, those of one closed batch. Its root and size stay for good, so that
//       a receipt that somebody kept can still be shown to have been in it, or not.

import type { CommitOutcome } from "./actor-store.ts";

export interface ReceiptRow {
  readonly region: string;
  /** Batch name `YYYYMMDDHHMM-<incarnation>`: one a minute and node incarnation. */
  readonly batch: string;
  /** `ret_`, 12 hex digits of `served_at_ms`, then whatever makes it unique: {@link servedAtOf}. */
  readonly retrieval_id: string;
  /** key_id of the caller; with `nonce` it counts for billing once. */
  readonly key_id: string;
  readonly nonce: string;
  readonly billable: boolean;
  readonly served_at_ms: number;
  /** JSON text of the receipt envelope. */
  readonly envelope: string;
}

export interface ClosedBatch {
  readonly region: string;
  readonly batch: string;
  /** `sha256:<hex>`: RFC 6962 root over the receipt envelopes in retrieval_id order. */
  readonly root: string;
  readonly tree_size: number;
  readonly closed_at_ms: number;
}

export interface ReceiptStore {
  /** Whether a row appended `after` a commit that was handed in just before becomes durable in one step with it. */
  readonly sharesCommits: boolean;
  /**
   * `after` is the promise of {@link ActorStore.commit}, given out by the store of the same node: then the row waits for
   * it, or shares its transaction (T4). Throws {@link StoreError}, `not_applied` when that commit was refused.
   */
  append(row: ReceiptRow, after?: Promise<CommitOutcome> | null): Promise<void>;
  /** Names of batches with rows, not closed, whose minute sorts before `beforeMinute` (`YYYYMMDDHHMM`), oldest first. */
  openBatches(region: string, beforeMinute: string, limit: number): Promise<readonly string[]>;
  /** All receipts of a batch, ascending by retrieval_id. */
  readBatch(region: string, batch: string): Promise<readonly ReceiptRow[]>;
  closeBatch(closed: ClosedBatch): Promise<void>;
  readClosed(region: string, batch: string): Promise<ClosedBatch | null>;
  /**
   * Names of closed batches whose receipts were not forgotten yet, whose minute sorts before `beforeMinute`, oldest first.
   * May look at a part of the time only, and goes on with the next call.
   */
  keptBatches(region: string, beforeMinute: string, limit: number): Promise<readonly string[]>;
  /** Removes some receipts of a closed batch, `limit` at most in one step; true once none is left (T5). */
  forgetReceipts(region: string, batch: string, limit: number): Promise<boolean>;
  /** By the minute that the id names; null for an id that names none. */
  readReceipt(region: string, retrievalId: string): Promise<ReceiptRow | null>;
}

const retrievalIdForm = /^ret_([0-9a-f]{12})/;

/** Unix milliseconds that a retrieval id names; null when it is none. A receipt is found by them without an index. */
export function servedAtOf(retrievalId: string): number | null {
  const hex = retrievalIdForm.exec(retrievalId)?.[1];
  return hex === undefined ? null : Number.parseInt(hex, 16);
}
