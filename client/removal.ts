// Withdrawal and deletion: a document that takes one record out of serving, sealed over its exact bytes (specification,
// «Seals»).

import { hashOf, utf8 } from "../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { collectionNames, formatTimestamp, recordType } from "../protocol/identifiers.ts";
import { withdrawalsMax } from "../protocol/limits.ts";
import type { Problem } from "../protocol/problem.ts";
import { sealPayload } from "../protocol/seal.ts";
import type { SealContext } from "../protocol/wire/push.ts";
import { Semaphore } from "../std/semaphore.ts";
import type { RemovalOutcome } from "./business-answers.ts";
import type { BusinessClient, WithdrawalsRequest } from "./business-client.ts";
import { SvcProblemError } from "./errors.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { SigningKey } from "./signing-key.ts";

export interface RemovalFacts {
  readonly recordId: string;
  readonly action: "withdraw" | "delete";
  /** The certificate and the AI policy version in force, as the seal context names them. */
  readonly certId: string;
  readonly aiPolicyVersion: number;
  /** Unix milliseconds; within five minutes of the service's clock, and after the record was sealed. */
  readonly atMs: number;
}

export interface SealedRemoval {
  /** Path name of the record's type. */
  readonly type: string;
  readonly action: "withdraw" | "delete";
  /** The exact bytes of the document. */
  readonly document: Uint8Array;
  readonly seal: Envelope;
}

/** Whether a text is the id of a record that can be removed, as opposed to a business's own id. */
export function isRecordIdText(text: string): boolean {
  return collectionNames.some((name) => name === recordType(text));
}

/** Seals a withdrawal or deletion with an integration key. Throws RangeError for what is not a record id. */
export async function sealRemoval(facts: RemovalFacts, key: SigningKey): Promise<SealedRemoval> {
  const { recordId, action, atMs } = facts;
  const collection = collectionNames.find((name) => name === recordType(recordId));
  if (collection === undefined)
    throw new RangeError(`${JSON.stringify(recordId)} is not the id of a record.`);
  const at = formatTimestamp(atMs);
  const document = utf8(JSON.stringify({ record_id: recordId, action, at }));
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: facts.certId,
    hash: hashOf(document),
    sealed_at: at,
    record_type: collection,
    ai_policy_version: facts.aiPolicyVersion,
  });
  const payloadType = payloadTypes["seal.v2"];
  const sig = await key.sign(pae(payloadType, payload));
  return {
    type: collection.replaceAll("_", "-"),
    action,
    document,
    seal: makeEnvelope(payloadType, payload, [{ keyid: key.keyId, sig }]),
  };
}

// Takes any number of records out of serving, each by a document of its own, many at a time: withdrawals by the fifty in a
// request, which one signature and one place in the request rate of the key stand for.

export interface RemovalDeps {
  readonly client: Pick<BusinessClient, "remove" | "withdraw" | "sealContext">;
  readonly key: SigningKey;
  readonly patience: Patience;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
}

/** Requests at the same time: the service commits what arrives together in one write. */
const requestsAtOnce = 4;

/**
 * Withdraws or deletes records by their record ids, in no particular order. Rejects with the first error once the requests that
 * are under way have been answered; what was removed before it was told to `onRemoved`. Run again, it removes nothing twice.
 */
export async function removeRecords(
  deps: RemovalDeps,
  { recordIds, action }: { readonly recordIds: readonly string[]; readonly action: "withdraw" | "delete" },
  onRemoved: (outcome: RemovalOutcome) => void = () => {},
): Promise<void> {
  const run: Run = { deps, action, sealing: createSealing(deps, action), onRemoved };
  const isMany = action === "withdraw" && recordIds.length > 1;
  const waiting = isMany ? slices(recordIds, withdrawalsMax) : recordIds.map((id) => [id]);
  await new Semaphore(requestsAtOnce).all(
    waiting.map((part) => () => (isMany ? withdrawPart(run, part) : removeOne(run, part[0] ?? ""))),
  );
}

