// Cancelling a push: decided by the actor that decides the assignment of its first chunk as well (assign-chunk.ts), so exactly
// one of the two happens.
//   C1. A push is cancelled only before any of its records has a generation. From then on it takes none (`cancelled`), however
//       late an assignment arrives.
//   C2. Cancelling again is answered as the first time, for as long as the note of it is kept.

import type { BusinessEvent } from "../../machines/business.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { AssignReply, BusinessCommand, CancelReply } from "../messages/business.ts";
import { type Decision, takenOf } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { admissions, answerKey, answers, type BusinessView } from "./rows.ts";

/** Far longer than an activity that asks for a chunk can be under way. */
const keptMs = 30 * 86_400_000;

const cancelled = defineJsonTable<{ readonly at_ms: number; readonly by_operator?: true }>(
  "cancelled pushes",
  40,
);

type CancelCommand = Extract<BusinessCommand, { type: "push.cancel" }>;

/** The rows that tell whether a push was cancelled, or has versions already. */
export function selectForCancel({ push_id }: CancelCommand): readonly RowSelection[] {
  return [cancelled.select([push_id]), answers.select([answerKey(push_id, 0)])];
}

/** The row that tells whether a push was cancelled. */
export function selectCancelled(pushId: string): RowSelection {
  return cancelled.select([pushId]);
}

/** Cancels a push of which no chunk was assigned; `too_late` for any other. */
export function cancelPush(
  { push_id, act }: CancelCommand,
  view: BusinessView,
): Decision<CancelReply, BusinessEvent> {
  if (cancelled.read(view, push_id)) return { reply: { status: "cancelled" } };
  const events = takenOf(view, { type: "push.cancelled", push_id, ...(act === undefined ? {} : { act }) });
  if (events.length === 0 || answers.read(view, answerKey(push_id, 0)))
    return { reply: { status: "too_late" } };
  const expiresAtMs = view.nowMs + keptMs;
  const by = act === undefined ? {} : ({ by_operator: true } as const);
  return {
    reply: { status: "cancelled" },
    events,
    puts: [cancelled.write(push_id, { at_ms: view.nowMs, ...by }, { expiresAtMs })],
    deletes: [admissions.key(push_id)],
  };
}

/** The answer to an assignment for a cancelled push (C1); null for any other push. */
export function refusedAssignment(pushId: string, view: BusinessView): AssignReply | null {
  const found = cancelled.read(view, pushId);
  if (!found) return null;
  const by = found.by_operator === true ? ({ by_operator: true } as const) : {};
  return { assigned_at_ms: view.nowMs, assignments: [], cancelled: true, ...by };
}
