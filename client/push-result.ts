// The result of a batch, from the service's answers.

import type { PushDeps } from "./push-event.ts";
import { type BatchResult, faultsKeptMax } from "./push-state.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { InlineOutcome, PublishOutcome, PushStatus } from "./service-client.ts";

interface ReadingOfResults {
  readonly deps: Pick<PushDeps, "client">;
  readonly patience: Patience;
}

/** The result of a batch that was answered at once. */
export function inlineResult({ results }: InlineOutcome): BatchResult {
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
export async function queuedResult(
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
