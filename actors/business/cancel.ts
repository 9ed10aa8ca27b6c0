// Cancelling a push: decided here, because the assignment of its first chunk is decided here as well, so exactly one of the
// two happens.
//   C1. A push is cancelled only before any of its records has a generation. From then on it takes none (`cancelled`), however
//       late an assignment arrives.
//   C2. Cancelling again is answered as the first time, for as long as the note of it is kept.

import type { BusinessEvent } from "../../machines/business.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { AssignReply, BusinessCommand, CancelReply } from "../messages/business.ts";
import type { Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { admissions, answerKey, answers } from "./rows.ts";
import type { BusinessView } from "./view.ts";

/** Far longer than an activity that asks for a chunk can be under way. */
const keptMs = 30 * 86_400_000;

const cancelled = defineJsonTable<{ readonly at_ms: number }>("cancelled pushes", 40);

type CancelCommand = Extract<BusinessCommand, { type: "push.cancel" }>;

export function selectForCancel({ push_id }: CancelCommand): readonly RowSelection[] {
  return [cancelled.select([push_id]), answers.select([answerKey(push_id, 0)])];
}

export function selectCancelled(pushId: string): RowSelection {
  return cancelled.select([pushId]);
}

export function cancelPush(
  { push_id }: CancelCommand,
  view: BusinessView,
): Decision<CancelReply, BusinessEvent> {
  if (cancelled.read(view, push_id)) return { reply: { status: "cancelled" } };
  const { pending, held } = view.snapshot.context;
  const isWaiting = pending.includes(push_id) || held.includes(push_id);
  if (!isWaiting || answers.read(view, answerKey(push_id, 0))) return { reply: { status: "too_late" } };
  const expiresAtMs = view.nowMs + keptMs;
  return {
    reply: { status: "cancelled" },
    events: [{ type: "push.cancelled", push_id }],
    puts: [cancelled.write(push_id, { at_ms: view.nowMs }, { expiresAtMs })],
    deletes: [admissions.key(push_id)],
  };
}

/** The answer to an assignment for a cancelled push (C1); null for any other push. */
export function refusedAssignment(pushId: string, view: BusinessView): AssignReply | null {
  if (!cancelled.read(view, pushId)) return null;
  return { assigned_at_ms: view.nowMs, assignments: [], cancelled: true };
}
