// The acceptance of a sealed batch whose content has been judged, wherever its records came from: what is checked only
// for a batch that was not accepted before, then the steps that store, charge, admit and accept it (W2, W3 in
// publish.ts).

import type { AdmitReply } from "../../actors/messages/admission.ts";
import type { BusinessCommand, BusinessProtocol } from "../../actors/messages/business.ts";
import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { PushCommand, PushFacts, PushMandate, PushReport } from "../../actors/messages/push.ts";
import { businessRef, keyRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { inlineFallbackMax, inlineRecordsMax } from "../../protocol/limits.ts";
import { holdThreshold } from "../../protocol/price-shock.ts";
import { type ActorRef, StoreError } from "../../storage/actor-store.ts";
import {
  type Caller,
  isRefused,
  type Refused,
  rateLimited,
  refusedAs,
  refusedWith,
  sealRefused,
} from "../answer.ts";
import { keptOf, sealedUnder } from "../register/find-mandate.ts";
import { checkStanding, decideOwnNames, readIssuances } from "../register/home-evidence.ts";
import type { Background, PublishServices } from "./publish-batch.ts";
import {
  capRefused,
  type Gate,
  notCharged,
  publishedType,
  type SealedBatch,
  type StagedBatch,
  seqRefused,
} from "./publish-batch.ts";
import {
  attemptsMax,
  CatalogueComparison,
  comparisonOf,
  isLarge,
  type Planned,
  type PlanRequest,
  planOf,
  storePlan,
} from "./push-plan.ts";
import { wholeStatus } from "./push-status.ts";

/** A batch whose seal is genuine and covers exactly its records. */
export interface OfferedBatch {
  readonly sealed: SealedBatch;
  readonly source: BatchSource;
  /** Size of what is published, as the mandate's cap counts it. */
  readonly bytes: number;
  /** Stores what its push will need, or refuses it because somebody else was faster. */
  readonly stage: () => Promise<StagedBatch | Refused>;
  /** The records, for the hold; null if the push itself decides later whether it is held. */
  readonly records: AdmitRequest["records"] | null;
}

export interface AcceptRequest {
  readonly caller: Caller;
  readonly contentDigest: string;
}

/**
 * The push, if this batch was accepted before; otherwise null, once what is checked only for a new batch was found in
 * order (W3). It changes nothing.
 */
export async function judgeNewness(
  { actors, clock }: PublishServices,
  { caller: { party, key } }: AcceptRequest,
  { facts, mandates, caps }: Gate,
  { sealed: { seal, pushId }, bytes }: Pick<OfferedBatch, "sealed" | "bytes">,
): Promise<{ readonly known: PushReport | null } | Refused> {
  const known = await actors.ask(pushRef(party.uuid, pushId), wholeStatus);
  if (known !== null) return { known };
  // The moment of sealing, and seq.
  if (seal.key_id !== key.key_id) return sealRefused("key_mismatch", notTheCallers);
  const issuances = await readIssuances(actors, party.uuid, facts.certificate, seal.cert_id);
  const [{ sealed: mandate }] = sealedUnder(mandates, seal);
  const question = { facts, issuances, mandate, key, nowMs: clock.now() };
  const fallen = checkStanding(seal, question);
  const charge = { records: seal.tree_size, bytes, caps };
  const use = { seq: seal.seq, push_id: pushId, charge };
  const used = await actors.ask(keyRef(party.uuid, key.key_id), { type: "seq.check", ...use });
  // Charged before a crash and resent: the standing was judged when it was charged.
  if (fallen && used.status !== "known") return fallen;
  if (used.status === "over") return capRefused(used, charge);
  return used.status === "seq_not_increasing" ? seqRefused(used) : { known: null };
}

/** The report of the push, if its actor gave one; null where it has to be asked. */
export async function acceptBatch(
  deps: PublishServices,
  request: AcceptRequest,
  gate: Gate,
  offered: OfferedBatch,
): Promise<{ readonly report: PushReport | null } | Refused> {
  const { party, key } = request.caller;
  const { sealed, bytes } = offered;
  const { seal, pushId } = sealed;
  const judged = await judgeNewness(deps, request, gate, offered);
  if (isRefused(judged)) return judged;
  if (judged.known !== null) return { report: judged.known };
  // All checks have passed: the batch is stored, charged, admitted and accepted (W2).
  const admission = admissionOf(deps, request, gate, offered);
  const planning = planAhead(deps, admission);
  const staged = await offered.stage();
  if (isRefused(staged)) return staged;
  const { caps } = gate;
  const use = { seq: seal.seq, push_id: pushId };
  const { requestHash: attempt } = request.caller;
  const charge = { ...use, digest: request.contentDigest, attempt, records: seal.tree_size, bytes, caps };
  const own = keyRef(party.uuid, key.key_id);
  const charged = await deps.actors.ask(own, { type: "push.charge", ...charge });
  if (charged.status !== "accepted" && charged.status !== "known") return notCharged(staged, charged, charge);
  // One that was charged before is not charged now.
  return admitAndAccept(deps, request, { ...offered, staged, admission, planning });
}

/** What the business is asked, and the mandates under which the push is published. */
interface BatchAdmission extends AdmitRequest {
  readonly mandates: readonly PushMandate[];
  readonly ownNames: readonly string[];
  readonly receivedAtMs: number;
}

function admissionOf(
  deps: PublishServices,
  { caller: { party, key } }: AcceptRequest,
  { facts, mandates: allowing }: Gate,
  { sealed: { seal, pushId }, records }: OfferedBatch,
): BatchAdmission {
  const mandates = keptOf(sealedUnder(allowing, seal));
  const { listings, pending, at_ms: receivedAtMs } = facts;
  const plan =
    records === null
      ? { records: [], mayHold: false, listings: 0, pending: [] }
      : { records, mayHold: true, listings, pending };
  return {
    ...plan,
    businessUuid: party.uuid,
    pushId,
    keyId: key.key_id,
    mandates,
    countries: mandates.map((each) => each.countries),
    root: seal.root,
    count: seal.tree_size,
    ownNames: decideOwnNames(deps.lists, party.uuid, facts),
    receivedAtMs,
  };
}

/** The plan that the admission will need, begun while the batch is stored: it changes nothing, and nothing is answered because of it. */
function planAhead(deps: PublishServices, admission: AdmitRequest): Promise<Planned> | null {
  if (!isToBePlanned(admission)) return null;
  const planning = planOf(deps, admission);
  // Where the batch is refused meanwhile, nobody waits for it.
  planning.catch(() => {});
  return planning;
}

interface StagedOffer extends OfferedBatch {
  readonly staged: StagedBatch;
  readonly admission: BatchAdmission;
  readonly planning: Promise<Planned> | null;
}

async function admitAndAccept(
  deps: PublishServices,
  request: AcceptRequest,
  { sealed, source, staged, admission, planning }: StagedOffer,
): Promise<{ readonly report: PushReport | null } | Refused> {
  const { party, key } = request.caller;
  const push = pushRef(party.uuid, sealed.pushId);
  const { mandates, ownNames, receivedAtMs: offeredAtMs } = admission;
  const admitted = await admit(deps, admission, planning);
  if (admitted.status !== "admitted") {
    // Another request may have had the same batch accepted meanwhile, and even finished: then the charge is that push's.
    const known = await deps.actors.ask(push, wholeStatus);
    if (known !== null) return { report: known };
    // It was not accepted, so it has used neither its seq nor its caps (Q5 in actors/integration-key).
    const uncharge = { push_id: sealed.pushId, attempt: request.caller.requestHash };
    await deps.actors.ask(keyRef(party.uuid, key.key_id), { type: "push.uncharge", ...uncharge });
    return notAdmitted(staged, admitted);
  }
  const { number, held_reasons, received_at_ms: receivedAtMs = offeredAtMs } = admitted;
  const inlineMax = inlineMaxOf(deps.background);
  const accepted = batchFacts(request, {
    sealed,
    source,
    mandates,
    receivedAtMs,
    ownNames,
    number,
    inlineMax,
  });
  const { acceptWithinMs, holdMs } = deps;
  const within = { stagingAtMs: staged.stagingAtMs, acceptWithinMs, holdMs };
  return {
    report: await acceptPush(deps.actors, push, {
      ...within,
      facts: accepted,
      held_reasons,
      sealLeaf: sealed.sealLeaf,
    }),
  };
}

const notTheCallers =
  "The seal's key_id is not the key that signed the request, and this batch was not accepted before.";

// The facts of a push that came as a sealed batch: what stays true of it, whatever becomes of it.

/** Where the records of a batch come from. */
type BatchSource =
  | { readonly source: "api" }
  | { readonly source: "bulk"; readonly file: NonNullable<PushFacts["file"]> };

export interface AdmittedBatch {
  readonly sealed: SealedBatch;
  readonly source: BatchSource;
  readonly mandates: readonly PushMandate[];
  readonly receivedAtMs: number;
  readonly ownNames: readonly string[];
  readonly number: number;
  /** Batches of up to this many records are processed within the request. */
  readonly inlineMax: number;
}

function batchFacts(
  { caller }: { readonly caller: Caller },
  { sealed, source, mandates, receivedAtMs, ownNames, number, inlineMax }: AdmittedBatch,
): PushFacts {
  const { seal, pushId } = sealed;
  const isInline = source.source === "api" && seal.tree_size <= inlineMax;
  return {
    push_id: pushId,
    business_uuid: caller.party.uuid,
    path: "A",
    key_id: caller.key.key_id,
    sealer: "system",
    collection: publishedType,
    seq: seal.seq,
    mode: isInline ? "inline" : "queued",
    records: seal.tree_size,
    cert_id: seal.cert_id,
    ai_policy_version: seal.ai_policy_version,
    sealed_at: seal.sealed_at,
    received_at: formatTimestamp(receivedAtMs),
    mandates,
    number,
    own_names: ownNames,
    ...source,
  };
}

// Admission of a push by its business: the number, and the hold decided over the whole batch plus what is accepted but
// not yet applied. The home actor decides; this module gathers what it needs for that.

export interface AdmitRequest extends PlanRequest {
  readonly pushId: string;
  readonly keyId: string;
  /** Number of records, if they are not given because nothing is planned with them. */
  readonly count?: number;
  /** The root over the records; absent for a record that a person sealed alone. */
  readonly root?: string;
  /** False for a record that a person sealed alone: the price-shock hold is for machines. */
  readonly mayHold: boolean;
  /** Listings and pending pushes as last reported by the business. */
  readonly listings: number;
  readonly pending: readonly string[];
  /** When the batch was received, in Unix milliseconds; absent for a record that was sealed alone. */
  readonly receivedAtMs?: number;
  /** The person who sealed the record alone at the portal. */
  readonly act?: Extract<BusinessCommand, { type: "push.admit" }>["act"];
}

export type Admitted = Exclude<AdmitReply, { status: "plan_stale" }>;

function isToBePlanned({ mayHold, listings, pending }: AdmitRequest): boolean {
  return mayHold && (listings >= holdThreshold || pending.length > 0);
}

/**
 * Asks the business to number the push, and to decide whether it is held over all its records and what is pending. `planning` is the
 * plan of these records, if it was begun already.
 */
export async function admit(
  deps: PublishServices,
  request: AdmitRequest,
  planning: Promise<Planned> | null = null,
): Promise<Admitted> {
  let { pending } = request;
  let planned: Planned | null = null;
  let isPlanned = isToBePlanned(request);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (isPlanned) planned ??= await (planning ?? planOf(deps, request));
    const compared = planned && (await compare(deps, request, planned, pending));
    if (compared === "too_many") break;
    const command: BusinessCommand = {
      type: "push.admit",
      push_id: request.pushId,
      key_id: request.keyId,
      records: request.count ?? request.records.length,
      may_hold: request.mayHold,
      plan: null,
      ...compared,
      ...(request.root === undefined ? {} : { root: request.root }),
      ...(request.receivedAtMs === undefined ? {} : { received_at_ms: request.receivedAtMs }),
      ...(request.act === undefined ? {} : { act: request.act }),
    };
    const reply = await deps.actors.ask(businessRef(request.businessUuid), command);
    if (reply.status === "admitted") keepParsed(deps, request, planned);
    if (reply.status !== "plan_stale") return reply;
    pending = reply.pending;
    isPlanned = true;
  }
  return { status: "busy", retry_after_seconds: 1 };
}

