// Pushes any number of products as sealed batches; it can be stopped at any moment and run again.
//   Q1. Nothing is sent before it is saved: a batch's seal and seq are in the journal before its first byte leaves.
//   Q2. A sealed batch is resent exactly as it was, never resealed while the service may know it. It is resealed only when
//       the service refused the seal (stale, superseded certificate or policy, seq) and answers 404 for its push_id.
//   Q3. A batch that has finished is never sent again.
//   Q4. The journal belongs to exactly these bytes in this order: other records are refused, not mixed in.
//   Q5. A bulk file is sealed only once the service has all of it, since a seal is accepted for five minutes and a large file
//       may take longer. A service that offers no bulk files gets the same records in batches.

import {
  type BatchLimits,
  bulkLimits,
  planBatches,
  publishBody,
  requestLimits,
  rootOf,
  sealLeaves,
} from "./batch.ts";
import { isBulkOffered, type UploadingClient, uploadFile } from "./bulk.ts";
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
  splitBatch,
} from "./push-state.ts";
import { type RecordSet, recordSet } from "./record-set.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { InlineOutcome, PublishOutcome, PushStatus, SvcClient } from "./service-client.ts";
import type { SigningKey } from "./signing-key.ts";

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
/** Pushes at the same time with one key take each other's seq; in each round one of them is accepted. */
const seqsMax = 20;
const pollMs = 1_000;

/**
 * Seals, sends and follows records until every batch has ended, held ones aside, and returns the state of all. Begun again
 * with its journal it resumes, and nothing is published twice. Rejects with {@link PushMismatchError} for a journal of
 * other records, and with the errors of the client where the service refuses or stays away beyond the patience.
 */
export async function runPush(
  deps: PushDeps,
  records: readonly Uint8Array[] | RecordSet,
): Promise<PushState> {
  const run = await openRun(deps, isRecordSet(records) ? records : recordSet(records));
  const open: number[] = [];
  // A batch may become several while it is accepted, all of which come after the open ones.
  for (let index = 0; index < run.state.batches.length; index += 1) {
    if (isSettled(run.batch(index))) continue;
    await accept(run, index);
    open.push(index);
    if (open.length >= windowMax) await settle(run, open.shift() ?? index);
  }
  for (const index of open) await settle(run, index);
  return run.state;
}

function isRecordSet(records: readonly Uint8Array[] | RecordSet): records is RecordSet {
  return !Array.isArray(records);
}

interface Run {
  readonly deps: PushDeps;
  readonly records: RecordSet;
  readonly patience: Patience;
  readonly state: PushState;
  batch(index: number): BatchState;
  /** Saves a change to one batch. */
  keep(index: number, change: Partial<BatchState>): Promise<void>;
  /** Saves that a batch becomes several. */
  split(index: number, limits: BatchLimits): Promise<void>;
  emit(event: PushEvent): void;
}

