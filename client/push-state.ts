// The saved state of a push in progress, from which it can be resumed after a crash at any moment. Plain JSON.

import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { SealedBatch } from "./batch.ts";
import type { PublishOutcome, PushStatus } from "./service-client.ts";

export interface PushState {
  readonly v: 1;
  readonly business_uuid: string;
  readonly records: number;
  /** Root over all records of the push; the state belongs to these bytes and no others. */
  readonly root: string;
  readonly batches: readonly BatchState[];
}

export interface BatchState {
  /** Index of the batch's first record. */
  readonly first: number;
  readonly count: number;
  /** Null until the batch is sealed; it is sent only after the seal has been saved. */
  readonly sealed: SealedBatch | null;
  /** Null until the service reports the outcome. */
  readonly result: BatchResult | null;
  /** Only for a batch that is sent as a bulk file. */
  readonly bulk?: BulkState;
}

export interface BulkState {
  /** The upload that has the whole file; null until the service has confirmed one. */
  readonly upload_id: string | null;
}

/** A reason to hold says which listings it is about, the largest changes first; an error does not. */
export type PushReason = { readonly code: string; readonly detail: string } & Partial<
  Pick<PushStatus["held_reasons"][number], "count" | "of" | "largest">
>;

export interface BatchResult {
  readonly state: "complete" | "held" | "failed";
  readonly accepted: number;
  readonly updated: number;
  readonly rejected: number;
  /** Rejected records, at most {@link faultsKeptMax}; `leaf_index` counts within the batch. */
  readonly faults: readonly Pick<PublishOutcome, "leaf_index" | "record_id" | "errors">[];
  /** Why the batch is held or failed. */
  readonly reasons: readonly PushReason[];
}

export const faultsKeptMax = 1_000;

/** Storage for the state of one push. */
export interface PushJournal {
  /** Returns null when nothing has been saved. */
  load(): Promise<PushState | null>;
  /** Once this returns, the state survives the loss of the process and a power failure. */
  save(state: PushState): Promise<void>;
}

/** The state with several batches in place of one. */
export function splitBatch(
  state: PushState,
  index: number,
  parts: readonly Pick<BatchState, "first" | "count">[],
): PushState {
  const split = parts.map(({ first, count }) => ({ first, count, sealed: null, result: null }));
  return { ...state, batches: state.batches.flatMap((batch, at) => (at === index ? split : [batch])) };
}

/** True if the batch will not change on its own. A held batch is polled again, since somebody may have confirmed it. */
export function isSettled(batch: BatchState): boolean {
  return batch.result !== null && batch.result.state !== "held";
}

/** The state with a change to one of its batches, by its index. */
export function replaceBatch(state: PushState, index: number, change: Partial<BatchState>): PushState {
  return {
    ...state,
    batches: state.batches.map((batch, at) => (at === index ? { ...batch, ...change } : batch)),
  };
}

/**
 * One more than the greatest seq that this push has used, and than the last one that the service has accepted of the key. Nothing of
 * it is a clock: one that is ahead would stop every other machine with the key.
 */
export function nextSeq(state: PushState, lastSeq: number | null): number {
  const used = Math.max(lastSeq ?? 0, ...state.batches.map((batch) => batch.sealed?.seq ?? 0));
  return Math.min(Number.MAX_SAFE_INTEGER, used + 1);
}

// Where the state of a push is kept so that it can be resumed.

/** A journal in memory, for a push that need not survive its process. */
export function memoryJournal(): PushJournal {
  let kept: PushState | null = null;
  return {
    load: async () => kept,
    save: async (state) => {
      kept = state;
    },
  };
}

/**
 * A journal in a file (JSON, 0600), which always has a whole state, also after a loss of power. Only one process at a time
 * may push with it: two that seal the same records would publish them twice. Its methods reject with the errors of the file
 * system.
 */
export function fileJournal(path: string): PushJournal {
  return {
    load: async () => {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
      return text === null ? null : (JSON.parse(text) as PushState);
    },
    save: async (state) => {
      const draft = `${path}.new`;
      await writeAndFlush(draft, `${JSON.stringify(state)}\n`);
      await rename(draft, path);
      await flushFolder(path);
    },
  };
}

async function writeAndFlush(path: string, text: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A name survives a loss of power only once its folder is on the disk. Windows cannot open a folder, and need not. */
async function flushFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