/** The refusal of a batch that was staged but not admitted. */
async function notAdmitted(
  staged: StagedBatch,
  admitted: Exclude<Admitted, { status: "admitted" }>,
): Promise<Refused> {
  if (admitted.status === "refused") await staged.drop();
  return admissionRefused(admitted);
}

/** The refusal of what the business did not admit. */
export function admissionRefused(admitted: Exclude<Admitted, { status: "admitted" }>): Refused {
  if (admitted.status === "refused") return refusedAs(admitted);
  const { retry_after_seconds, reason = "pushes_waiting" } = admitted;
  return rateLimited(`${unfair[reason]} Resend this batch later.`, { retry_after_seconds, reason });
}

const unfair = {
  holds_waiting:
    "Many pushes of this business are held, and this one would be as well: decide on those first.",
  pushes_waiting: "Too many pushes of this business are waiting.",
  push_rate: "This business publishes more batches a minute than fair use allows.",
  records_unchanged: "This business has published exactly these records as often today as fair use allows.",
} as const;

/** For its chunks or, if it is to be held, for its judgement; once it is confirmed, which may be days later, it is parsed again. */
function keepParsed({ parsed }: PublishServices, request: AdmitRequest, planned: Planned | null): void {
  if (planned === null) return;
  const bytes = request.records.reduce((sum, record) => sum + record.length, 0);
  parsed.put(pushRef(request.businessUuid, request.pushId).id, planned.leaves, bytes);
}

