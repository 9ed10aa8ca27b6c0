// POST /v1/publish/{type}: a sealed batch becomes a push, at most once.
//   W1. Checks are made in the specification's order, and nothing is stored before the mandate, the seal and seq have been
//       judged. The last ones (charge, verified business, fair use) are judged once the batch is staged, by the actors that count:
//       what they refuse is never accepted, its staged bytes are dropped, and one that fair use refuses is given back its charge.
//   W2. Record bytes are stored before seq is used up, and seq before the push exists; each step is idempotent, so a
//       resend repairs a crash between any two. The records are judged for the hold while they are stored, which changes
//       nothing.
//   W3. An existing push skips seq, skew, certificate, AI policy version and, in the same body, caps: it is resumed
//       under any key.
//   W4. A batch of up to 50 records is answered once its records are settled: stored, with their versions. An index is
//       waited for briefly and never required (C3 in actors/push/process-chunk.ts). A batch that is not settled in time
//       is refused as unavailable, and sending it again continues it.
//
// The table lists what is asked of which actor, and what each step refuses. The signature and its key have already been
// judged (authentication/authenticate.ts). {@link publishBatch} proceeds in this order, with the steps that it shares with the import of
// a file (publish-batch.ts, accept-batch.ts) and with a validation.
//   | step                              | asked of | command                                 | refused as |
//   |-----------------------------------|----------|-----------------------------------------|------------|
//   | Idempotency-Key                   | key      | idempotency.begin                       | request_invalid, idempotency_key_reused, idempotency_in_progress |
//   | type                              |          |                                         | type_not_publishable |
//   | key and mandate                   | business | publishing.facts, register.read         | key_unknown, mandate_missing |
//   | what the mandate covers, and whom |          |                                         | out_of_scope, source_not_allowed |
//   | caps of the mandate               | key      | caps.check                              | rate_limited |
//   | verified business                 |          |                                         | business_not_verified |
//   | body                              |          |                                         | request_invalid, record_too_large, seal_invalid |
//   | batch seal, Merkle root           | business | register.read, of another key           | seal_invalid |
//   | whether the push is known (W3)    | push     | push.status                             | |
//   | key, certificate, AI policy       | business | register.read, of an older certificate  | seal_invalid |
//   | seq                               | key      | seq.check                               | seq_not_increasing |
//   | charge, once the batch is stored  | key      | push.charge                             | rate_limited, seq_not_increasing, key_unknown |
//   | fair use and hold                 | business | push.admit                              | rate_limited, business_not_verified |
//   | the charge, of one not admitted   | key      | push.uncharge                           | |
//   | acceptance                        | push     | push.accept                             | unavailable |
//   | settlement, of up to 50 records   | push     | push.await                              | unavailable |
//   | what was refused, for its attempts | business | refusal.keep                            | |
//   | the answer                        | key      | idempotency.settle, or .release         | |

import type { AttemptCategory, PlannedVersion } from "../../actors/messages/admission.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { type ActorRef, businessRef, keyRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { toHex } from "../../protocol/bytes.ts";
import { inlineRecordsMax } from "../../protocol/limits.ts";
import { listingsOf } from "../../protocol/price-shock.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { type JudgedRecord, judging, type RecordRules } from "../../protocol/records/judge-record.ts";
import { boundedText } from "../../protocol/result.ts";
import { duplicateInBatch, type InlineOutcome, type PublishOutcome } from "../../protocol/wire/push.ts";
import { inSteps, type Pace, type PaceOf } from "../../std/work.ts";
import {
  type Answer,
  answerJson,
  type Caller,
  isRefused,
  type Outcome,
  type Refused,
  refusedWith,
  type SentRequest,
} from "../answer.ts";
import { keptOf, sealedUnder } from "../register/find-mandate.ts";
import { decideOwnNames } from "../register/home-evidence.ts";
import { acceptBatch, awaitSettled, backgroundUnavailable, reportOf } from "./accept-batch.ts";
import { answerOnce, claimOf } from "./idempotency.ts";
import type { PublishServices } from "./publish-batch.ts";
import {
  type Batch,
  type Gate,
  type GateRequest,
  openBatch,
  type PublishBody,
  parsePublishBody,
  passGate,
  publishedType,
  stageBatch,
} from "./publish-batch.ts";
import { pushStatus, wholeStatus } from "./push-status.ts";

export interface PublishRequest extends SentRequest {
  /** The collection named in the path, already mapped: `products`, `business_files`… */
  readonly collection: string;
}

/** POST /v1/publish/{type}: the outcomes of up to 50 records, or 202 with the push. Throws {@link StoreError}. */
export async function publishBatch(deps: PublishServices, request: PublishRequest): Promise<Outcome> {
  const { actors } = deps;
  const { party, key } = request.caller;
  const claim = claimOf(actors, request, keyRef(party.uuid, key.key_id));
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const judged = await judgeBatch(deps, request);
    if (isRefused(judged)) return keepRefused(deps, request, judged);
    const { gate, body, batch, push } = judged;
    const records = body.records.length;
    const accepted = await acceptBatch(deps, request, gate, {
      sealed: batch,
      source: { source: "api" },
      bytes: request.body.length,
      stage: () => stageBatch(deps, push, { body, batch }),
      records: body.records,
    });
    if (isRefused(accepted)) return keepRefused(deps, { ...request, sealed: batch, records }, accepted);
    return answerBatch(deps, push, { records, report: accepted.report });
  });
}