function slices(ids: readonly string[], length: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / length) }, (_, at) =>
    ids.slice(at * length, (at + 1) * length),
  );
}

interface Run {
  readonly deps: RemovalDeps;
  readonly action: "withdraw" | "delete";
  readonly sealing: Sealing;
  readonly onRemoved: (outcome: RemovalOutcome) => void;
}

async function removeOne(run: Run, recordId: string, again = false): Promise<void> {
  const {
    deps: { client, runId },
    action,
    sealing,
    onRemoved,
  } = run;
  const sealed = await sealing.seal(recordId);
  const idempotencyKey = `${action}.${recordId}.${runId}${again ? ".again" : ""}`;
  try {
    onRemoved((await retryUntil(sealing.patience, () => client.remove({ ...sealed, idempotencyKey }))).body);
  } catch (error) {
    if (again || !(error instanceof SvcProblemError) || error.code !== "seal_invalid") throw error;
    sealing.renew();
    await removeOne(run, recordId, true);
  }
}

/**
 * Withdraws up to fifty records. What is refused for now is sent again under another key, and once what was sealed by what is in
 * force no more; a request without an answer is sent again exactly as it was.
 */
async function withdrawPart({ deps, sealing, onRemoved }: Run, recordIds: readonly string[]): Promise<void> {
  const { client, runId } = deps;
  let left = recordIds;
  let turn = 0;
  let hasRenewed = false;
  let sent: WithdrawalsRequest | null = null;
  const send = async (): Promise<void> => {
    while (left.length > 0) {
      const withdrawals = sent?.withdrawals ?? (await Promise.all(left.map((id) => sealing.seal(id))));
      sent ??= { withdrawals, idempotencyKey: `withdrawals.${left[0]}.${runId}.${turn}` };
      const { results } = (await client.withdraw(sent)).body;
      turn += 1;
      sent = null;
      const problems = new Map<string, Problem>();
      for (const [at, id] of left.entries()) {
        const result = results[at];
        if (result === undefined) throw new Error("The answer has fewer results than documents were sent.");
        if ("problem" in result) problems.set(id, result.problem);
        else onRemoved(result);
      }
      left = [...problems.keys()];
      const refusal = [...problems.values()].find(({ code }) => hasRenewed || code !== "seal_invalid");
      if (refusal !== undefined) throw refusedWith(refusal);
      if (left.length > 0) sealing.renew();
      hasRenewed = true;
    }
  };
  await retryUntil(sealing.patience, send);
}

function refusedWith(problem: Problem): SvcProblemError {
  const { status, code, detail, retry_after_seconds: retryAfterSeconds = null } = problem;
  return new SvcProblemError({ status, code, detail, retryAfterSeconds, problem: { ...problem } });
}

interface Sealing {
  readonly patience: Patience;
  readonly seal: (recordId: string) => Promise<SealedRemoval>;
  /** What is in force is read again before the next seal. */
  readonly renew: () => void;
}

/** Reads once what a seal must name, and again when the service says that it was replaced meanwhile. */
function createSealing(
  { client, key, patience: given }: RemovalDeps,
  action: "withdraw" | "delete",
): Sealing {
  const patience: Patience = {
    ...given,
    onWaiting: (waiting) => isPace(waiting.error) || given.onWaiting(waiting),
  };
  const read = async (): Promise<SealContext> =>
    (await retryUntil(patience, () => client.sealContext())).body;
  let known: Promise<SealContext> | null = null;
  return {
    patience,
    seal: async (recordId) => {
      known ??= read();
      const context = await known;
      const facts = { certId: context.cert_id, aiPolicyVersion: context.ai_policy_version };
      return await sealRemoval({ recordId, action, ...facts, atMs: patience.now() }, key);
    },
    renew: () => {
      known = null;
    },
  };
}

/** Many requests at a time find the request rate of the key: that is their pace, and nobody needs to be told. */
function isPace(error: Error): boolean {
  return error instanceof SvcProblemError && error.problem["reason"] === "request_rate";
}
