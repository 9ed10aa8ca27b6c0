// Path B: one record sealed alone, by a person's passkey or a hosted key. The same push actor carries it, as a push of
// one leaf, so that it is exactly as durable and as ordered as a batch.

import type { PublishingFacts } from "../actors/messages/business.ts";
import type { PublishOutcome, PushCommand, PushFacts, PushReport } from "../actors/messages/push.ts";
import { businessRef, pushRef } from "../actors/messages/refs.ts";
import type { Clock } from "../crypto/port.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { type CollectionName, formatTimestamp, pushIdOf } from "../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { openSeal, type SealV2 } from "../protocol/seal.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { acceptPush, awaitSettled } from "./accept-push.ts";
import { decideOwnNames, factsQuestion, ownNamesFact } from "./own-names.ts";
import { type AdmitDeps, admit } from "./publish-admit.ts";
import { type SealingDeps, verifySealing } from "./verify-sealing.ts";

export interface PublishRecordDeps extends SealingDeps, AdmitDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
}

export interface PublishRecordRequest {
  readonly businessUuid: string;
  readonly collection: CollectionName;
  /** Exact bytes of the record. */
  readonly record: Uint8Array;
  readonly seal: Envelope;
}

/** Publishes, or repeats the outcome of the same seal. Refusals are reason codes of the seal; a faulty record is an outcome. */
export async function publishRecord(
  deps: PublishRecordDeps,
  request: PublishRecordRequest,
): Promise<Result<PublishOutcome>> {
  const opened = openSeal(request.seal);
  if (!opened.ok) return opened;
  const seal = opened.value;
  if (seal.v !== 2) return refuse("version_unknown", "A record is sealed in format 2.");
  if (seal.record_type !== request.collection)
    return refuse("record_type_mismatch", "The seal is for another record type.");
  if (seal.hash !== hashOf(request.record, deps.crypto.sha256))
    return refuse("hash_mismatch", "The seal is over other bytes.");
  const key = await verifySealing(deps, request.businessUuid, request.seal);
  if (!key.ok) return key;
  if (seal.key_id !== key.value.key_id)
    return refuse("key_mismatch", "The seal names another key than signed it.");
  const payload = parseBase64(request.seal.payload) as Uint8Array;
  const pushId = pushIdOf(request.businessUuid, payload, deps.crypto.sha256);
  const push = pushRef(request.businessUuid, pushId);
  const status: PushCommand = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 };
  const known = await deps.actors.ask<PushReport | null>(push, status);
  if (known === null) {
    const refusal = await accept(deps, request, seal, {
      pushId,
      sealer: key.value.role === "hosted" ? "hosted" : "passkey",
    });
    if (refusal) return refusal;
  }
  const { results } = await awaitSettled(deps.actors, push);
  const [outcome] = results;
  return outcome ? ok(outcome) : refuse("internal_error", "The push has no outcome.");
}

async function accept(
  deps: PublishRecordDeps,
  request: PublishRecordRequest,
  seal: SealV2,
  push: { readonly pushId: string; readonly sealer: "passkey" | "hosted" },
): Promise<Result<never> | null> {
  const business = businessRef(request.businessUuid);
  const actor = pushRef(request.businessUuid, push.pushId);
  const facts = await deps.actors.ask<PublishingFacts>(business, factsQuestion(deps, seal.key_id));
  if (facts.certificate?.status !== "active" || facts.certificate.cert_id !== seal.cert_id) {
    return refuse("certificate_not_in_force", "The seal names a certificate other than the active one.");
  }
  if (seal.ai_policy_version !== facts.policy.version) {
    return refuse("ai_policy_version_mismatch", `AI policy version ${facts.policy.version} is in force.`);
  }
  const stagingAtMs = deps.clock.now();
  await deps.records.stageLeaves(actor.id, 0, [request.record]);
  await deps.records.putSeal({
    seal_id: push.pushId,
    envelope: JSON.stringify(request.seal),
    tree_size: null,
  });
  const ownNames = await decideOwnNames(deps, facts);
  const admitted = await admit(deps, {
    businessUuid: request.businessUuid,
    pushId: push.pushId,
    keyId: seal.key_id,
    records: [request.record],
    countries: null,
    ownNames,
    // Specification, «States»: what is held is a publish batch.
    mayHold: false,
    listings: 0,
    pending: [],
  });
  if (admitted.status !== "admitted") return refuse("rate_limited", "Too many pushes of this business wait.");
  await acceptPush(deps.actors, actor, {
    facts: { ...pushFacts(deps, request, seal, push, admitted.number), ...ownNamesFact(ownNames) },
    held_reasons: [],
    stagingAtMs,
  });
  return null;
}

function pushFacts(
  deps: PublishRecordDeps,
  request: PublishRecordRequest,
  seal: SealV2,
  push: { readonly pushId: string; readonly sealer: "passkey" | "hosted" },
  number: number,
): PushFacts {
  return {
    push_id: push.pushId,
    business_uuid: request.businessUuid,
    path: "B",
    key_id: seal.key_id,
    sealer: push.sealer,
    collection: request.collection,
    seq: 0,
    source: "manual",
    mode: "inline",
    records: 1,
    cert_id: seal.cert_id,
    ai_policy_version: seal.ai_policy_version,
    sealed_at: seal.sealed_at,
    received_at: formatTimestamp(deps.clock.now()),
    mandate_id: null,
    countries: null,
    number,
  };
}
