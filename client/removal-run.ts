// Takes any number of records out of serving, each by a document of its own, many at a time.

import type { SealContext } from "../protocol/wire/push.ts";
import type { RemovalOutcome } from "./business-answers.ts";
import type { BusinessClient } from "./business-client.ts";
import { SvcProblemError } from "./errors.ts";
import { sealRemoval } from "./removal.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { SigningKey } from "./signing-key.ts";

export interface RemovalDeps {
  readonly client: Pick<BusinessClient, "remove" | "sealContext">;
  readonly key: SigningKey;
  readonly patience: Patience;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
}

/** Requests at the same time: the service commits what arrives together in one write. */
const removalsAtOnce = 16;

/**
 * Withdraws or deletes records by their record ids, in no particular order. Rejects with the first error once the requests that
 * are under way have been answered; what was removed before it was told to `onRemoved`. Run again, it removes nothing twice.
 */
export async function removeRecords(
  deps: RemovalDeps,
  { recordIds, action }: { readonly recordIds: readonly string[]; readonly action: "withdraw" | "delete" },
  onRemoved: (outcome: RemovalOutcome) => void = () => {},
): Promise<void> {
  const seal = createSealing(deps, action);
  const waiting = recordIds.values();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const recordId of waiting) {
      if (failures.length > 0) return;
      try {
        onRemoved(await seal(recordId));
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: removalsAtOnce }, work));
  if (failures.length > 0) throw failures[0];
}

/** Reads what a seal must name once, and again when the service says that it was replaced meanwhile. */
function createSealing(deps: RemovalDeps, action: "withdraw" | "delete") {
  const { client, key, runId } = deps;
  const patience: Patience = {
    ...deps.patience,
    onWaiting: (waiting) => isPace(waiting.error) || deps.patience.onWaiting(waiting),
  };
  const read = async (): Promise<SealContext> =>
    (await retryUntil(patience, () => client.sealContext())).body;
  let known: Promise<SealContext> | null = null;
  const send = async (recordId: string, again: boolean): Promise<RemovalOutcome> => {
    known ??= read();
    const context = await known;
    const facts = { certId: context.cert_id, aiPolicyVersion: context.ai_policy_version };
    const sealed = await sealRemoval({ recordId, action, ...facts, atMs: patience.now() }, key);
    const idempotencyKey = `${action}.${recordId}.${runId}${again ? ".again" : ""}`;
    try {
      return (await retryUntil(patience, () => client.remove({ ...sealed, idempotencyKey }))).body;
    } catch (error) {
      if (again || !(error instanceof SvcProblemError) || error.code !== "seal_invalid") throw error;
      known = null;
      return await send(recordId, true);
    }
  };
  return (recordId: string): Promise<RemovalOutcome> => send(recordId, false);
}

/** Many requests at a time find the request rate of the key: that is their pace, and nobody needs to be told. */
function isPace(error: Error): boolean {
  return error instanceof SvcProblemError && error.problem["reason"] === "request_rate";
}
