// Admission of a push: its number, and whether it is held.

import type { BusinessContext, BusinessEvent } from "../../machines/business.ts";
import { holdThreshold } from "../../protocol/listings.ts";
import { noteWork } from "../../std/work.ts";
import type { AdmitReply } from "../messages/admission.ts";
import type { BusinessCommand, HeldReason, Listings, PushPlan } from "../messages/business.ts";
import type { Decision } from "../system/definition.ts";
import { countListings } from "./assign.ts";
import { listedRows } from "./attempts.ts";
import { judgeFairUse } from "./fair-use.ts";
import { decideHold } from "./hold.ts";
import { heldRows } from "./record-texts.ts";
import { admissions, heads, heldMax, lastPrices, pendingMax } from "./rows.ts";
import { lastNumber } from "./terms.ts";
import type { BusinessView } from "./view.ts";

export function admitPush(
  command: Extract<BusinessCommand, { type: "push.admit" }>,
  view: BusinessView,
): Decision<AdmitReply, BusinessEvent> {
  const { push_id } = command;
  const reply = judgeAdmission(command, view);
  if (reply.status !== "admitted" || admissions.read(view, push_id)) return { reply };
  const fair = judgeFairUse(command, view);
  if ("busy" in fair) return { reply: fair.busy };
  const { number, held, held_reasons } = reply;
  const { records, received_at_ms: at_ms } = command;
  const more = [...heldRows(push_id, held_reasons), ...fair.puts];
  const events: readonly BusinessEvent[] = [{ type: "push.admitted", push_id, number, held }];
  if (at_ms === undefined)
    return { reply, events, puts: [admissions.write(push_id, { number, held_reasons }), ...more] };
  return {
    reply: { ...reply, received_at_ms: at_ms },
    events,
    puts: [
      admissions.write(push_id, { number, held_reasons, received_at_ms: at_ms }),
      ...listedRows({ at_ms, id: push_id }, { number, records }, view),
      ...more,
    ],
  };
}

type AdmissionQuestion = Pick<
  Extract<BusinessCommand, { type: "push.admit" }>,
  "push_id" | "may_hold" | "plan" | "held_reasons"
>;

/** The answer to an admission as of now; it changes nothing. */
export function judgeAdmission(question: AdmissionQuestion, view: BusinessView): AdmitReply {
  const { context } = view.snapshot;
  const { push_id, may_hold, plan } = question;
  const known = admissions.read(view, push_id);
  if (known) {
    const { received_at_ms } = known;
    const again = admitted(known.number, known.held_reasons);
    return received_at_ms === undefined ? again : { ...again, received_at_ms };
  }
  if (!publishes(view)) return notVerified;
  if (context.pending.length + context.held.length >= pendingMax) {
    return { status: "busy", retry_after_seconds: 5 };
  }
  if (may_hold && !isPlanned(plan, context)) return { status: "plan_stale", pending: context.pending };
  const number = lastNumber(view, context.number) + 1;
  const reasons =
    question.held_reasons ?? (may_hold && plan ? decideHold(holdQuestion(plan, context, view)) : []);
  if (reasons.length > 0 && context.held.length >= heldMax) return holdsWaiting;
  return admitted(number, reasons);
}

/** People decide on holds, not machines: an hour is soon enough to ask again. */
const holdsWaiting: AdmitReply = { status: "busy", retry_after_seconds: 3_600, reason: "holds_waiting" };

const notVerified: AdmitReply = {
  status: "refused",
  code: "business_not_verified",
  detail: "Only a business with an active certificate may publish.",
};

/** AI companies have certificates in force as well, but publish nothing. */
export function publishes({ snapshot }: BusinessView): boolean {
  return snapshot.matches({ standing: "active" }) && snapshot.context.party?.kind === "business";
}

type AdmittedReply = Extract<AdmitReply, { readonly status: "admitted" }>;

function admitted(number: number, reasons: readonly HeldReason[]): AdmittedReply {
  return { status: "admitted", number, held: reasons.length > 0, held_reasons: reasons };
}

/**
 * Whether the plan matches the current state of the business; no plan is needed while there is nothing that a push could
 * shock.
 */
function isPlanned(plan: PushPlan | null, context: BusinessContext): boolean {
  return plan === null
    ? context.listings < holdThreshold && context.pending.length === 0
    : sameSet(plan.pending, context.pending);
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

/** The listings as they will be before this push: the applied ones, overlaid by the pending pushes, oldest first. */
function holdQuestion(plan: PushPlan, context: BusinessContext, view: BusinessView) {
  const planned = plan.earlier.flat();
  noteWork("value", planned.length);
  const overlay = new Map<string, Listings>(planned);
  const applied = (recordId: string): Listings => {
    const head = heads.read(view, recordId);
    return head?.live ? head.listings : {};
  };
  let catalogueListings = context.listings;
  for (const [recordId, listings] of overlay) {
    catalogueListings += countListings(listings) - countListings(applied(recordId));
  }
  return {
    catalogueListings,
    before: (recordId: string): Listings => overlay.get(recordId) ?? applied(recordId),
    former: (recordId: string): Listings => lastPrices(heads.read(view, recordId)),
    plan: plan.listings,
    ownIdOf: (recordId: string): string | null => heads.read(view, recordId)?.bpid ?? null,
  };
}