/**
 * What the business decides by; for a large plan, the reasons to hold it, which are found in pieces (PL1 in push-plan.ts) while it is
 * stored.
 */
async function compare(
  deps: PublishServices,
  { businessUuid, pushId }: AdmitRequest,
  { listings }: Planned,
  pending: readonly string[],
): Promise<Pick<CommandOf<BusinessProtocol, "push.admit">, "plan" | "held_reasons"> | "too_many"> {
  const storing = storePlan(deps, pushRef(businessUuid, pushId).id, listings);
  if (isLarge([listings])) storing.catch(() => {});
  else await storing;
  const plans = await comparisonOf(deps, { businessUuid, pushId }, { listings, pending });
  if (plans instanceof CatalogueComparison) {
    await plans.note(listings);
    const held_reasons = await plans.heldReasons();
    await storing;
    return { plan: { pending, earlier: [], listings: [] }, held_reasons };
  }
  await storing;
  return plans === "too_many" ? plans : { plan: { ...plans, listings } };
}

// The last steps of an accepted push, for batches and for records sealed alone: acceptance, and waiting for its
// outcomes.
//   A1. What was staged long ago may have been dropped as abandoned in the meantime, so a push must be accepted within a
//       limited time of the instant just before it was staged. The push's own actor checks that when it decides: a
//       request may stall anywhere on its way there, together with its process, for any length of time.

