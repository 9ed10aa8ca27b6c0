// What publishing some records would come to: the service judges them by all its checks, and changes nothing.

import { planBatches, publishBody, requestLimits, sealLeaves } from "./batch.ts";
import type { BusinessClient } from "./business-client.ts";
import type { BatchResult } from "./push-state.ts";
import { faultsKeptMax } from "./push-state.ts";
import type { RecordSet } from "./record-set.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { SigningKey } from "./signing-key.ts";

export interface ValidationDeps extends Omit<Patience, "onWaiting"> {
  readonly client: Pick<BusinessClient, "sealContext" | "validateProducts">;
  readonly key: SigningKey;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
  readonly onWaiting?: Patience["onWaiting"];
  /** Called after each batch with the number of records judged so far. */
  readonly onJudged?: (records: number) => void;
}

export interface Validation extends Omit<BatchResult, "state"> {
  /** Whether some of it would be held until an owner or admin confirms it. */
  readonly held: boolean;
}

/**
 * Judges the records in batches, each as if it were the next to be published. Holds are decided for a push as a whole, so
 * more than one batch may be held differently when it is published.
 */
export async function validateRecords(deps: ValidationDeps, records: RecordSet): Promise<Validation> {
  const patience: Patience = { ...deps, onWaiting: deps.onWaiting ?? (() => {}) };
  const { body: context } = await retryUntil(patience, () => deps.client.sealContext());
  const total = { accepted: 0, updated: 0, rejected: 0, held: false };
  const faults: BatchResult["faults"][number][] = [];
  const reasons: BatchResult["reasons"][number][] = [];
  for (const { first, count } of planBatches(records.lengths, requestLimits)) {
    const sealed = await sealLeaves(
      records.leaves.slice(first, first + count),
      {
        businessUuid: context.business_uuid,
        certId: context.cert_id,
        aiPolicyVersion: context.ai_policy_version,
        recordType: "products",
        // Nothing consumes it, so every batch may have the same one.
        seq: deps.now(),
        sealedAtMs: deps.now(),
      },
      deps.key,
    );
    const body = publishBody(sealed.batch_seal, await records.read(first, count));
    const idempotencyKey = `validate.${sealed.push_id}.${deps.runId}`;
    const { body: answer } = await retryUntil(patience, () =>
      deps.client.validateProducts({ body, idempotencyKey }),
    );
    for (const { leaf_index, outcome, record_id, errors } of answer.results) {
      if (outcome === "accepted" || outcome === "updated" || outcome === "rejected") total[outcome] += 1;
      if (outcome === "rejected" && faults.length < faultsKeptMax)
        faults.push({ leaf_index: first + leaf_index, record_id, errors });
    }
    total.held ||= answer.held;
    reasons.push(...answer.held_reasons);
    deps.onJudged?.(first + count);
  }
  return { ...total, faults, reasons };
}
