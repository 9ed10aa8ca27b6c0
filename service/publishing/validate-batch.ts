// POST /v1/publish/{type}?validate_only=true: what the batch would come to if it were published now.
//   V1. The checks are those of publishing, in the same order and with the same refusals (publish.ts, accept-batch.ts). The caps and the
//       seq are judged and not used; nothing is stored, numbered or charged. Only the request's nonce is used.
//   V2. The Idempotency-Key must have its form and is not remembered: each validation judges the state at that moment, and
//       the key is free for the real request.
//   V3. The answer is bounded (J1 in publish.ts).

import type { PreviewReply } from "../../actors/messages/admission.ts";
import type { PlannedListings } from "../../actors/messages/business.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { businessRef, keyRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { ValidationOutcome } from "../../protocol/wire/bulk.ts";
import type { PublishOutcome, PushCounts } from "../../protocol/wire/push.ts";
import { answerJson, isRefused, type Outcome } from "../answer.ts";
import { admissionRefused, inlineMaxOf, judgeNewness } from "./accept-batch.ts";
import { claimOf } from "./idempotency.ts";
import {
  asHeld,
  faultLimit,
  type JudgedBatch,
  type JudgedLeaf,
  judgeBatch,
  leafJudge,
  type PublishRequest,
  plannedOf,
  unheldResults,
} from "./publish.ts";
import type { PublishServices } from "./publish-batch.ts";
import { attemptsMax, CatalogueComparison, comparisonOf } from "./push-plan.ts";
import { readResults } from "./push-status.ts";

/** What the batch would come to; it changes nothing. */
export async function validateBatch(deps: PublishServices, request: PublishRequest): Promise<Outcome> {
  const { party, key } = request.caller;
  const claim = claimOf(deps.actors, request, keyRef(party.uuid, key.key_id));
  if (isRefused(claim)) return claim;
  const judged = await judgeBatch(deps, request);
  if (isRefused(judged)) return judged;
  const offered = { sealed: judged.batch, bytes: request.body.length };
  const newness = await judgeNewness(deps, request, judged.gate, offered);
  if (isRefused(newness)) return newness;
  if (newness.known !== null)
    return answerJson(200, await outcomeOfKnown(deps.actors, judged, newness.known));
  const leaves = await leafJudge(deps, judged.gate, judged.batch.seal)(judged.body.records, faultLimit());
  const preview = await askPreview(deps, judged, leaves);
  if (preview.status !== "admitted") return admissionRefused(preview);
  const results = resultsOf(leaves, preview);
  const held_reasons = preview.held_reasons;
  const held = held_reasons.length > 0;
  const isInline = leaves.length <= inlineMaxOf(deps.background);
  const mode = isInline ? "inline" : "queued";
  return answerJson(200, validation(judged, { known: false, mode, held, held_reasons, results }));
}

/** Asks again while other pushes are admitted meanwhile, as an admission does. */
async function askPreview(
  deps: PublishServices,
  { batch, gate: { facts, mandates } }: JudgedBatch,
  leaves: readonly JudgedLeaf[],
): Promise<Exclude<PreviewReply, { status: "plan_stale" }>> {
  const { root } = batch.seal;
  const push = { businessUuid: mandates[0].sealed.business_uuid, pushId: batch.pushId, root };
  const listings = plannedOf(leaves);
  let { pending } = facts;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const plans = await comparisonOf(deps, push, { listings, pending });
    if (plans === "too_many") break;
    if (plans instanceof CatalogueComparison) return previewInPieces(plans, listings);
    const plan = { ...plans, listings };
    const command = { type: "push.preview", push_id: batch.pushId, may_hold: true, plan, root } as const;
    const reply = await deps.actors.ask(businessRef(push.businessUuid), command);
    if (reply.status !== "plan_stale") return reply;
    pending = reply.pending;
  }
  return { status: "busy", retry_after_seconds: 1 };
}

/** The same for a plan that is too large to be compared at once (PL1 in push-plan.ts). */
async function previewInPieces(
  comparison: CatalogueComparison,
  listings: PlannedListings,
): Promise<Exclude<PreviewReply, { status: "plan_stale" }>> {
  const preview = await comparison.compare(listings);
  if (preview.status !== "admitted") return preview;
  return { ...preview, held_reasons: await comparison.heldReasons() };
}

function resultsOf(
  leaves: readonly JudgedLeaf[],
  { held_reasons, versions }: Extract<PreviewReply, { status: "admitted" }>,
): readonly PublishOutcome[] {
  const results = unheldResults(leaves, versions);
  return held_reasons.length > 0 ? results.map(asHeld) : results;
}

/** The outcome of a batch that was accepted before: what a resend would be told, for every record. */
async function outcomeOfKnown(
  actors: ActorSystem,
  judged: JudgedBatch,
  { facts, held_reasons, state }: PushReport,
): Promise<ValidationOutcome> {
  const whole = { outcome: null, from_leaf: 0, limit: judged.body.records.length };
  const results = ((await readResults(actors, judged.push, whole))?.results ?? []).map(faultLimit());
  return validation(judged, { known: true, mode: facts.mode, held: state === "held", held_reasons, results });
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
