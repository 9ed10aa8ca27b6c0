// What publishing some records would come to: the service judges them by all its checks, and changes nothing. More than a
// batch may have are uploaded and judged as one file, as they would be published; a service that does not offer that judges
// batches.

import type { SealContext } from "../protocol/wire/push.ts";
import {
  bulkLimits,
  planBatches,
  publishBody,
  requestLimits,
  type SealedBatch,
  sealLeaves,
} from "./batch.ts";
import { type BulkClient, isBulkOffered, uploadFile, type ValidationPage } from "./bulk.ts";
import type { ValidationOutcome } from "./business-answers.ts";
import type { BusinessClient } from "./business-client.ts";
import { type BatchResult, faultsKeptMax } from "./push-state.ts";
import type { RecordSet } from "./record-set.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { SigningKey } from "./signing-key.ts";

type FileClient = Pick<BulkClient, "requestUpload" | "sendFile" | "validateImport">;

export interface ValidationDeps extends Omit<Patience, "onWaiting"> {
  readonly client: Pick<BusinessClient, "sealContext" | "validateProducts"> & Partial<FileClient>;
  readonly key: SigningKey;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
  readonly onWaiting?: Patience["onWaiting"];
  /** Called after each batch or file with the number of records judged so far. */
  readonly onJudged?: (records: number) => void;
}

export interface Validation extends Omit<BatchResult, "state"> {
  /** Whether some of it would be held until an owner or admin confirms it. */
  readonly held: boolean;
}

interface Judging {
  readonly deps: ValidationDeps;
  readonly patience: Patience;
  readonly context: SealContext;
  readonly records: RecordSet;
}

interface Range {
  readonly first: number;
  readonly count: number;
}

/**
 * Has the service judge records in batches or files, each as if it were the next to be published, and changes nothing;
 * gives how many would be accepted, updated and rejected, with their faults. Holds are decided for a push as a whole, so
 * more than one may be held differently when they are published. Rejects with the errors of the client, passing ones once
 * the patience is over.
 */
export async function validateRecords(deps: ValidationDeps, records: RecordSet): Promise<Validation> {
  const patience: Patience = { ...deps, onWaiting: deps.onWaiting ?? (() => {}) };
  const { body: context } = await retryUntil(patience, () => deps.client.sealContext());
  const judging = { deps, patience, context, records };
  const sum = new Sum();
  const answers = records.leaves.length > requestLimits.recordsMax ? judgeFiles : judgeBatches;
  for await (const { first, count, pages } of answers(judging)) {
    sum.add(first, pages);
    deps.onJudged?.(first + count);
  }
  return sum.whole();
}

type Answer = Pick<ValidationOutcome, "held" | "held_reasons" | "counts" | "results">;

interface JudgedRange extends Range {
  /** The first says all but the results of the others. */
  readonly pages: readonly Answer[];
}

async function* judgeBatches(judging: Judging, within?: Range): AsyncGenerator<JudgedRange, void> {
  const { deps, patience, records } = judging;
  const { first: from, count: all } = within ?? { first: 0, count: records.lengths.length };
  for (const each of planBatches(records.lengths.slice(from, from + all), requestLimits)) {
    const range = { first: from + each.first, count: each.count };
    const sealed = await sealRange(judging, range);
    const body = publishBody(sealed.batch_seal, await records.read(range.first, range.count));
    const idempotencyKey = `validate.${sealed.push_id}.${deps.runId}`;
    const { body: answer } = await retryUntil(patience, () =>
      deps.client.validateProducts({ body, idempotencyKey }),
    );
    yield { ...range, pages: [answer] };
  }
}

async function* judgeFiles(judging: Judging): AsyncGenerator<JudgedRange, void> {
  const client = fileClientOf(judging.deps);
  for (const range of planBatches(judging.records.lengths, bulkLimits)) {
    const pages = client === null ? null : await judgeFile(judging, client, range);
    if (pages === null) yield* judgeBatches(judging, range);
    else yield { ...range, pages };
  }
}

function fileClientOf({ client }: ValidationDeps): FileClient | null {
  const { requestUpload, sendFile, validateImport } = client;
  return requestUpload && sendFile && validateImport ? { requestUpload, sendFile, validateImport } : null;
}

/** Null where the service takes no files, or judges none. */
async function judgeFile(judging: Judging, client: FileClient, range: Range): Promise<Answer[] | null> {
  const { deps, patience, records } = judging;
  const pages: Answer[] = [];
  try {
    const file = await records.bulkFile(range.first, range.count);
    const uploadId = await uploadFile({ client, patience, runId: deps.runId }, file);
    let cursor: string | null = null;
    do {
      // Sealed for each page: a seal is accepted for five minutes.
      const { batch_seal: batchSeal, push_id } = await sealRange(judging, range);
      const request = { uploadId, batchSeal, idempotencyKey: `validate.${push_id}.${deps.runId}` };
      const page: ValidationPage = { outcome: "rejected", ...(cursor === null ? {} : { cursor }) };
      const { body } = await retryUntil(patience, () => client.validateImport(request, page));
      pages.push(body);
      cursor = body.next_cursor;
    } while (cursor !== null && pages.flatMap(({ results }) => results).length < faultsKeptMax);
  } catch (error) {
    if (!isBulkOffered(error)) return null;
    throw error;
  }
  return pages;
}

function sealRange({ deps, context, records }: Judging, { first, count }: Range): Promise<SealedBatch> {
  const facts = {
    businessUuid: context.business_uuid,
    certId: context.cert_id,
    aiPolicyVersion: context.ai_policy_version,
    recordType: "products",
    // Nothing consumes it, so every batch may have the same one.
    seq: Math.min(Number.MAX_SAFE_INTEGER, (context.last_seq ?? 0) + 1),
    sealedAtMs: deps.now(),
  };
  return sealLeaves(records.leaves.slice(first, first + count), facts, deps.key);
}

class Sum {
  readonly #counts = { accepted: 0, updated: 0, rejected: 0 };
  readonly #faults: BatchResult["faults"][number][] = [];
  readonly #reasons: BatchResult["reasons"][number][] = [];
  #held = false;

  add(first: number, pages: readonly Answer[]): void {
    const [whole] = pages;
    if (whole === undefined) return;
    for (const name of ["accepted", "updated", "rejected"] as const) this.#counts[name] += whole.counts[name];
    for (const { leaf_index, outcome, record_id, errors } of pages.flatMap(({ results }) => results))
      if (outcome === "rejected" && this.#faults.length < faultsKeptMax)
        this.#faults.push({ leaf_index: first + leaf_index, record_id, errors });
    this.#held ||= whole.held;
    this.#reasons.push(...whole.held_reasons);
  }

  whole(): Validation {
    return { ...this.#counts, held: this.#held, faults: this.#faults, reasons: this.#reasons };
  }
}