// The answer to a sealed batch: its outcomes if it is small enough to be processed within the request, otherwise its
// status.

/** `report` is what is already known about the push, if anything. */
async function answerBatch(
  { actors, background }: PublishServices,
  push: ActorRef<"push">,
  { records, report }: { readonly records: number; readonly report: PushReport | null },
): Promise<Outcome> {
  if (records <= inlineRecordsMax) return answerSettled(actors, push);
  // Another request may have had it accepted in the meantime.
  const now = report ?? (await untilHeld(actors, push, reportOf(await actors.ask(push, wholeStatus))));
  if (now.facts.mode === "inline") return answerSettled(actors, push);
  const isWaiting = now.state === "queued" || now.state === "processing";
  if (isWaiting && background?.isAvailable() === false) return backgroundUnavailable;
  return answerJson(202, pushStatus(now), { location: `/v1/pushes/${now.facts.push_id}` });
}

/** A push that is to be held is answered as held, with what was rejected of it: that takes no longer than judging its records. */
async function untilHeld(actors: ActorSystem, push: ActorRef<"push">, now: PushReport): Promise<PushReport> {
  const { state, held_reasons, hold_decision: decision } = now;
  if (state !== "queued" || held_reasons.length === 0 || decision !== null) return now;
  await awaitSettled(actors, push);
  return reportOf(await actors.ask(push, wholeStatus));
}

async function answerSettled(actors: ActorSystem, push: ActorRef<"push">): Promise<Answer> {
  const { facts, state, held_reasons, results } = await awaitSettled(actors, push);
  const body: InlineOutcome = {
    batch_id: facts.push_id,
    seq: facts.seq,
    held: state === "held",
    ...(held_reasons.length > 0 ? { held_reasons } : {}),
    results,
  };
  return answerJson(200, body);
}

// Keeps what was refused of a business's batches, for its push attempts.
//   K1. Only what comes from an authenticated request is kept: this is called behind every check of the request itself.
//   K2. The refusal is answered whether or not it could be kept, and as it would be otherwise.
//   K3. What says nothing about the batch is not kept: failures that pass, and the rules of the Idempotency-Key.

/** The request, and what is known of its batch. */
export interface RefusedAttempt {
  readonly caller: Caller;
  readonly collection: string;
  readonly source?: "api" | "bulk";
  readonly sealed?: { readonly pushId: string; readonly seal: { readonly seq: number } };
  readonly records?: number;
}

const categories: ReadonlyMap<ProblemCode, AttemptCategory> = new Map([
  ["request_invalid", "validation"],
  ["record_too_large", "validation"],
  ["type_not_publishable", "validation"],
  // What an import says of its upload.
  ["not_found", "validation"],
  ["upload_conflict", "validation"],
  ["seal_invalid", "seal"],
  ["seq_not_increasing", "seal"],
  ["rate_limited", "caps"],
  ["key_unknown", "authority"],
  ["mandate_missing", "authority"],
  ["out_of_scope", "authority"],
  ["source_not_allowed", "authority"],
  ["business_not_verified", "authority"],
] as const);

/** How long the answer may wait for it (K2). */
const keptWithinMs = 2_000;

/** Returns the refusal. */
export async function keepRefused(
  { actors, clock, crypto }: PublishServices,
  attempt: RefusedAttempt,
  refusal: Refused,
): Promise<Refused> {
  const { code, reason, detail } = refusal.problem;
  const category = categories.get(code);
  if (category === undefined) return refusal;
  const { caller, collection, source = "api", sealed } = attempt;
  const refused = {
    at_ms: clock.now(),
    id: `ref_${toHex(crypto.randomBytes(12))}`,
    category,
    code,
    reason: reason ?? null,
    detail: boundedText(detail),
    type: collection,
    source,
    key_id: caller.key.key_id,
    records: attempt.records ?? refusal.records ?? null,
    push_id: sealed?.pushId ?? null,
    seq: sealed?.seal.seq ?? null,
  };
  const command = { type: "refusal.keep", refused } as const;
  await actors.ask(businessRef(caller.party.uuid), command, { timeoutMs: keptWithinMs }).catch(() => null);
  return refusal;
}

// The first checks of a sealed batch, for publishing and for validating alike: up to the seal and the records that it
// covers (`publish` shows them in order). They change nothing.

/** Somebody waits for a small batch; a large one is queued in any case. */
const smallBatchBytes = 100_000;

/** At which a batch is judged that is to be published. A validation costs nothing, and goes behind what does. */
export function paceOfBatch(
  { inline, queued }: { readonly inline: PaceOf; readonly queued: PaceOf },
  { caller, body }: Pick<GateRequest, "caller" | "body">,
): Pace {
  const paceOf = body.length > smallBatchBytes ? queued : inline;
  return paceOf(caller.party.uuid);
}

