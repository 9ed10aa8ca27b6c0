// POST /v1/pushes/{push_id}/hold: an owner or admin confirms or rejects a held push. The document is judged here, the hold by the
// business's actor, which decides once (H1 to H3 in actors/business/settle-hold.ts).
// Also the list of held pushes (GET /v1/holds) and the cancelling of a push.
//   D1. The request is delivered under any live integration key of the business: who decides is shown by the document alone.
//   D2. The same document again is answered with what the push has become; so a lost answer is repaired by sending it again.
//   D3. An answer is sent only once the push has taken the decision.
//   D4. Nothing is decided about a push that does not know yet that it is held: it would not hear of the decision.

import type { HoldFault } from "../../actors/messages/admission.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { type ActorRef, businessRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { isPushId } from "../../protocol/identifiers.ts";
import type { HeldPushes } from "../../protocol/wire/push.ts";
import type { HoldDecision } from "../../protocol/withdrawal.ts";
import { verifyHoldDecision } from "../../verifier/service-statements.ts";
import {
  answerJson,
  type Caller,
  isRefused,
  type Outcome,
  type Refused,
  refusedAs,
  refusedWith,
  sealRefused,
  wrongParameter,
} from "../answer.ts";
import { findMandates, fromSource, judgeMandateAgain, ofType } from "../register/find-mandate.ts";
import { keysOf, mayBind, readSigner } from "../register/home-evidence.ts";
import { reportOf } from "./accept-batch.ts";
import type { PublishServices } from "./publish-batch.ts";
import { isOwnBatch, pushStatus, pushUnknown, wholeStatus } from "./push-status.ts";

export interface DecideHoldRequest {
  readonly caller: { readonly party: Pick<Caller["party"], "uuid"> };
  readonly pushId: string;
  /** The sealed decision (protocol/withdrawal.ts). */
  readonly decision: Envelope;
  /** The person who decided at the portal. */
  readonly act?: RegisterAct;
}

/** How long a push may take to hear of its decision; usually it is milliseconds. */
const heardWithinMs = 10_000;

/** POST /v1/pushes/{push_id}/hold: a sealed decision confirms or rejects a held push. */
export async function decideHold(deps: PublishServices, request: DecideHoldRequest): Promise<Outcome> {
  const { actors } = deps;
  const { uuid } = request.caller.party;
  if (!isPushId(request.pushId)) return pushUnknown();
  const push = pushRef(uuid, request.pushId);
  const report = await actors.ask(push, wholeStatus);
  if (report === null || !isOwnBatch(report, uuid)) return pushUnknown();
  const sealed = await judgeDecision(deps, request);
  if (isRefused(sealed)) return sealed;
  if (!mayBeDecided(report)) return notHeld(report, "This push is not held.");
  const { facts } = report;
  const confirmed = sealed.decision === "confirm";
  const reply = await actors.ask(businessRef(uuid), {
    type: "hold.settle",
    push_id: request.pushId,
    confirmed,
    held: {
      key_id: facts.key_id,
      mandate_ids: (facts.mandates ?? []).map(({ mandate_id }) => mandate_id),
      cert_id: facts.cert_id,
      ai_policy_version: facts.ai_policy_version,
    },
    decision: {
      key_id: request.decision.signatures[0]?.keyid ?? "",
      at: sealed.at,
      envelope: JSON.stringify(request.decision),
    },
    fallen: confirmed ? await mandateFault(deps, uuid, report) : null,
    ...(request.act === undefined ? {} : { act: request.act }),
  });
  if (reply.status === "refused") {
    if (reply.code === "sealed_at_skew") return sealRefused(reply.code, reply.detail);
    return notHeld(await heard(deps, push), reply.detail);
  }
  const settled = await heard(deps, push);
  // The hold was over before the decision reached the push.
  if ((settled.hold_decision ?? null) === null) return notHeld(settled, "The hold was over before.");
  return answerJson(200, pushStatus(settled));
}

/** D4: a push that is held now, or whose hold was decided before. */
function mayBeDecided({ state, hold_decision: decided = null }: PushReport): boolean {
  return state === "held" || decided !== null;
}

/** The push once it has heard that it is not held any more, by a decision, a cancellation or the end of its time. */
async function heard({ actors }: PublishServices, push: ActorRef<"push">): Promise<PushReport> {
  return reportOf(await actors.ask(push, { type: "hold.await" }, { timeoutMs: heardWithinMs }));
}

/** The decision, sealed by an owner's or admin's passkey that is live now, about this push. */
async function judgeDecision(
  { actors, clock, trust }: PublishServices,
  { caller, pushId, decision: envelope }: DecideHoldRequest,
): Promise<HoldDecision | Refused> {
  const { uuid } = caller.party;
  const key = await readSigner(actors, uuid, envelope);
  const verified = verifyHoldDecision(trust(), keysOf(uuid, [key]), envelope);
  if (!verified.ok) return sealRefused(verified.code, verified.detail);
  const allowed = key === null ? null : mayBind(key, clock.now());
  if (allowed !== null && !allowed.ok) {
    if (allowed.code !== "role_not_allowed") return sealRefused(allowed.code, allowed.detail);
    return refusedAs({ code: allowed.code, detail: "Only an owner or admin may decide about a held push." });
  }
  return verified.value.push_id === pushId
    ? verified.value
    : sealRefused("out_of_scope", "The decision is about another push.");
}

