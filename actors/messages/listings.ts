// What a business actor answers about its listings, for the hold of a push that is decided after its admission.

import type { Listings } from "../../protocol/listings.ts";
import type { HeldReason } from "../../protocol/wire/push.ts";

export interface ListingsReply {
  /** Number of listings of live records. */
  readonly listings: number;
  /** The pushes that are numbered, not held and not finished, oldest first. */
  readonly pending: readonly string[];
  /** The reasons for which the push is held; null while it is not. */
  readonly held_reasons: readonly HeldReason[] | null;
  /** Those of the records that were ever published. */
  readonly records: readonly {
    readonly record_id: string;
    /** The business's own product id, if it has one. */
    readonly bpid: string | null;
    /** Empty for a record that is not live. */
    readonly listings: Listings;
    /** The last prices of its listings, also of those that are gone. */
    readonly former: Listings;
  }[];
}