/** A batch whose seal is genuine and covers exactly its records. */
export interface JudgedBatch {
  readonly gate: Gate;
  readonly body: PublishBody;
  readonly batch: Batch;
  readonly push: ActorRef<"push">;
}

/** Judges a batch up to its records, and changes nothing; the table above says what is refused. */
export async function judgeBatch(
  deps: PublishServices,
  request: GateRequest,
): Promise<JudgedBatch | Refused> {
  if (request.collection !== publishedType) return notPublishable;
  // The key, its mandate and what that covers.
  const gate = await passGate(deps, request);
  if (isRefused(gate)) return gate;
  // The body: batch seal and Merkle root.
  const body = await parsePublishBody(request.body, deps.pace);
  if (isRefused(body)) return body;
  const batch = await openBatch(deps, request, body);
  if (isRefused(batch)) return { ...batch, records: body.records.length };
  return { gate, body, batch, push: pushRef(request.caller.party.uuid, batch.pushId) };
}

export const notPublishable = refusedWith(
  "type_not_publishable",
  "Only products are published through this interface.",
);

// How the records of a push would end if it were published now, for validations: record by record, as its chunks would
// judge them.
//   J1. All faults of every record are told while they are at most {@link faultsInAnswerMax} in one answer, then the first
//       fault of each further one.

/** A leaf as the push would judge it: its record, unless it will be rejected. */
export type JudgedLeaf = Pick<PublishOutcome, "record_id" | "errors"> & {
  /** Null for a leaf that will be rejected. */
  readonly listings: ReturnType<typeof listingsOf> | null;
};

/** Maximum number of faults in one answer (J1). */
const faultsInAnswerMax = 10_000;

/** Judges the leaves of one push, in their order: of two records of one product the first counts. */
export function leafJudge(
  deps: PublishServices,
  { facts, mandates }: Pick<Gate, "facts" | "mandates">,
  seal: { readonly sealed_at: string },
): (records: readonly Uint8Array[], limit?: FaultLimit) => Promise<readonly JudgedLeaf[]> {
  const [{ sealed }] = mandates;
  const uuid = sealed.business_uuid;
  const rules: RecordRules = {
    collection: publishedType,
    countries: keptOf(sealedUnder(mandates, seal)).map(({ countries }) => countries),
    lists: deps.lists,
    ownNames: decideOwnNames(deps.lists, uuid, facts),
    brands: deps.lists.certified.brandsOf(uuid),
  };
  const seen = new Set<string>();
  const leafOf = (judged: JudgedRecord): JudgedLeaf => {
    if (!judged.ok) return { record_id: null, errors: judged.faults, listings: null };
    const { record } = judged;
    const record_id = deps.recordIdOf(uuid, publishedType, String(record["business_product_id"]));
    if (seen.has(record_id)) return { record_id, errors: [duplicateInBatch], listings: null };
    seen.add(record_id);
    return { record_id, errors: [], listings: listingsOf(record) };
  };
  return async (records, limit = (leaf) => leaf) => {
    const leaves: JudgedLeaf[] = [];
    for (const bytes of records) {
      const due = deps.pace();
      if (due !== null) await due;
      const judged = inSteps(judging(bytes, rules), deps.pace);
      leaves.push(limit(leafOf(judged instanceof Promise ? await judged : judged)));
    }
    return leaves;
  };
}

/** The records that would be published, with their listings. */
export function plannedOf(
  leaves: readonly JudgedLeaf[],
): readonly (readonly [recordId: string, listings: NonNullable<JudgedLeaf["listings"]>])[] {
  return leaves.flatMap(({ record_id, listings }) =>
    record_id !== null && listings !== null ? [[record_id, listings] as const] : [],
  );
}

/** The results of the leaves, if nothing is held; `versions` are those of {@link plannedOf}, in the same order. */
export function unheldResults(
  leaves: readonly JudgedLeaf[],
  versions: readonly PlannedVersion[],
  firstLeaf = 0,
): readonly PublishOutcome[] {
  let planned = 0;
  return leaves.map(({ record_id, errors, listings }, offset): PublishOutcome => {
    const leaf_index = firstLeaf + offset;
    if (listings === null) return { leaf_index, outcome: "rejected", record_id, version: null, errors };
    const [version, isLive] = versions[planned] as PlannedVersion;
    planned += 1;
    return { leaf_index, outcome: isLive ? "updated" : "accepted", record_id, version, errors: [] };
  });
}

/** What a held push says of a record that it would publish: no version of it is published. */
export function asHeld(result: PublishOutcome): PublishOutcome {
  return result.outcome === "rejected" ? result : { ...result, outcome: "held", version: null };
}

type FaultLimit = <T extends Pick<PublishOutcome, "errors">>(result: T) => T;

/** Shortens the faults of results, or of judged leaves, that go into one answer (J1): what is not told is not kept either. */
export function faultLimit(): FaultLimit {
  let faults = 0;
  return (result) => {
    const { errors } = result;
    const told = faults + errors.length > faultsInAnswerMax ? errors.slice(0, 1) : errors;
    faults += told.length;
    return told.length === errors.length ? result : { ...result, errors: told };
  };
}