async function openRun(deps: PushDeps, records: RecordSet): Promise<Run> {
  const emit = (event: PushEvent): void => deps.onEvent?.(event);
  const known = await deps.journal.load();
  const root = rootOf(records.leaves);
  const count = records.leaves.length;
  if (known !== null && (known.root !== root || known.records !== count)) throw new PushMismatchError();
  let state = known ?? (await newState(deps, records, root));
  const save = async (next: PushState): Promise<void> => {
    await deps.journal.save(next);
    state = next;
  };
  const settled = state.batches.filter(isSettled);
  emit({
    type: "push.opened",
    records: count,
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
    keep: (index, change) => save(replaceBatch(state, index, change)),
    split: (index, limits) => {
      const { first, count: size } = batchAt(state, index);
      const ranges = planBatches(records.lengths.slice(first, first + size), limits);
      return save(
        splitBatch(
          state,
          index,
          ranges.map((each) => ({ ...each, first: first + each.first })),
        ),
      );
    },
    emit,
  };
}

async function newState(deps: PushDeps, records: RecordSet, root: string): Promise<PushState> {
  const { body } = await retryUntil(patienceOf(deps), () => deps.client.sealContext());
  const { recordsPerBatch } = deps;
  const isBulk =
    recordsPerBatch === undefined &&
    records.lengths.length > requestLimits.recordsMax &&
    bulkOf(deps) !== null;
  const limits = isBulk
    ? bulkLimits
    : { ...requestLimits, recordsMax: recordsPerBatch ?? requestLimits.recordsMax };
  return {
    v: 1,
    business_uuid: body.business_uuid,
    records: records.leaves.length,
    root,
    batches: planBatches(records.lengths, limits).map((range) => ({
      ...range,
      sealed: null,
      result: null,
      ...(isBulk ? { bulk: { upload_id: null } } : {}),
    })),
  };
}

function bulkOf({ client }: PushDeps): UploadingClient | null {
  const { requestUpload, sendFile, importFile } = client;
  return requestUpload && sendFile && importFile ? { requestUpload, sendFile, importFile } : null;
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
  if (run.batch(index).bulk !== undefined && !(await upload(run, index))) return await accept(run, index);
  for (let seals = 0; ; seals += 1) {
    if (run.batch(index).sealed === null) await sealAndKeep(run, index, seals > 0);
    try {
      return await sendBatch(run, index);
    } catch (error) {
      if (isUploadGone(error) && run.batch(index).bulk !== undefined && seals + 1 < sealsMax) {
        await run.keep(index, { bulk: { upload_id: null } });
        await upload(run, index);
        continue;
      }
      const most = isSeqTaken(error) ? seqsMax : sealsMax;
      if (!isSealRefusal(error) || seals + 1 >= most) throw error;
      if ((await readStatus(run, index)) !== null) return;
      // The decision is not saved separately: after a crash here, the next run finds the refused seal, sends it again and
      // returns to this line.
      await sealAndKeep(run, index, true);
    }
  }
}

/** Uploads the batch's file unless the service has it (Q5); false if it became several batches instead. */
async function upload(run: Run, index: number): Promise<boolean> {
  const { bulk, first, count } = run.batch(index);
  if (bulk === undefined || bulk.upload_id !== null) return true;
  const client = bulkOf(run.deps);
  if (client === null) throw new Error("The client has no bulk routes.");
  run.emit({ type: "batch.uploading", batch: index, records: count });
  const file = await run.records.bulkFile(first, count);
  const uploaded = await uploadFile({ client, patience: run.patience, runId: run.deps.runId }, file).catch(
    (error: unknown) => {
      if (isBulkOffered(error)) throw error;
      return null;
    },
  );
  if (uploaded === null) {
    await run.split(index, requestLimits);
    return false;
  }
  await run.keep(index, { bulk: { upload_id: uploaded } });
  run.emit({ type: "batch.uploaded", batch: index, records: count });
  return true;
}

/** The upload has expired, or its file was deleted. */
function isUploadGone(error: unknown): boolean {
  return error instanceof SvcProblemError && (error.status === 404 || error.code === "upload_conflict");
}

function isSealRefusal(error: unknown): boolean {
  return isSeqTaken(error) || (error instanceof SvcProblemError && error.code === "seal_invalid");
}

/** Another push of the key was accepted first. After the greatest seq that there is, no other one helps. */
function isSeqTaken(error: unknown): boolean {
  return (
    error instanceof SvcProblemError &&
    error.code === "seq_not_increasing" &&
    error.problem["last_seq"] !== Number.MAX_SAFE_INTEGER
  );
}

async function sealAndKeep(run: Run, index: number, again: boolean): Promise<void> {
  const { deps } = run;
  const { body: context } = await retryUntil(run.patience, () => deps.client.sealContext());
  const nowMs = deps.now();
  const { first, count } = run.batch(index);
  const sealed = await sealLeaves(
    run.records.leaves.slice(first, first + count),
    {
      businessUuid: run.state.business_uuid,
      certId: context.cert_id,
      aiPolicyVersion: context.ai_policy_version,
      recordType: "products",
      seq: nextSeq(run.state, context.last_seq),
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

function sealedOf(run: Run, index: number) {
  const { sealed } = run.batch(index);
  if (sealed === null) throw new Error(`Batch ${index} is not sealed.`);
  return sealed;
}

async function sendBatch(run: Run, index: number): Promise<void> {
  const sealed = sealedOf(run, index);
  const { first, count, bulk } = run.batch(index);
  const idempotencyKey = `${sealed.push_id}.${run.deps.runId}`;
  const client = bulkOf(run.deps);
  const body =
    bulk === undefined ? publishBody(sealed.batch_seal, await run.records.read(first, count)) : null;
  const uploadId = bulk?.upload_id ?? "";
  const answer = await retryUntil(run.patience, () => {
    if (body !== null) return run.deps.client.publishProducts({ body, idempotencyKey });
    if (client === null) throw new Error("The client has no bulk routes.");
    return client.importFile({ uploadId, batchSeal: sealed.batch_seal, idempotencyKey });
  });
  run.emit({ type: "batch.sent", batch: index, push_id: sealed.push_id, records: count });
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
      counts: status.counts,
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

// The result of a batch, from the service's answers.

interface ReadingOfResults {
  readonly deps: Pick<PushDeps, "client">;
  readonly patience: Patience;
}

/** The result of a batch that was answered at once. */
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

/** The result of a batch that was processed afterwards, with its rejected records. */
async function queuedResult(
  { deps, patience }: ReadingOfResults,
  status: PushStatus,
  state: BatchResult["state"],
): Promise<BatchResult> {
  const { accepted, updated, rejected } = status.counts;
  const faults = rejected === 0 ? [] : await readFaults({ deps, patience }, status.push_id);
  const reasons = [...status.held_reasons, ...(status.error === null ? [] : [status.error])];
  return { state, accepted, updated, rejected, faults, reasons };
}

async function readFaults(
  { deps, patience }: ReadingOfResults,
  pushId: string,
): Promise<BatchResult["faults"]> {
  const faults: BatchResult["faults"][number][] = [];
  let cursor: string | null = null;
  do {
    const page: { outcome: string; cursor?: string } = {
      outcome: "rejected",
      ...(cursor === null ? {} : { cursor }),
    };
    const { body } = await retryUntil(patience, () => deps.client.pushStatus(pushId, page));
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

// What a push needs, and what it reports while it runs.

export type PushEvent =
  | {
      readonly type: "push.opened";
      readonly records: number;
      readonly batches: number;
      readonly settled_batches: number;
      readonly settled_records: number;
    }
  | {
      readonly type: "batch.uploading" | "batch.uploaded";
      readonly batch: number;
      readonly records: number;
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
      readonly counts: PushStatus["counts"];
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
  readonly client: Pick<SvcClient, "publishProducts" | "pushStatus" | "sealContext"> &
    Partial<UploadingClient>;
  readonly key: SigningKey;
  readonly journal: PushJournal;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** How long to wait for an unavailable service before the push stops; it can then be run again. */
  readonly patienceMs: number;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
  /** Records in a batch; if it is given, no bulk files are used. */
  readonly recordsPerBatch?: number;
  readonly onEvent?: (event: PushEvent) => void;
}
