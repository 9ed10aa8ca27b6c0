// POST /v1/pushes/{push_id}/cancel: ends a push of which nothing is published yet.
//   K1. The business actor decides, since it also decides when the first records are published; the push learns of it through
//       that actor's outbox, so a crash at any point leaves no push half cancelled.
//   K2. Sent again, it is answered again, and changes nothing.
//   K3. From an address outside the allow-list, every push is refused alike, whether it exists or not.

import type { PushReport } from "../actors/messages/push.ts";
import { businessRef, pushRef } from "../actors/messages/refs.ts";
import type { Clock } from "../crypto/port.ts";
import { isPushId } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { reportOf } from "./accept-push.ts";
import { answerJson, isRefused, type Outcome, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { type FindMandateDeps, findMandates } from "./find-mandate.ts";
import { fromSource, ofType } from "./mandate-scope.ts";
import { isOwnBatch, pushStatus, pushUnknown, wholeStatus } from "./push-status.ts";

export interface CancelDeps extends FindMandateDeps {
  readonly clock: Clock;
}

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

export async function cancelPush(deps: CancelDeps, request: CancelRequest): Promise<Outcome> {
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
  return refused(problem("push_not_cancellable", detail));
}