/** A passkey that turns out to have been compromised earlier has authorised nothing: its mandates have fallen. */
async function mandateFault(
  deps: PublishServices,
  uuid: string,
  { facts: { mandates } }: PushReport,
): Promise<HoldFault | null> {
  for (const { mandate_id } of mandates ?? []) {
    const standing = await judgeMandateAgain(deps, uuid, { mandate_id });
    if (!standing.ok)
      return { code: "mandate_revoked", detail: `A mandate of the push does not stand: ${standing.detail}` };
  }
  return null;
}

function notHeld({ state, hold_decision: decided = null, error }: PushReport, detail: string): Refused {
  const became = error === null ? state : error.code;
  return refusedWith(
    "push_not_held",
    `${detail} The push is ${state}${error === null ? "" : ` (${error.code})`}.`,
    {
      reason: decided === null ? became : `${decided.decision}ed`,
    },
  );
}

// GET /v1/holds: the held pushes of a business, oldest first, with the reasons for which they wait.

/** Number of held pushes in one answer: each is asked for its own report. */
export const holdsPageMax = 20;

export interface ListHoldsRequest {
  readonly caller: { readonly party: Pick<Caller["party"], "uuid"> };
  /** The `next_cursor` of the previous page; null for the first page. */
  readonly cursor: string | null;
}

/** GET /v1/holds: the held pushes of the caller's business. */
export async function listHolds(
  { actors }: { readonly actors: ActorSystem },
  { caller, cursor }: ListHoldsRequest,
): Promise<Outcome> {
  const after = cursor === null ? 0 : parseCursor(cursor);
  if (after === null) {
    return wrongParameter("cursor", "cursor must be the next_cursor of an earlier page.");
  }
  const { uuid } = caller.party;
  const { holds } = await actors.ask(businessRef(uuid), { type: "holds.read", after, limit: holdsPageMax });
  const reports = await Promise.all(
    holds.map(({ push_id }) =>
      actors.ask(pushRef(uuid, push_id), { type: "push.status", outcome: null, from_leaf: 0, limit: 0 }),
    ),
  );
  const last = holds.at(-1);
  const body: HeldPushes = {
    // A push that was numbered and is not accepted yet, or whose hold has just ended, is not held.
    holds: reports.flatMap((report) =>
      report?.state === "held" && report.hold_expires_at !== null
        ? [
            {
              push_id: report.facts.push_id,
              seq: report.facts.seq,
              key_id: report.facts.key_id,
              records: report.facts.records,
              received_at: report.facts.received_at,
              hold_expires_at: report.hold_expires_at,
              held_reasons: report.held_reasons,
              status_url: `/v1/pushes/${report.facts.push_id}`,
            },
          ]
        : [],
    ),
    next_cursor: last === undefined || holds.length < holdsPageMax ? null : `hold-${last.number}`,
  };
  return answerJson(200, body);
}

function parseCursor(cursor: string): number | null {
  return /^hold-(0|[1-9][0-9]{0,14})$/.test(cursor) ? Number(cursor.slice(5)) : null;
}

// POST /v1/pushes/{push_id}/cancel: ends a push of which nothing is published yet.
//   K1. The business actor decides, since it also decides when the first records are published; the push learns of it through
//       that actor's outbox, so a crash at any point leaves no push half cancelled.
//   K2. Sent again, it is answered again, and changes nothing.
//   K3. From an address outside the allow-list, every push is refused alike, whether it exists or not.

export interface CancelRequest {
  readonly caller: Caller;
  readonly pushId: string;
  /** The address that the request comes from; null if it cannot be determined. */
  readonly sourceIp: string | null;
}

/** How long the push may take to learn of the decision; after that the request is refused as unavailable. */
const endedWithinMs = 10_000;
/** The `error.code` of a cancelled push. */
const cancelledCode = "cancelled";

/** POST /v1/pushes/{push_id}/cancel. */
export async function cancelPush(deps: PublishServices, request: CancelRequest): Promise<Outcome> {
  const { actors, clock } = deps;
  const { party, key } = request.caller;
  if (!isPushId(request.pushId)) return pushUnknown();
  const home = businessRef(party.uuid);
  const facts = await actors.ask(home, { type: "publishing.facts", key_id: key.key_id });
  const inForce = await findMandates(deps, party.uuid, { facts, nowMs: clock.now() });
  if (isRefused(inForce)) return inForce;
  const mandates = fromSource(inForce, request.sourceIp, deps.asTable());
  if (isRefused(mandates)) return mandates;
  const push = pushRef(party.uuid, request.pushId);
  const report = await actors.ask(push, wholeStatus);
  if (report === null || !isOwnBatch(report, party.uuid)) return pushUnknown();
  const covering = ofType(mandates, report.facts.collection);
  if (isRefused(covering)) return covering;
  // A push that has settled records may be admitted again by a late resend; its business would not know them any more.
  if (isCancelled(report) || report.settled > 0 || report.state === "complete") return answerOf(report);
  const { status } = await actors.ask(home, { type: "push.cancel", push_id: request.pushId });
  if (status === "cancelled")
    await actors.ask(push, { type: "push.await", until: "over" }, { timeoutMs: endedWithinMs });
  // Whatever was decided meanwhile, the push says what became of it.
  return answerOf(reportOf(await actors.ask(push, wholeStatus)));
}

function isCancelled({ state, error }: PushReport): boolean {
  return state === "failed" && error?.code === cancelledCode;
}

function answerOf(report: PushReport): Outcome {
  if (isCancelled(report)) return answerJson(200, pushStatus(report));
  const isOver = report.state === "complete" || report.state === "failed";
  const detail = isOver
    ? "The push is over."
    : "Records of the push are already being published; withdraw the ones that should not be served.";
  return refusedWith("push_not_cancellable", detail);
}
