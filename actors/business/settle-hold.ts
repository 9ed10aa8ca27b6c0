// The decision on a held push.
//   H1. A hold is decided once. The same decision again, by whichever document, changes nothing; the other one is refused.
//   H2. A confirmed push is judged again by what is in force in the commit of the decision: what was revoked, or came into force,
//       while the push was held ends it, with the reason. What only ran out in the meantime does not: it was sealed in time.
//   H3. Decisions are kept for ever, with the document: who decided what, when, and what came of it.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { sealedAtSkewMs } from "../../protocol/limits.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { HeldPush, HoldFault, HoldReply, HoldsReply, KeptDecision } from "../messages/admission.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { Decision } from "../system/definition.ts";
import { publishes } from "./admit.ts";
import { keyStatus } from "./mandates.ts";
import {
  admissions,
  admittedNumbers,
  type BusinessView,
  factsIn,
  holdDecisions,
  mandatePrefix,
  registerOf,
  selectRegister,
} from "./rows.ts";

type SettleCommand = CommandOf<BusinessProtocol, "hold.settle">;

/** Selects what {@link settleHold} reads, besides the admissions. */
export function selectForSettlement({ push_id, held }: SettleCommand): readonly RowSelection[] {
  const mandates = held.mandate_ids.map((id) => `${mandatePrefix}${id}`);
  return [holdDecisions.select([push_id]), ...selectRegister([`key/${held.key_id}`, ...mandates])];
}

/** Confirms or rejects a held push; a decision is never changed. */
export function settleHold(command: SettleCommand, view: BusinessView): Decision<HoldReply, BusinessEvent> {
  const { push_id, confirmed, decision } = command;
  const { context } = view.snapshot;
  const known = holdDecisions.read(view, push_id);
  if (known !== undefined) {
    return known.confirmed === confirmed
      ? { reply: { status: "done" } }
      : refused("hold_decided", `The push was ${known.confirmed ? "confirmed" : "rejected"} before.`);
  }
  if (!context.held.includes(push_id)) return refused("hold_unknown", "This push is not held.");
  const sealedAtMs = parseTimestamp(decision.at);
  if (sealedAtMs === null || Math.abs(view.nowMs - sealedAtMs) > sealedAtSkewMs)
    return refused("sealed_at_skew", "A decision must be sealed within five minutes of its receipt.");
  const fault = confirmed ? (faultOf(command.held, view) ?? command.fallen) : null;
  const kept: KeptDecision = { ...decision, confirmed, decided_at: formatTimestamp(view.nowMs), fault };
  const numbers = admittedNumbers(view);
  const number = numbers.get(push_id) ?? context.number;
  const isPublished = confirmed && fault === null;
  return {
    reply: { status: "done" },
    events: [
      {
        type: "hold.settled",
        push_id,
        confirmed: isPublished,
        position: context.pending.filter((id) => (numbers.get(id) ?? Number.POSITIVE_INFINITY) < number)
          .length,
        decision: {
          decision: confirmed ? "confirm" : "reject",
          key_id: kept.key_id,
          at: kept.at,
          decided_at: kept.decided_at,
        },
        ...(fault === null ? {} : { error: fault }),
      },
    ],
    puts: [
      holdDecisions.write(push_id, kept),
      // A push that is admitted again gets the decision that was made: it is not held again.
      ...(isPublished ? [admissions.write(push_id, { number, held_reasons: [] })] : []),
    ],
    ...(isPublished ? {} : { deletes: [admissions.key(push_id)] }),
  };
}

function refused(
  code: Extract<HoldReply, { status: "refused" }>["code"],
  detail: string,
): Decision<HoldReply, BusinessEvent> {
  return { reply: { status: "refused", code, detail } };
}

/** Why the push must not be published now (H2). */
function faultOf(held: HeldPush, view: BusinessView): HoldFault | null {
  const { certificate, policy } = view.snapshot.context;
  if (!publishes(view)) {
    return {
      code: "business_not_verified",
      detail: "The business had no active certificate when it confirmed.",
    };
  }
  const key = registerOf(view, `key/${held.key_id}`);
  if (key === undefined || keyStatus(factsIn("key", key)) === "revoked")
    return { code: "key_revoked", detail: "The key that sealed the push was revoked while it was held." };
  for (const id of held.mandate_ids) {
    const mandate = registerOf(view, `${mandatePrefix}${id}`);
    if (mandate === undefined || factsIn("mandate", mandate).revoked_at !== null)
      return { code: "mandate_revoked", detail: "A mandate of the push was revoked while it was held." };
  }
  if (certificate?.cert_id !== held.cert_id) {
    const detail = "Another certificate came into force while the push was held.";
    return { code: "certificate_not_in_force", detail };
  }
  if (policy.version !== held.ai_policy_version) {
    const detail = `AI policy version ${policy.version} came into force while the push was held.`;
    return { code: "ai_policy_version_mismatch", detail };
  }
  return null;
}

/** The held pushes by number; a push whose hold was just decided is not among them. */
export function readHolds(
  { after, limit }: CommandOf<BusinessProtocol, "holds.read">,
  view: BusinessView,
): Decision<HoldsReply, BusinessEvent> {
  const numbers = admittedNumbers(view);
  const numbered = view.snapshot.context.held.map((push_id) => ({
    push_id,
    number: numbers.get(push_id) ?? 0,
  }));
  const left = numbered.filter(({ number }) => number > after).sort((a, b) => a.number - b.number);
  return { reply: { holds: left.slice(0, limit) } };
}
