// Admission of a push: its number, and whether it is held.

import type { BusinessContext } from "../../machines/business.ts";
import { holdThreshold } from "../../protocol/listings.ts";
import type {
  AdmitReply,
  BusinessCommand,
  HeldReason,
  Listings,
  PushPlan,
  RegisterReply,
} from "../messages/business.ts";
import type { ActorView, Decision, Message } from "../system/definition.ts";
import { countListings } from "./assign.ts";
import { lastNumber } from "./eras.ts";
import { decideHold } from "./hold.ts";
import { admissionOf, headOf, rt } from "./rows.ts";

/** Pushes of one business that may wait at once; more are told to come back. */
export const pendingMax = 256;

export function admitPush(
  command: Extract<BusinessCommand, { type: "push.admit" }>,
  view: ActorView,
): Decision<AdmitReply> {
  const context = view.snapshot.context as BusinessContext;
  const known = admissionOf(view, command.push_id);
  if (known) return { reply: admitted(known.number, known.held_reasons) };
  if (context.pending.length + context.held.length >= pendingMax) {
    return { reply: { status: "busy", retry_after_seconds: 5 } };
  }
  if (command.may_hold && !isPlanned(command.plan, context)) {
    return { reply: { status: "plan_stale", pending: context.pending } };
  }
  const number = lastNumber(view, context.number) + 1;
  const reasons =
    command.may_hold && command.plan ? decideHold(holdQuestion(command.plan, context, view)) : [];
  return {
    reply: admitted(number, reasons),
    events: [
      { type: "push.admitted", push_id: command.push_id, number, held: reasons.length > 0 } as Message,
    ],
    puts: [
      {
        rt: rt.admission,
        k: 0,
        k2: command.push_id,
        body: JSON.stringify({ number, held_reasons: reasons }),
      },
    ],
  };
}

function admitted(number: number, reasons: readonly HeldReason[]): AdmitReply {
  return { status: "admitted", number, held: reasons.length > 0, held_reasons: reasons };
}

/** Whether the plan fits what the business has now; none does while there is nothing that a push could shock. */
function isPlanned(plan: PushPlan | null, context: BusinessContext): boolean {
  return plan === null
    ? context.listings < holdThreshold && context.pending.length === 0
    : sameSet(plan.pending, context.pending);
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

/** Listings as they will stand before this push: those applied, overlaid by the pending pushes, oldest first. */
function holdQuestion(plan: PushPlan, context: BusinessContext, view: ActorView) {
  const overlay = new Map<string, Listings>(plan.earlier.flat());
  const applied = (recordId: string): Listings => {
    const head = headOf(view, recordId);
    return head?.live ? head.listings : {};
  };
  let catalogueListings = context.listings;
  for (const [recordId, listings] of overlay) {
    catalogueListings += countListings(listings) - countListings(applied(recordId));
  }
  return {
    catalogueListings,
    before: (recordId: string): Listings => overlay.get(recordId) ?? applied(recordId),
    plan: plan.listings,
  };
}

export function settleHold(
  command: Extract<BusinessCommand, { type: "hold.settle" }>,
  view: ActorView,
): Decision<RegisterReply> {
  const context = view.snapshot.context as BusinessContext;
  if (!context.held.includes(command.push_id)) {
    return { reply: { status: "refused", code: "hold_unknown", detail: "This push is not held." } };
  }
  const { push_id, confirmed } = command;
  const number = admissionOf(view, push_id)?.number ?? context.number;
  const earlier = context.pending.filter((id) => (admissionOf(view, id)?.number ?? 0) < number);
  const row = { rt: rt.admission, k: 0, k2: push_id };
  return {
    reply: { status: "done" },
    events: [{ type: "hold.settled", push_id, confirmed, position: earlier.length } as Message],
    // Whoever accepts the push only now, after a crash, is told what was decided: it is not held again.
    ...(confirmed
      ? { puts: [{ ...row, body: JSON.stringify({ number, held_reasons: [] }) }] }
      : { deletes: [row] }),
  };
}