/** An hour: far longer than a request takes, and far shorter than the age at which a push is dropped. */
export const acceptWithinMsDefault = 3_600_000;

type Accept = Extract<PushCommand, { type: "push.accept" }>;

export interface Staged {
  /** Read before anything was staged. */
  readonly stagingAtMs: number;
  readonly acceptWithinMs?: number | undefined;
}

/**
 * The report of a queued push, if its actor returns one on acceptance. Throws {@link StoreError} `not_applied` when it
 * is too late (A1); sending the push again then stages it again.
 */
export async function acceptPush(
  actors: ActorSystem,
  push: ActorRef<"push">,
  accept: Pick<Accept, "facts" | "held_reasons"> &
    Staged & {
      readonly sealLeaf: string;
      readonly holdMs?: number | undefined;
    },
): Promise<PushReport | null> {
  const {
    facts,
    held_reasons,
    sealLeaf: seal_leaf,
    stagingAtMs,
    acceptWithinMs = acceptWithinMsDefault,
    holdMs,
  } = accept;
  const accept_by_ms = stagingAtMs + acceptWithinMs;
  const hold = held_reasons.length === 0 || holdMs === undefined ? {} : { hold_ms: holdMs };
  const command: Accept = { type: "push.accept", facts, held_reasons, ...hold, seal_leaf, accept_by_ms };
  const reply = await actors.ask(push, command);
  if (reply.status === "late")
    throw new StoreError("not_applied", "the push was staged too long ago and must be sent again");
  return reply.report ?? null;
}

/** Half the request time-out of typical balancers and callers. */
const settledWithinMs = 30_000;

/**
 * The push once its records are settled or held. Throws a transient failure if that takes too long: the push continues,
 * and sending it again waits for it again.
 */
export async function awaitSettled(actors: ActorSystem, push: ActorRef<"push">): Promise<PushReport> {
  return reportOf(await actors.ask(push, { type: "push.await" }, { timeoutMs: settledWithinMs }));
}

/** The report of an accepted push. If the push does not know of itself, that is a bug of ours. */
export function reportOf(report: PushReport | null): PushReport {
  if (report === null) throw new Error("A push that was accepted does not know of it.");
  return report;
}

// Whether queued pushes are processed now. While they are not, batches of up to 500 records are processed in the request;
// a larger batch is accepted and refused as unavailable, and continues when it is sent again, or by itself later.

/** Batches of up to this many records are processed within the request. */
export function inlineMaxOf(background: Background | undefined): number {
  return background?.isAvailable() === false ? inlineFallbackMax : inlineRecordsMax;
}

const retrySeconds = 60;

export const backgroundUnavailable: Refused = refusedWith(
  "unavailable",
  "The batch is accepted, but batches of this size are not processed now; send it again later, with a new signature, to continue it.",
  { reason: "background_unavailable", retry_after_seconds: retrySeconds },
  { "retry-after": String(retrySeconds) },
);
