// The price-shock hold (protocol/price-shock.ts): decided once, at acceptance, over the whole batch and everything that is
// accepted but not yet applied.

import { PriceShock } from "../../protocol/price-shock.ts";
import type { HeldReason, Listings, PlannedListings } from "../messages/business.ts";

export interface HoldQuestion {
  /** Number of listings of the whole catalogue before this push, including pending pushes. */
  readonly catalogueListings: number;
  /** The listings of a record before this push, including pending pushes; empty for a new record. */
  readonly before: (recordId: string) => Listings;
  /** The last prices of a record's listings, those that are gone among them. */
  readonly former?: (recordId: string) => Listings;
  readonly plan: PlannedListings;
  /** The business's own id of a record; null if it is not known yet. */
  readonly ownIdOf?: (recordId: string) => string | null;
}

/** The reasons to hold the push; if there are none, it is published. */
export function decideHold(question: HoldQuestion): readonly HeldReason[] {
  const { catalogueListings, before, former = () => ({}), plan, ownIdOf = () => null } = question;
  const shock = new PriceShock();
  for (const [recordId, after] of plan)
    shock.add({
      ...{ recordId, after, before: before(recordId) },
      ...{ former: former(recordId), ownId: ownIdOf(recordId) },
    });
  return shock.reasons(catalogueListings);
}
