// The price-shock hold (specification, «Limits»): decided once, at acceptance, over the whole batch and everything that is
// accepted but not yet applied. It concerns catalogues of 20 or more listings where more than 1/5 of prices changed, any price
// changed by more than 1/2, or more than 1/5 of listings were removed. A listing is (record, country).

import { holdThreshold } from "../../protocol/listings.ts";
import { millionthsOf } from "../../protocol/money.ts";
import type { HeldReason, Listings, PlannedListings } from "../messages/business.ts";

export interface HoldQuestion {
  /** Number of listings of the whole catalogue before this push, including pending pushes. */
  readonly catalogueListings: number;
  /** The listings of a record before this push, including pending pushes; empty for a new record. */
  readonly before: (recordId: string) => Listings;
  readonly plan: PlannedListings;
}

/** The reasons to hold the push; if there are none, it is published. */
export function decideHold(question: HoldQuestion): readonly HeldReason[] {
  if (question.catalogueListings < holdThreshold) return [];
  const shock = { changed: 0, removed: 0, jumps: 0, firstJump: "" };
  for (const [recordId, after] of question.plan) {
    const before = question.before(recordId);
    for (const country of Object.keys(before)) compareListing(shock, recordId, country, before, after);
  }
  const fifth = question.catalogueListings / 5;
  const reasons: HeldReason[] = [];
  if (shock.changed > fifth) {
    reasons.push({
      code: "price_changes",
      detail: `${shock.changed} of ${question.catalogueListings} prices would change, more than one fifth.`,
    });
  }
  if (shock.jumps > 0) {
    reasons.push({
      code: "price_jump",
      detail: `${shock.jumps} prices would change by more than half, the first ${shock.firstJump}.`,
    });
  }
  if (shock.removed > fifth) {
    reasons.push({
      code: "listings_removed",
      detail: `${shock.removed} of ${question.catalogueListings} listings would be removed, more than one fifth.`,
    });
  }
  return reasons;
}

interface Shock {
  changed: number;
  removed: number;
  jumps: number;
  firstJump: string;
}

function compareListing(
  shock: Shock,
  recordId: string,
  country: string,
  before: Listings,
  after: Listings,
): void {
  const was = before[country];
  const becomes = after[country];
  if (!was) return;
  if (!becomes) {
    shock.removed += 1;
    return;
  }
  if (was[0] === becomes[0] && was[1] === becomes[1]) return;
  const from = millionthsOf(was[0]);
  const to = millionthsOf(becomes[0]);
  if (was[1] === becomes[1] && from === to) return;
  shock.changed += 1;
  // A price in another currency cannot be compared, so it counts as a jump and a person reviews it.
  const change = to < from ? from - to : to - from;
  if (was[1] !== becomes[1] || change * 2n > from) {
    shock.jumps += 1;
    if (shock.jumps === 1)
      shock.firstJump = `${recordId} in ${country} from ${was.join(" ")} to ${becomes.join(" ")}`;
  }
}
