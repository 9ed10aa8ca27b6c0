// Pushes any number of products as sealed batches; it can be stopped at any moment and run again.
//   Q1. Nothing is sent before it is saved: a batch's seal and seq are in the journal before its first byte leaves.
//   Q2. A sealed batch is resent exactly as it was, never resealed while the service may know it. It is resealed only when
//       the service refused the seal (stale, superseded certificate or policy, seq) and answers 404 for its push_id.
//   Q3. A batch that has finished is never sent again.
//   Q4. The journal belongs to exactly these bytes in this order: other records are refused, not mixed in.

import { planBatches, publishBody, recordsRoot, sealBatch } from "./batch.ts";
import { SvcProblemError } from "./errors.ts";
import {
  type BatchResult,
  type BatchState,
  faultsKeptMax,
  isSettled,
  nextSeq,
  type PushJournal,
  type PushState,
  replaceBatch,
} from "./push-state.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { InlineOutcome, PublishOutcome, PushStatus, SvcClient } from "./service-client.ts";
import type { SigningKey } from "./signing-key.ts";

export type PushEvent =
  | {
      readonly type: "push.opened";
      readonly records: number;
      readonly batches: number;
      readonly settled_batches: number;
      readonly settled_records: number;
    }
  | {
      readonly type: "batch.sealed";
      readonly batch: number;
      readonly push_id: string;
      readonly seq: number;
      readonly sealed_again: boolean;
    }
  | {
      readonly type: "batch.sent";
      readonly batch: number;
      readonly push_id: string;
      readonly records: number;
    }
  | {
      readonly type: "batch.progress";
      readonly batch: number;
      readonly push_id: string;
      readonly settled: number;
      readonly records: number;
    }
  | {
      readonly type: "batch.finished";
      readonly batch: number;
      readonly push_id: string;
      readonly records: number;
      readonly result: BatchResult;
    }
  | { readonly type: "waiting"; readonly seconds: number; readonly reason: string };

export interface PushDeps {
  readonly client: Pick<SvcClient, "publishProducts" | "pushStatus" | "sealContext">;
  readonly key: SigningKey;
  readonly journal: PushJournal;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** How long to wait for an unavailable service before the push stops; it can then be run again. */
  readonly patienceMs: number;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
  readonly recordsPerBatch?: number;
  readonly onEvent?: (event: PushEvent) => void;
}

/** The journal belongs to another push. */
export class PushMismatchError extends Error {
  constructor() {
    super("The saved state belongs to other records.");
    this.name = "PushMismatchError";
  }
}

/** Maximum number of batches accepted but not yet finished at any time. */
const windowMax = 2;
const sealsMax = 3;
const pollMs = 1_000;

/** Runs until every batch has finished; rejects with the client's errors when the service refuses or stays unavailable. */
export async function runPush(deps: PushDeps, records: readonly Uint8Array[]): Promise<PushState> {
  const run = await openRun(deps, records);
  const open: number[] = [];
  for (const index of run.state.batches.keys()) {
    if (isSettled(run.batch(index))) continue;
    await accept(run, index);
    open.push(index);
    if (open.length >= windowMax) await settle(run, open.shift() ?? index);
  }
  for (const index of open) await settle(run, index);
  return run.state;
}

interface Run {
  readonly deps: PushDeps;
  readonly records: readonly Uint8Array[];
  readonly patience: Patience;
  readonly state: PushState;
  batch(index: number): BatchState;
  /** Saves a change to one batch. */
  keep(index: number, change: Partial<BatchState>): Promise<void>;
  emit(event: PushEvent): void;
}

async function openRun(deps: PushDeps, records: readonly Uint8Array[]): Promise<Run> {
  const emit = (event: PushEvent): void => deps.onEvent?.(event);
  const known = await deps.journal.load();
  const root = recordsRoot(records);
  if (known !== null && (known.root !== root || known.records !== records.length))
    throw new PushMismatchError();
  let state = known ?? (await newState(deps, records, root));
  const settled = state.batches.filter(isSettled);
  emit({
    type: "push.opened",
    records: records.length,
    batches: state.batches.length,
    settled_batches: settled.length,
    settled_records: settled.reduce((sum, batch) => sum + batch.count, 0),
  });
  return {
    deps,
    records,
    patience: patienceOf(deps),
    get state() {
      return state;
    },
    batch: (index) => batchAt(state, index),
    keep: async (index, change) => {
      const next = replaceBatch(state, index, change);
      await deps.journal.save(next);
      state = next;
    },
    emit,
  };
}

async function newState(deps: PushDeps, records: readonly Uint8Array[], root: string): Promise<PushState> {
  const { body } = await retryUntil(patienceOf(deps), () => deps.client.sealContext());
  const batches = planBatches(records, deps.recordsPerBatch);
  return {
    v: 1,
    business_uuid: body.business_uuid,
    records: records.length,
    root,
    batches: batches.map((range) => ({ ...range, sealed: null, result: null })),
  };
}

function patienceOf(deps: PushDeps): Patience {
  return {
    now: deps.now,
    wait: deps.wait,
    patienceMs: deps.patienceMs,
    onWaiting: ({ delayMs, error }) =>
      deps.onEvent?.({ type: "waiting", seconds: Math.ceil(delayMs / 1000), reason: error.message }),
  };
}

function batchAt(state: PushState, index: number): BatchState {
  const batch = state.batches[index];
  if (batch === undefined) throw new RangeError(`There is no batch ${index}.`);
  return batch;
}

