// POST /v1/pushes/{push_id}/hold: an owner or admin confirms or rejects a held push. The document is judged here, the hold by the
// business's actor, which decides once (H1 to H3 in actors/business/settle-hold.ts).
//   D1. The request is delivered under any live integration key of the business: who decides is shown by the document alone.
//   D2. The same document again is answered with what the push has become; so a lost answer is repaired by sending it again.
//   D3. An answer is sent only once the push has taken the decision.
//   D4. Nothing is decided about a push that does not know yet that it is held: it would not hear of the decision.

import type { HoldFault } from "../actors/messages/hold.ts";
import type { PushReport } from "../actors/messages/push.ts";
import { type ActorRef, businessRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock } from "../crypto/port.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import type { Envelope } from "../protocol/dsse.ts";
import type { HoldDecision } from "../protocol/hold-decision.ts";
import { isPushId } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { verifyHoldDecision } from "../verifier/hold-decision.ts";
import type { Trust } from "../verifier/trust.ts";
import { reportOf } from "./accept-push.ts";
import { answerJson, isRefused, type Outcome, type Refused, refused, refusedAs } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { judgeMandateAgain } from "./find-mandate.ts";
import { readSigner } from "./home-evidence.ts";
import { keysOf } from "./published-keys.ts";
import { isOwnBatch, pushStatus, pushUnknown, wholeStatus } from "./push-status.ts";
import { sealRefused } from "./seal-refused.ts";
import { mayBind } from "./sealing-key.ts";

export interface DecideHoldDeps {
  readonly actors: ActorSystem;
  readonly clock: Clock;
  readonly trust: () => Trust;
}

export interface DecideHoldRequest {
  readonly caller: { readonly party: Pick<Caller["party"], "uuid"> };
  readonly pushId: string;
  /** The sealed decision (protocol/hold-decision.ts). */
  readonly decision: Envelope;
}

/** How long a push may take to hear of its decision; usually it is milliseconds. */
const heardWithinMs = 10_000;

export async function decideHold(deps: DecideHoldDeps, request: DecideHoldRequest): Promise<Outcome> {
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
async function heard({ actors }: DecideHoldDeps, push: ActorRef<"push">): Promise<PushReport> {
  return reportOf(await actors.ask(push, { type: "hold.await" }, { timeoutMs: heardWithinMs }));
}

/** The decision, sealed by an owner's or admin's passkey that is live now, about this push. */
async function judgeDecision(
  { actors, clock, trust }: DecideHoldDeps,
  { caller, pushId, decision: envelope }: DecideHoldRequest,
): Promise<HoldDecision | Refused> {
  const { uuid } = caller.party;
  const key = await readSigner(actors, uuid, envelope);
  const verified = verifyHoldDecision(trust(), keysOf(uuid, [key]), envelope as unknown as JsonValue);
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
  deps: DecideHoldDeps,
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
  return refused(
    problem("push_not_held", `${detail} The push is ${state}${error === null ? "" : ` (${error.code})`}.`, {
      reason: decided === null ? became : `${decided.decision}ed`,
    }),
  );
}
