// POST /v1/publish/{type}?validate_only=true: what the batch would come to if it were published now.
//   V1. The checks are those of publishing, in the same order and with the same refusals (judge-batch.ts, accept-batch.ts). The caps and the
//       seq are judged and not used; nothing is stored, numbered or charged. Only the request's nonce is used.
//   V2. The Idempotency-Key must have its form and is not remembered: each validation judges the state at that moment, and
//       the key is free for the real request.
//   V3. The answer is bounded: all faults of every record while they are at most {@link faultsInAnswerMax}, then the first
//       fault of each further one.

import type { PlannedVersion, PreviewReply } from "../actors/messages/admission.ts";
import type { LeafAssignment } from "../actors/messages/business.ts";
import type { PushReport } from "../actors/messages/push.ts";
import { type ActorRef, businessRef, keyRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { listingsOf } from "../protocol/listings.ts";
import { judgeRecord, type RecordRules } from "../protocol/records/judge-record.ts";
import { duplicateInBatch, type PublishOutcome, type PushCounts } from "../protocol/wire/push.ts";
import type { ValidationOutcome } from "../protocol/wire/validation.ts";
import { judgeNewness } from "./accept-batch.ts";
import { answerJson, isRefused, type Outcome } from "./answer.ts";
import { type Background, inlineMaxOf } from "./background.ts";
import { type JudgeDeps, type JudgedBatch, judgeBatch } from "./judge-batch.ts";
import { decideOwnNames } from "./own-names.ts";
import type { PublishRequest } from "./publish.ts";
import {
  type AdmitDeps,
  admissionRefused,
  attemptsMax,
  earlierPlans,
  plannedLeavesMax,
} from "./publish-admit.ts";
import { publishedType } from "./publish-batch.ts";
import { claimOf } from "./publish-claim.ts";

export interface ValidateDeps extends JudgeDeps, Omit<AdmitDeps, "parsed"> {
  /** Absent where it is always available. */
  readonly background?: Background;
}

/** Maximum number of faults in one answer (V3). */
const faultsInAnswerMax = 10_000;
/** Number of records judged before the thread is yielded. */
const leavesPerStep = 50;
/** The results of two chunks, which is what a push reads at once. */
const resultsPerRead = 400;

export async function validateBatch(deps: ValidateDeps, request: PublishRequest): Promise<Outcome> {
  const { party, key } = request.caller;
  const claim = claimOf(deps.actors, request, keyRef(party.uuid, key.key_id));
  if (isRefused(claim)) return claim;
  const judged = await judgeBatch(deps, request);
  if (isRefused(judged)) return judged;
  const newness = await judgeNewness(deps, request, judged.gate, judged.batch);
  if (isRefused(newness)) return newness;
  if (newness.known !== null)
    return answerJson(200, await outcomeOfKnown(deps.actors, judged, newness.known));
  const leaves = await judgeLeaves(deps, judged);
  const preview = await askPreview(deps, judged, leaves);
  if (preview.status !== "admitted") return admissionRefused(preview);
  const results = resultsOf(leaves, preview);
  const held_reasons = preview.held_reasons;
  const held = held_reasons.length > 0;
  const isInline = leaves.length <= inlineMaxOf(deps.background);
  const mode = isInline ? "inline" : "queued";
  return answerJson(200, validation(judged, { known: false, mode, held, held_reasons, results }));
}

/** A leaf as the push would judge it: its record, unless it will be rejected. */
type JudgedLeaf = Pick<PublishOutcome, "record_id" | "errors"> & {
  /** Null for a leaf that will be rejected. */
  readonly listings: ReturnType<typeof listingsOf> | null;
};

async function judgeLeaves(
  deps: ValidateDeps,
  { body, gate: { facts, mandate } }: JudgedBatch,
): Promise<readonly JudgedLeaf[]> {
  const uuid = mandate.sealed.business_uuid;
  const rules: RecordRules = {
    collection: publishedType,
    countries: mandate.sealed.scope.countries,
    lists: deps.lists,
    ownNames: decideOwnNames(deps.lists, uuid, facts),
  };
  const seen = new Set<string>();
  const leaves: JudgedLeaf[] = [];
  for (const bytes of body.records) {
    if (leaves.length > 0 && leaves.length % leavesPerStep === 0) await deps.pause();
    const judged = judgeRecord(bytes, rules);
    if (!judged.ok) {
      leaves.push({ record_id: null, errors: judged.faults, listings: null });
      continue;
    }
    const { record } = judged;
    const record_id = deps.recordIdOf(uuid, publishedType, String(record["business_product_id"]));
    if (seen.has(record_id)) leaves.push({ record_id, errors: [duplicateInBatch], listings: null });
    else leaves.push({ record_id, errors: [], listings: listingsOf(record) });
    seen.add(record_id);
  }
  return leaves;
}

/** Asks again while other pushes are admitted meanwhile, as an admission does. */
async function askPreview(
  deps: ValidateDeps,
  { batch, gate: { facts, mandate } }: JudgedBatch,
  leaves: readonly JudgedLeaf[],
): Promise<Exclude<PreviewReply, { status: "plan_stale" }>> {
  const push = { businessUuid: mandate.sealed.business_uuid, pushId: batch.pushId };
  const listings = leaves.flatMap((leaf) =>
    leaf.record_id !== null && leaf.listings !== null ? [[leaf.record_id, leaf.listings] as const] : [],
  );
  let { pending } = facts;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const earlier = await earlierPlans(deps, push, pending);
    if (earlier.reduce((sum, each) => sum + each.length, 0) > plannedLeavesMax) break;
    const plan = { pending, earlier, listings };
    const { root } = batch.seal;
    const command = { type: "push.preview", push_id: batch.pushId, may_hold: true, plan, root } as const;
    const reply = await deps.actors.ask(businessRef(push.businessUuid), command);
    if (reply.status !== "plan_stale") return reply;
    pending = reply.pending;
  }
  return { status: "busy", retry_after_seconds: 1 };
}

