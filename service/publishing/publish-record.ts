// Path B: one record sealed alone, by a person's passkey or a hosted key. The same push actor carries it as a push of
// one leaf, so it is exactly as durable and as ordered as a batch.
//   SA1. Any live key of the business delivers it: what counts is the authority of the key that sealed it, so no mandate is asked for.
//   SA2. An integration key seals nothing alone (verifier/seal.ts), so nothing is published without a mandate or a person.

import type { BusinessCommand, PublishingFacts } from "../../actors/messages/business.ts";
import type { PublishOutcome, PushCommand, PushFacts } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { type CollectionName, formatTimestamp, pushIdOf } from "../../protocol/identifiers.ts";
import { sealLeafOf } from "../../protocol/log/leaves.ts";
import type { RecordFault } from "../../protocol/records/fields.ts";
import { judging } from "../../protocol/records/judge-record.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { openSeal, type SealV2 } from "../../protocol/seal.ts";
import { type AcceptedPolicy, sealedRecordRequest } from "../../protocol/wire/push.ts";
import { inSteps } from "../../std/work.ts";
import { verifySeal } from "../../verifier/seal.ts";
import {
  answerJson,
  isRefused,
  type Outcome,
  parseJsonBody,
  type Refused,
  rateLimited,
  refusedAs,
} from "../answer.ts";
import { documentRefusal, registered, type SealedDelivery } from "../register/deliver-document.ts";
import {
  decideOwnNames,
  judgeKnown,
  judgeLive,
  judgeVerified,
  keysOf,
  namesWhatIsInForce,
  readIssuances,
  readSigner,
  receivedInTime,
  type Sealed,
  timelineOf,
} from "../register/home-evidence.ts";
import type { Parties } from "../register/parties.ts";
import { type AdmitRequest, acceptPush, admit, awaitSettled } from "./accept-batch.ts";
import type { PublishServices } from "./publish-batch.ts";

/** `POST /v1/publish/{type}/record`: the outcome of the record, or why its seal is not accepted. */
export async function deliverRecord(
  deps: PublishServices,
  { caller, collection, body }: SealedDelivery & { readonly collection: CollectionName },
): Promise<Outcome> {
  const read = readSealed(body);
  if (isRefused(read)) return read;
  const published = await publishRecord(deps, { businessUuid: caller.party.uuid, collection, ...read });
  return published.ok ? answerJson(200, published.value) : sealedRefusal(published);
}

/** `POST /v1/ai-policies`: the version that is in force from now on, or why its seal is not accepted. */
export async function deliverPolicy(
  { parties }: { readonly parties: Parties },
  { caller, body }: SealedDelivery,
): Promise<Outcome> {
  const read = readSealed(body);
  if (isRefused(read)) return read;
  return registered("/seal", async () => {
    const accepted: AcceptedPolicy = await parties.acceptPolicy({ uuid: caller.party.uuid, ...read });
    return answerJson(200, accepted);
  });
}

/** The exact bytes of the document, and its seal. */
function readSealed(body: Uint8Array): { readonly record: Uint8Array; readonly seal: Envelope } | Refused {
  const read = parseJsonBody(sealedRecordRequest, body);
  if (isRefused(read)) return read;
  const { record_base64, seal } = read.value;
  return { record: parseBase64(record_base64) ?? new Uint8Array(), seal };
}

/** Every fault for which the record would be rejected if it were published now. */
export async function recordFaults(
  { lists, pace }: Pick<PublishServices, "lists" | "pace">,
  { businessUuid, collection, record }: Omit<PublishRecordRequest, "seal">,
  facts: Pick<PublishingFacts, "party">,
): Promise<readonly RecordFault[]> {
  const ownNames = decideOwnNames(lists, businessUuid, facts);
  const brands = lists.certified.brandsOf(businessUuid);
  const rules = { collection, countries: null, lists, ownNames, brands };
  const judged = await inSteps(judging(record, rules), pace);
  return judged.ok ? [] : judged.faults;
}

/** How long a business that publishes too much waits: fair use is counted by the minute. */
const busySeconds = 60;

/** The answer to a refusal of a record that was sealed alone. */
function sealedRefusal({ code, detail }: { readonly code: string; readonly detail: string }): Refused {
  if (code === "rate_limited")
    return rateLimited(detail, { retry_after_seconds: busySeconds, reason: "pushes_waiting" });
  if (code === "internal_error") return refusedAs({ code, detail });
  return documentRefusal({ code, detail }, "/seal");
}

export interface PublishRecordRequest {
  readonly businessUuid: string;
  readonly collection: CollectionName;
  /** The exact bytes of the record. */
  readonly record: Uint8Array;
  readonly seal: Envelope;
  /** The person who sealed it at the portal. */
  readonly act?: AdmitRequest["act"];
}

/**
 * Publishes, or repeats the outcome of the same seal. Refusals are the reason codes of the seal, in the verifier's
 * order, plus those that only its receiver can know; a record that is itself faulty is an outcome.
 */
