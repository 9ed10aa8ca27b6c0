// What a business's actor knows of a record.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { Listings } from "../../protocol/listings.ts";
import type { Deletion } from "./removal.ts";

/** What the business knows about one of its records. */
export interface RecordHeadFacts {
  readonly collection: CollectionName;
  /** Number of versions published so far. */
  readonly generation: number;
  readonly change: number;
  readonly live: boolean;
  /** The number of the push, withdrawal or deletion that was applied last. */
  readonly number: number;
  readonly hash: string;
  /** The business's own product id, if it has one. */
  readonly bpid: string | null;
  readonly listings: Listings;
  /** The last prices of listings that later versions left out. */
  readonly former?: Listings;
  /** Hash of the document that took the record out of serving; absent while the record is live. */
  readonly removed_by?: string;
  /** When the newest version was sealed, or received if that was earlier, in Unix milliseconds. */
  readonly sealed_at_ms: number;
  /** Its newest deletions, oldest first; whatever follows, the versions that they cover stay deleted. */
  readonly deletions?: readonly Deletion[];
  /** Which of the mandates of its push it was published under; absent for the first. */
  readonly mandate?: number;
  /** Whether operators took the record down; its later versions as well. */
  readonly taken_down?: true;
  /** Whether serving was told last that the record is not served although it is live. */
  readonly unserved?: true;
}