function resultsOf(
  leaves: readonly JudgedLeaf[],
  { held_reasons, versions }: Extract<PreviewReply, { status: "admitted" }>,
): readonly PublishOutcome[] {
  const held = held_reasons.length > 0;
  let planned = 0;
  let faults = 0;
  return leaves.map(({ record_id, errors, listings }, leaf_index): PublishOutcome => {
    if (listings === null) {
      const told = faults + errors.length > faultsInAnswerMax ? errors.slice(0, 1) : errors;
      faults += told.length;
      return { leaf_index, outcome: "rejected", record_id, version: null, errors: told };
    }
    const [version, isLive] = versions[planned] as PlannedVersion;
    planned += 1;
    const outcome: LeafAssignment["outcome"] & PublishOutcome["outcome"] = isLive ? "updated" : "accepted";
    return { leaf_index, outcome: held ? "held" : outcome, record_id, version, errors: [] };
  });
}

/** The outcome of a batch that was accepted before: what a resend would be told, for every record. */
async function outcomeOfKnown(
  actors: Pick<ActorSystem, "ask">,
  judged: JudgedBatch,
  { facts, held_reasons, state }: PushReport,
): Promise<ValidationOutcome> {
  const results: PublishOutcome[] = [];
  for (let next: number | null = 0; next !== null; )
    next = await readResults(actors, judged.push, results, next);
  return validation(judged, { known: true, mode: facts.mode, held: state === "held", held_reasons, results });
}

async function readResults(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
  results: PublishOutcome[],
  from_leaf: number,
): Promise<number | null> {
  const page = { type: "push.status", outcome: null, from_leaf, limit: resultsPerRead } as const;
  const report = await actors.ask(push, page);
  results.push(...(report?.results ?? []));
  const next = report?.next_leaf ?? null;
  return next !== null && next > from_leaf ? next : null;
}

function validation(
  { batch, body }: JudgedBatch,
  found: Pick<ValidationOutcome, "known" | "mode" | "held" | "held_reasons" | "results">,
): ValidationOutcome {
  const records = body.records.length;
  return {
    validate_only: true,
    batch_id: batch.pushId,
    seq: batch.seal.seq,
    records,
    counts: countsOf(found.results),
    ...found,
  };
}

function countsOf(results: readonly PublishOutcome[]): PushCounts {
  const counts = { accepted: 0, updated: 0, rejected: 0, held: 0, pending: 0 };
  for (const { outcome } of results) counts[outcome] += 1;
  return counts;
}
