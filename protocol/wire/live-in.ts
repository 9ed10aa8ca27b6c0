// The member `live_in` of answers about a record. In all of them it errs on the side on which nobody relies on it wrongly.

import { described, list, type Shape, text } from "../shape.ts";

/** Maximum number of milliseconds that an answer waits for a region to confirm. */
export const confirmedWithinMs = 2_000;

const regions = list(text(64), { min: 0, max: 256 });

export const foundInSays =
  "The regions in which the record is live: each has confirmed that a search there finds it, in this version or still in the one before. A region that has not confirmed within two seconds is not named. So a region that is named has the record, and one that is not named may have it.";

/** Where a record is found: what a business reads of its own. */
export const foundIn: Shape<readonly string[]> = described(regions, foundInSays);

/** Where a removed record is still found: the answer to a withdrawal or deletion. */
export const maybeFoundIn: Shape<readonly string[]> = described(
  regions,
  "The regions in which the record may still be live: all but those that have confirmed that neither a search nor a fetch there finds it. A region that has not confirmed within two seconds is named. So a region that is not named has the record no more, one that is named may not have it either, and an empty list means that it is gone everywhere. What is named is told again until it confirms; to see how far that has come, send the same document again. After a document that was accepted before is sent again, it is every region if the record was published again since.",
);
