// The hold of a push that was admitted without a plan, because its records are in a file: the push itself compares them with
// the catalogue, piece by piece, and the business holds it if there is reason to.
//   L1. The decision is made once: a push that is held, or whose hold was settled, is not held again.

import type { BusinessEvent } from "../../machines/business.ts";
import type { BusinessProtocol, RegisterReply } from "../messages/business.ts";
import type { ListingsReply } from "../messages/listings.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { type Decision, takenOf } from "../system/definition.ts";
import { heldRows } from "./record-texts.ts";
import { admissions, heads, lastPrices } from "./rows.ts";
import type { BusinessView } from "./view.ts";

export function readListings(
  { push_id, record_ids }: CommandOf<BusinessProtocol, "listings.read">,
  view: BusinessView,
): { readonly reply: ListingsReply } {
  const { context } = view.snapshot;
  const isHeld = context.held.includes(push_id);
  return {
    reply: {
      listings: context.listings,
      pending: context.pending,
      held_reasons: isHeld ? (admissions.read(view, push_id)?.held_reasons ?? []) : null,
      records: record_ids.flatMap((record_id) => {
        const head = heads.read(view, record_id);
        if (head === undefined) return [];
        const { bpid, live, listings } = head;
        return [{ record_id, bpid, listings: live ? listings : {}, former: lastPrices(head) }];
      }),
    },
  };
}

export function holdPush(
  { push_id, held_reasons }: CommandOf<BusinessProtocol, "push.hold">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  const known = admissions.read(view, push_id);
  const events = takenOf(view, { type: "push.held", push_id });
  if (events.length === 0 || known === undefined) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    events,
    puts: [admissions.write(push_id, { ...known, held_reasons }), ...heldRows(push_id, held_reasons)],
  };
}
