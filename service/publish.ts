// POST /v1/publish/{type}: a sealed batch becomes a push, at most once.
//   W1. Checks are made in the specification's order, and nothing is stored before the last of them.
//   W2. Record bytes are stored before seq is used up, and seq before the push exists; each step can be repeated,
//       so a resend repairs a crash between any two.
//   W3. An existing push skips seq, skew, certificate, AI policy version and, in the same body, caps: it is resumed, under
//       whatever key.
//   W4. A batch of up to 50 records is answered once its records are settled: stored, with their versions. An index is
//       waited for briefly and never needed (C3 in actors/push/process-chunk.ts). One that is not settled in time is
//       refused as unavailable, and sending it again goes on with it.

import type { BusinessCommand, PublishingFacts } from "../actors/messages/business.ts";
import type {
  CapUsedUp,
  IdempotentAnswer,
  IntegrationKeyCommand,
} from "../actors/messages/integration-key.ts";
import type { PublishOutcome, PushFacts, PushReport } from "../actors/messages/push.ts";
import { businessRef, keyRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import type { ContentLists } from "../protocol/records/content-lists.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { Trust } from "../verifier/trust.ts";
import { acceptPush, awaitSettled, reportOf } from "./accept-push.ts";
import { type Answer, answerJson, type Outcome, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { findMandate, keyRevoked } from "./find-mandate.ts";
import { readIssuances } from "./home-evidence.ts";
import { answerOnce, type IdempotencyDeps } from "./idempotency.ts";
import { decideOwnNames } from "./own-names.ts";
import type { ParsedLeaves } from "./parsed-leaves.ts";
import { admit } from "./publish-admit.ts";
import { type Batch, checkBatch } from "./publish-batch.ts";
import { type Pause, type PublishBody, parsePublishBody } from "./publish-body.ts";
import {
  checkScope,
  checkStanding,
  checkVerified,
  type StandingMandate,
  sealRefusal,
} from "./publish-checks.ts";
import { pushStatus } from "./push-status.ts";
import type { PushTrees } from "./push-trees.ts";
import { rateLimited } from "./rate-limited.ts";

/** Batches up to this size are processed in the request (specification, «Limits»). */
export const inlineMax = 50;

/** What is published in batches. */
const published = "products" satisfies CollectionName;

export interface PublishDeps extends Pick<IdempotencyDeps, "timers"> {
  readonly actors: ActorSystem;
  readonly records: RecordStore;
  readonly crypto: CryptoPort;
  readonly trust: () => Trust;
  readonly clock: Clock;
  readonly trees: PushTrees;
  readonly parsed: ParsedLeaves;
  /** Lists that the content rules judge by. */
  readonly lists: ContentLists;
  /** Of its staging; an hour by default (A1 in accept-push.ts). */
  readonly acceptWithinMs?: number | undefined;
  /** Record id of a product: keyed by the business and its own product id. */
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** Between two steps of reading a body (B1 in publish-body.ts). */
  readonly pause: Pause;
}

export interface PublishRequest {
  readonly caller: Caller;
  /** Collection named in the path, already mapped: `products`, `business_files`… */
  readonly collection: string;
  readonly idempotencyKey: string | null;
  /** Value of the verified Content-Digest header. */
  readonly contentDigest: string;
  readonly body: Uint8Array;
  /** Address that the request comes from; null where none can be told, which no allow-list has. */
  readonly sourceIp: string | null;
}

/** The actor of the key that signed the request, at home. */
function callerKey({ caller }: PublishRequest) {
  return keyRef(caller.party.uuid, caller.key.key_id);
}

export async function publishBatch(deps: PublishDeps, request: PublishRequest): Promise<Outcome> {
  if (request.idempotencyKey === null || !/^[\x20-\x7e]{1,255}$/.test(request.idempotencyKey)) {
    return refused(
      problem("request_invalid", "Idempotency-Key is required: 1 to 255 printable ASCII characters.", {
        pointer: "/headers/idempotency-key",
      }),
    );
  }
  return answerOnce(
    deps,
    {
      key: callerKey(request),
      scope: `publish/${request.collection} ${request.idempotencyKey}`,
      digest: request.contentDigest,
      replayed: (answer) => nudge(deps, request, answer),
    },
    () => publishOnce(deps, request),
  );
}

/**
 * A replay also goes on with a push that is not finished, as any other resend does: asked for its status, its actor is
 * activated, should it be in no node's memory, and does what is left. The replayed answer does not wait for that.
 */
function nudge(deps: PublishDeps, request: PublishRequest, { status, body }: IdempotentAnswer): void {
  if (status !== 200 && status !== 202) return;
  const { batch_id } = JSON.parse(body) as { readonly batch_id: string };
  deps.actors.ask(pushRef(request.caller.party.uuid, batch_id), statusCommand).catch(() => {});
}

async function publishOnce(deps: PublishDeps, request: PublishRequest): Promise<Outcome> {
  if (request.collection !== published) {
    return refused(problem("type_not_publishable", "Only products are published through this interface."));
  }
  const business = businessRef(request.caller.party.uuid);
  const question: BusinessCommand = { type: "publishing.facts", key_id: request.caller.key.key_id };
  const askedAtMs = deps.clock.now();
  const facts = await deps.actors.ask(business, question);
  const nowMs = deps.clock.now();
  const mandate = await findMandate(deps, request.caller.party.uuid, { facts, nowMs });
  if (!mandate.ok) return refused(mandate.problem);
  const scope = checkScope(mandate.value.sealed, request);
  if (!scope.ok) return refused(scope.problem);
  const capped = await checkCaps(deps, request, mandate.value);
  if (capped) return capped;
  const verified = checkVerified(facts);
  if (!verified.ok) return refused(verified.problem);
  const body = await parsePublishBody(request.body, deps.pause);
  if (!body.ok) return refused(body.problem);
  const batch = await checkBatch(deps, request, body.value);
  if (!batch.ok) return refused(batch.problem);
  const receivedAtMs = facts.at_ms ?? askedAtMs;
  const judged = { facts, mandate: mandate.value, body: body.value, receivedAtMs };
  return acceptBatch(deps, request, { ...judged, ...batch.value });
}

async function checkCaps(
  deps: PublishDeps,
  request: PublishRequest,
  { sealed }: StandingMandate,
): Promise<Outcome | null> {
  const command: IntegrationKeyCommand = {
    type: "caps.check",
    digest: request.contentDigest,
    content_length: request.body.length,
    caps: sealed.scope.caps,
  };
  const reply = await deps.actors.ask(callerKey(request), command);
  return reply.status === "within" ? null : capRefused(reply);
}

function capRefused({ cap, retry_after_seconds }: CapUsedUp): Outcome {
  return rateLimited(`The mandate's cap ${cap} is used up.`, { retry_after_seconds, reason: cap });
}

export interface Acceptable extends Batch {
  readonly facts: PublishingFacts;
  readonly mandate: StandingMandate;
  readonly body: PublishBody;
  /** When the home said what is in force: what came into force later is not what the seal had to name. */
  readonly receivedAtMs: number;
}

async function acceptBatch(deps: PublishDeps, request: PublishRequest, batch: Acceptable): Promise<Outcome> {
  const push = pushRef(request.caller.party.uuid, batch.pushId);
  const known = await deps.actors.ask(push, statusCommand);
  if (known === null) {
    const refusal = await checkNew(deps, request, batch);
    if (refusal) return refusal;
    const refusalAtAdmission = await storeAndAdmit(deps, request, batch);
    if (refusalAtAdmission) return refusalAtAdmission;
  }
  if (batch.body.records.length <= inlineMax) {
    return answerInline(await awaitSettled(deps.actors, push));
  }
  return queuedAnswer(reportOf(await deps.actors.ask(push, statusCommand)));
}

const statusCommand = { type: "push.status", outcome: null, from_leaf: 0, limit: 100 } as const;

/** What is judged only for a push that was not accepted before (W3). */
async function checkNew(
  deps: PublishDeps,
  request: PublishRequest,
  batch: Acceptable,
): Promise<Outcome | null> {
  const { key } = request.caller;
  if (batch.seal.key_id !== key.key_id) {
    const detail =
      "The seal's key_id is not the key that signed the request, and this batch was not accepted before.";
    const mismatch = sealRefusal("key_mismatch", detail);
    if (!mismatch.ok) return refused(mismatch.problem);
  }
  const standing = await judgeNew(deps, request, batch);
  const seqCommand: IntegrationKeyCommand = { type: "seq.check", seq: batch.seal.seq, push_id: batch.pushId };
  const seq = await deps.actors.ask(callerKey(request), seqCommand);
  // Charged before a crash and resent: the standing was judged when it was charged.
  if (!standing.ok && seq.status !== "known") return refused(standing.problem);
  return seq.status === "seq_not_increasing" ? seqRefused(seq.last_seq) : null;
}

async function judgeNew(deps: PublishDeps, { caller }: PublishRequest, batch: Acceptable) {
  const { facts, mandate, seal } = batch;
  const inForce = facts.certificate;
  const known = inForce && (await readIssuances(deps.actors, caller.party.uuid, inForce, seal.cert_id));
  return checkStanding(seal, {
    facts,
    issuances: known ?? { issuances: [] },
    mandate: mandate.sealed,
    key: caller.key,
    nowMs: deps.clock.now(),
  });
}

function seqRefused(lastSeq: number): Outcome {
  return refused(
    problem("seq_not_increasing", `seq must exceed ${lastSeq}, the last accepted seq of this key.`),
  );
}

async function storeAndAdmit(
  deps: PublishDeps,
  request: PublishRequest,
  batch: Acceptable,
): Promise<Outcome | null> {
  const { records } = batch.body;
  const push = pushRef(request.caller.party.uuid, batch.pushId);
  const stagingAtMs = deps.clock.now();
  await deps.records.stageLeaves(push.id, 0, records);
  await deps.records.putSeal({
    seal_id: batch.pushId,
    envelope: JSON.stringify(batch.body.batchSeal),
    tree_size: records.length,
  });
  deps.trees.put(push.id, batch.tree);
  const stagedMs = deps.clock.now();
  const charge: IntegrationKeyCommand = {
    type: "push.charge",
    seq: batch.seal.seq,
    push_id: batch.pushId,
    digest: request.contentDigest,
    records: records.length,
    bytes: request.body.length,
    caps: batch.mandate.sealed.scope.caps,
  };
  const charged = await deps.actors.ask(callerKey(request), charge);
  if (charged.status === "over") {
    await dropRefused(deps, push.id, { stagedMs, retryAfterSeconds: charged.retry_after_seconds });
    return capRefused(charged);
  }
  if (charged.status === "seq_not_increasing") {
    // Another batch used the seq meanwhile, so this one can never be accepted: what was stored of it goes.
    await dropStaged(deps, push.id);
    return seqRefused(charged.last_seq);
  }
  if (charged.status === "retired") {
    await dropStaged(deps, push.id);
    return refused(keyRevoked);
  }
  const ownNames = decideOwnNames(deps.lists, request.caller.party.uuid, batch.facts);
  const admitted = await admit(deps, {
    businessUuid: request.caller.party.uuid,
    pushId: batch.pushId,
    keyId: request.caller.key.key_id,
    records,
    countries: batch.mandate.sealed.scope.countries,
    ownNames,
    mayHold: true,
    listings: batch.facts.listings,
    pending: batch.facts.pending,
  });
  if (admitted.status === "refused") {
    await dropStaged(deps, push.id);
    return refused(problem(admitted.code, admitted.detail));
  }
  if (admitted.status !== "admitted") {
    const { retry_after_seconds } = admitted;
    return rateLimited("Too many pushes of this business wait; resend this batch later.", {
      retry_after_seconds,
    });
  }
  await acceptPush(deps.actors, push, {
    facts: { ...pushFacts(request, batch, admitted.number), own_names: ownNames },
    held_reasons: admitted.held_reasons,
    stagingAtMs,
    acceptWithinMs: deps.acceptWithinMs,
  });
  return null;
}

async function dropStaged(deps: PublishDeps, pushId: string): Promise<void> {
  await deps.records.dropStaged(pushId);
  deps.trees.drop(pushId);
}

/** A cap that is free again so soon may let the same batch in, sent twice, whose bytes these are too. */
const soonFreeSeconds = 60;

/**
 * What was staged of a batch that a cap refused goes; what the same batch, sent again, staged since stays. Where the cap is
 * soon free the look at abandoned pushes drops it.
 */
async function dropRefused(
  deps: PublishDeps,
  pushId: string,
  { stagedMs, retryAfterSeconds }: { readonly stagedMs: number; readonly retryAfterSeconds: number },
): Promise<void> {
  if (retryAfterSeconds <= soonFreeSeconds) return;
  await deps.records.dropStaged(pushId, stagedMs);
  deps.trees.drop(pushId);
}

function pushFacts(request: PublishRequest, batch: Acceptable, number: number): PushFacts {
  return {
    push_id: batch.pushId,
    business_uuid: request.caller.party.uuid,
    path: "A",
    key_id: request.caller.key.key_id,
    sealer: "system",
    collection: published,
    seq: batch.seal.seq,
    source: "api",
    mode: batch.body.records.length <= inlineMax ? "inline" : "queued",
    records: batch.body.records.length,
    cert_id: batch.seal.cert_id,
    ai_policy_version: batch.seal.ai_policy_version,
    sealed_at: batch.seal.sealed_at,
    received_at: formatTimestamp(batch.receivedAtMs),
    mandate_id: batch.mandate.listed.mandate_id,
    countries: batch.mandate.sealed.scope.countries,
    number,
  };
}

function answerInline(report: PushReport): Answer {
  return answerJson(200, {
    batch_id: report.facts.push_id,
    seq: report.facts.seq,
    held: report.state === "held",
    ...(report.held_reasons.length > 0 ? { held_reasons: report.held_reasons } : {}),
    results: report.results satisfies readonly PublishOutcome[],
  });
}

function queuedAnswer(report: PushReport): Answer {
  return answerJson(202, pushStatus(report), { location: `/v1/pushes/${report.facts.push_id}` });
}