/** Continues until the service has accepted the batch: sealed, saved, sent (Q1, Q2). */
async function accept(run: Run, index: number): Promise<void> {
  if (run.batch(index).sealed !== null && (await readStatus(run, index)) !== null) return;
  for (let seals = 0; ; seals += 1) {
    if (run.batch(index).sealed === null) await sealAndKeep(run, index, seals > 0);
    try {
      return await sendBatch(run, index);
    } catch (error) {
      if (!isSealRefusal(error) || seals + 1 >= sealsMax) throw error;
      if ((await readStatus(run, index)) !== null) return;
      // The decision is not saved separately: after a crash here, the next run finds the refused seal, sends it again and
      // returns to this line.
      await sealAndKeep(run, index, true);
    }
  }
}

function isSealRefusal(error: unknown): boolean {
  return (
    error instanceof SvcProblemError && (error.code === "seal_invalid" || error.code === "seq_not_increasing")
  );
}

async function sealAndKeep(run: Run, index: number, again: boolean): Promise<void> {
  const { deps } = run;
  const { body: context } = await retryUntil(run.patience, () => deps.client.sealContext());
  const nowMs = deps.now();
  const sealed = await sealBatch(
    recordsOf(run, index),
    {
      businessUuid: run.state.business_uuid,
      certId: context.cert_id,
      aiPolicyVersion: context.ai_policy_version,
      recordType: "products",
      seq: nextSeq(run.state, nowMs),
      sealedAtMs: nowMs,
    },
    deps.key,
  );
  await run.keep(index, { sealed, result: null });
  run.emit({
    type: "batch.sealed",
    batch: index,
    push_id: sealed.push_id,
    seq: sealed.seq,
    sealed_again: again,
  });
}

function recordsOf(run: Run, index: number): readonly Uint8Array[] {
  const { first, count } = run.batch(index);
  return run.records.slice(first, first + count);
}

function sealedOf(run: Run, index: number) {
  const { sealed } = run.batch(index);
  if (sealed === null) throw new Error(`Batch ${index} is not sealed.`);
  return sealed;
}

async function sendBatch(run: Run, index: number): Promise<void> {
  const sealed = sealedOf(run, index);
  const records = recordsOf(run, index);
  const body = publishBody(sealed.batch_seal, records);
  const idempotencyKey = `${sealed.push_id}.${run.deps.runId}`;
  const answer = await retryUntil(run.patience, () =>
    run.deps.client.publishProducts({ body, idempotencyKey }),
  );
  run.emit({ type: "batch.sent", batch: index, push_id: sealed.push_id, records: records.length });
  const inline = answer.body as InlineOutcome;
  // For a held batch, only the push status gives the reasons.
  if (answer.status === 200 && !inline.held) await finish(run, index, inlineResult(inline));
}

/** Returns null when the service does not know the push. */
async function readStatus(run: Run, index: number): Promise<PushStatus | null> {
  const { push_id } = sealedOf(run, index);
  try {
    return (await retryUntil(run.patience, () => run.deps.client.pushStatus(push_id))).body;
  } catch (error) {
    if (error instanceof SvcProblemError && error.status === 404) return null;
    throw error;
  }
}

/** Continues until the batch has finished. A stalled push is sent again, which resumes it. */
async function settle(run: Run, index: number): Promise<void> {
  while (!isSettled(run.batch(index))) {
    const status = await readStatus(run, index);
    if (status === null)
      throw new Error(`The service does not know ${sealedOf(run, index).push_id} any more.`);
    run.emit({
      type: "batch.progress",
      batch: index,
      push_id: status.push_id,
      settled: status.progress.settled,
      records: status.records,
    });
    if (status.state === "complete" || status.state === "held" || status.state === "failed") {
      return await finish(run, index, await queuedResult(run, status, status.state));
    }
    if (status.stalled) await sendBatch(run, index);
    await run.deps.wait((status.poll_after_seconds ?? 0) * 1000 || pollMs);
  }
}

async function finish(run: Run, index: number, result: BatchResult): Promise<void> {
  await run.keep(index, { result });
  const { push_id } = sealedOf(run, index);
  run.emit({ type: "batch.finished", batch: index, push_id, records: run.batch(index).count, result });
}

function inlineResult({ results }: InlineOutcome): BatchResult {
  const count = (outcome: PublishOutcome["outcome"]): number =>
    results.filter((each) => each.outcome === outcome).length;
  return {
    state: "complete",
    accepted: count("accepted"),
    updated: count("updated"),
    rejected: count("rejected"),
    faults: faultsOf(results),
    reasons: [],
  };
}

async function queuedResult(run: Run, status: PushStatus, state: BatchResult["state"]): Promise<BatchResult> {
  const { accepted, updated, rejected } = status.counts;
  const faults = rejected === 0 ? [] : await readFaults(run, status.push_id);
  const reasons = [...status.held_reasons, ...(status.error === null ? [] : [status.error])];
  return { state, accepted, updated, rejected, faults, reasons };
}

async function readFaults(run: Run, pushId: string): Promise<BatchResult["faults"]> {
  const faults: BatchResult["faults"][number][] = [];
  let cursor: string | null = null;
  do {
    const page: { outcome: string; cursor?: string } = {
      outcome: "rejected",
      ...(cursor === null ? {} : { cursor }),
    };
    const { body } = await retryUntil(run.patience, () => run.deps.client.pushStatus(pushId, page));
    faults.push(...faultsOf(body.results));
    cursor = body.next_cursor;
  } while (cursor !== null && faults.length < faultsKeptMax);
  return faults.slice(0, faultsKeptMax);
}

function faultsOf(results: readonly PublishOutcome[]): BatchResult["faults"] {
  return results
    .filter((each) => each.outcome === "rejected")
    .map(({ leaf_index, record_id, errors }) => ({ leaf_index, record_id, errors }));
}