export async function publishRecord(
  deps: PublishServices,
  request: PublishRecordRequest,
): Promise<Result<PublishOutcome>> {
  const opened = openSeal(request.seal);
  if (!opened.ok) return opened;
  const seal = opened.value;
  if (seal.v !== 2) return refuse("version_unknown", "A record must be sealed in format 2.");
  const payload = parseBase64(request.seal.payload) as Uint8Array;
  const pushId = pushIdOf(request.businessUuid, payload, deps.crypto.sha256);
  const push = pushRef(request.businessUuid, pushId);
  const status: PushCommand = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 };
  const known = await deps.actors.ask(push, status);
  const key = await readSigner(deps.actors, request.businessUuid, request.seal);
  const refusal =
    known === null
      ? await accept(deps, request, { seal, pushId, key })
      : judgeAgain(deps, request, { seal, key });
  if (refusal !== null) return refusal;
  const { results } = await awaitSettled(deps.actors, push);
  const [outcome] = results;
  return outcome ? ok(outcome) : refuse("internal_error", "The push has no outcome.");
}

function judgeAgain(
  deps: PublishServices,
  request: PublishRecordRequest,
  sealed: Sealed,
): Result<never> | null {
  const { businessUuid: uuid, record, seal: envelope } = request;
  const known = judgeKnown(deps, { uuid, record, envelope }, sealed);
  return known.ok ? typeFault(request, sealed.seal) : known;
}

function typeFault({ collection }: PublishRecordRequest, seal: SealV2): Result<never> | null {
  return seal.record_type === collection
    ? null
    : refuse("record_type_mismatch", "The seal is for a different record type.");
}

async function judgeNew(
  deps: PublishServices,
  request: PublishRecordRequest,
  { seal, key, facts }: Sealed & { readonly facts: PublishingFacts },
): Promise<Result<never> | null> {
  const { businessUuid: uuid, record, seal: envelope } = request;
  const verified = judgeVerified(facts);
  if (!verified.ok) return verified;
  if (facts.certificate === null) return null;
  const nowMs = deps.clock.now();
  const verdict = verifySeal(deps.trust(), {
    bytes: record,
    seal: envelope,
    certificates: await readIssuances(deps.actors, uuid, facts.certificate, seal.cert_id),
    keys: { ...keysOf(uuid, [key]), cert_id: facts.certificate.cert_id },
    received: { at: formatTimestamp(nowMs) },
    policies: timelineOf(facts.policy),
  });
  if (!verdict.ok || key === null) return verdict.ok ? null : verdict;
  const received = [receivedInTime(seal, nowMs), judgeLive(key, nowMs), namesWhatIsInForce(seal, facts)];
  return typeFault(request, seal) ?? received.find((each) => !each.ok) ?? null;
}

async function accept(
  deps: PublishServices,
  request: PublishRecordRequest,
  push: Sealed & { readonly pushId: string },
): Promise<Result<never> | null> {
  const { seal } = push;
  const business = businessRef(request.businessUuid);
  const actor = pushRef(request.businessUuid, push.pushId);
  const question: BusinessCommand = { type: "publishing.facts", key_id: seal.key_id };
  const facts = await deps.actors.ask(business, question);
  const refusal = await judgeNew(deps, request, { ...push, facts });
  if (refusal !== null) return refusal;
  const stagingAtMs = deps.clock.now();
  await deps.records.stageLeaves(actor.id, 0, [request.record]);
  await deps.records.putSeal({
    seal_id: push.pushId,
    envelope: JSON.stringify(request.seal),
    tree_size: null,
  });
  const ownNames = decideOwnNames(deps.lists, request.businessUuid, facts);
  const admitted = await admit(deps, {
    businessUuid: request.businessUuid,
    pushId: push.pushId,
    keyId: seal.key_id,
    records: [request.record],
    countries: null,
    ownNames,
    // Specification, «States»: only a publish batch can be held.
    mayHold: false,
    act: request.act,
    listings: 0,
    pending: [],
  });
  if (admitted.status === "refused") {
    await deps.records.dropStaged(actor.id);
    return refuse(admitted.code, admitted.detail);
  }
  if (admitted.status !== "admitted")
    return refuse("rate_limited", "Too many pushes of this business are waiting.");
  await acceptPush(deps.actors, actor, {
    facts: {
      ...pushFacts(request, push, { number: admitted.number, receivedAtMs: facts.at_ms }),
      own_names: ownNames,
    },
    held_reasons: [],
    sealLeaf: sealLeafOf(request.seal, deps.crypto.sha256),
    stagingAtMs,
  });
  return null;
}

function pushFacts(
  request: PublishRecordRequest,
  { seal, key, pushId }: Sealed & { readonly pushId: string },
  { number, receivedAtMs }: { readonly number: number; readonly receivedAtMs: number },
): Omit<PushFacts, "own_names"> {
  return {
    push_id: pushId,
    business_uuid: request.businessUuid,
    path: "B",
    key_id: seal.key_id,
    sealer: key?.role === "hosted" ? "hosted" : "passkey",
    collection: request.collection,
    seq: 0,
    source: "manual",
    mode: "inline",
    records: 1,
    cert_id: seal.cert_id,
    ai_policy_version: seal.ai_policy_version,
    sealed_at: seal.sealed_at,
    received_at: formatTimestamp(receivedAtMs),
    mandates: null,
    number,
  };
}
