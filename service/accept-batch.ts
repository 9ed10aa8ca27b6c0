// The acceptance of a sealed batch whose content has been judged, wherever its records came from: what is checked only
// for a batch that was not accepted before, then the steps that store, charge, admit and accept it (W2, W3 in
// publish.ts).

import type { PushReport } from "../actors/messages/push.ts";
import { keyRef, pushRef } from "../actors/messages/refs.ts";
import type { Clock } from "../crypto/port.ts";
import { acceptPush } from "./accept-push.ts";
import { isRefused, type Refused } from "./answer.ts";
import { type Background, inlineMaxOf } from "./background.ts";
import type { Caller } from "./caller.ts";
import { capRefused, notCharged, seqRefused } from "./charge-refused.ts";
import type { FindMandateDeps } from "./find-mandate.ts";
import { readIssuances } from "./home-evidence.ts";
import { keptOf, sealedUnder } from "./mandate-scope.ts";
import { decideOwnNames } from "./own-names.ts";
import { type AdmitDeps, type AdmitRequest, admit, notAdmitted } from "./publish-admit.ts";
import type { SealedBatch } from "./publish-batch.ts";
import type { Gate, GateDeps } from "./publish-gate.ts";
import { checkStanding } from "./publish-standing.ts";
import { type BatchSource, batchFacts } from "./push-facts.ts";
import { wholeStatus } from "./push-status.ts";
import { sealRefused } from "./seal-refused.ts";
import type { StagedBatch } from "./staged-batch.ts";

export interface AcceptDeps extends FindMandateDeps, AdmitDeps {
  readonly clock: Clock;
  /** Absent where it is always available. */
  readonly background?: Background;
  /** The maximum time from staging to acceptance (default 1 h; A1 in accept-push.ts). */
  readonly acceptWithinMs?: number | undefined;
  /** How long a hold waits for a decision (default 30 days). */
  readonly holdMs?: number | undefined;
}

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
  { actors, clock }: GateDeps,
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
  deps: AcceptDeps,
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
  const chargedAtMs = charged.status === "accepted" ? deps.clock.now() : undefined;
  return admitAndAccept(deps, request, gate, { ...offered, staged, chargedAtMs });
}

async function admitAndAccept(
  deps: AcceptDeps,
  request: AcceptRequest,
  { facts, mandates: allowing }: Gate,
  offered: OfferedBatch & { readonly staged: StagedBatch; readonly chargedAtMs: number | undefined },
): Promise<{ readonly report: PushReport | null } | Refused> {
  const { party, key } = request.caller;
  const { sealed, source, staged, records, chargedAtMs: charged_ms } = offered;
  const push = pushRef(party.uuid, sealed.pushId);
  const ownNames = decideOwnNames(deps.lists, party.uuid, facts);
  const mandates = keptOf(sealedUnder(allowing, sealed.seal));
  const countries = mandates.map((each) => each.countries);
  const admission = {
    businessUuid: party.uuid,
    pushId: sealed.pushId,
    keyId: key.key_id,
    countries,
    root: sealed.seal.root,
  };
  const count = sealed.seal.tree_size;
  const { listings, pending } = facts;
  const plan =
    records === null
      ? { records: [], count, mayHold: false, listings: 0, pending: [] }
      : { records, count, mayHold: true, listings, pending };
  const offeredAtMs = facts.at_ms;
  const admitted = await admit(deps, { ...admission, ...plan, ownNames, receivedAtMs: offeredAtMs });
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
  const isNumberedNow = receivedAtMs === offeredAtMs;
  const times = {
    ...(charged_ms === undefined ? {} : { charged_ms }),
    ...(isNumberedNow ? { numbered_ms: deps.clock.now() } : {}),
  };
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
      times,
      sealLeaf: sealed.sealLeaf,
    }),
  };
}

const notTheCallers =
  "The seal's key_id is not the key that signed the request, and this batch was not accepted before.";
