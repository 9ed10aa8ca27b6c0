// Withdrawal and deletion over HTTP (specification, «B. Business machine API»).

import { parseBase64 } from "../bytes.ts";
import { envelopeShape } from "../dsse.ts";
import { withdrawalsMax } from "../limits.ts";
import { problemShape } from "../problem.ts";
import {
  anyText,
  described,
  either,
  hash,
  list,
  listOf,
  literal,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  type Shape,
  text,
  timestamp,
} from "../shape.ts";
import { recordId } from "./push.ts";

// The member `live_in` of answers about a record. In all of them it errs on the side on which nobody relies on it wrongly.

/** Maximum number of milliseconds that an answer waits for a region to confirm. */
export const confirmedWithinMs = 2_000;

const regions = list(text(64), { min: 0, max: 256 });

export const foundInSays =
  "The regions in which the record is live: each has confirmed that a search there finds it, in this version or still in the one before. A region that has not confirmed within two seconds is not named. So a region that is named has the record, and one that is not named may have it.";

/** Where a record is found: what a business reads of its own. */
export const foundIn: Shape<readonly string[]> = described(regions, foundInSays);

/** Where a removed record is still found: the answer to a withdrawal or deletion. */
const maybeFoundIn: Shape<readonly string[]> = described(
  regions,
  "The regions in which the record may still be live: all but those that have confirmed that neither a search nor a fetch there finds it. A region that has not confirmed within two seconds is named. So a region that is not named has the record no more, one that is named may not have it either, and an empty list means that it is gone everywhere. What is named is told again until it confirms; to see how far that has come, send the same document again. After a document that was accepted before is sent again, it is every region if the record was published again since.",
);

// Withdrawals and deletions.

/** A document has about 120 characters, and as base64 about 160. */
const documentCharactersMax = 1_024;

export const removalActions = ["withdraw", "delete"] as const;

/** The body of POST /v1/publish/{type}/withdraw and …/delete. */
export const removalBody = object({
  document_base64: described(
    matching(
      (value) => value !== "" && value.length <= documentCharactersMax && parseBase64(value) !== null,
      "the base64 (RFC 4648 §4, padded) of the document's exact bytes",
      { contentEncoding: "base64", minLength: 4, maxLength: documentCharactersMax },
    ),
    "Compact JSON `{record_id, action, at}`. `at` is within five minutes of receipt, and later than the `sealed_at` of the version that is served.",
  ),
  seal: described(
    envelopeShape,
    "A seal of format 2 whose `hash` is that of the document's bytes, and whose `record_type` is that of the record. Any live key of the business may seal it; an integration key needs a mandate that covers the type.",
  ),
});
export type RemovalBody = Of<typeof removalBody>;

export const removalAnswer = namedObject("Removal", {
  record_id: recordId,
  action: oneOf(removalActions),
  live_in: maybeFoundIn,
  held: described(
    optional(literal(true)),
    "A deletion that was received after the certificate was revoked for compromise waits for an operator; the record stays as it is. Sent again once that is decided, it is answered as done, or refused with `deletion_rejected`.",
  ),
});
export type RemovalAnswer = Of<typeof removalAnswer>;

/** The body of POST /v1/withdrawals. */
export const withdrawalsBody = object({
  withdrawals: described(
    list(removalBody, { min: 1, max: withdrawalsMax }),
    "Documents with the action `withdraw`, each with its seal; their records may be of several types.",
  ),
});

export const withdrawalsAnswer = namedObject("Withdrawals", {
  results: described(
    list(either(removalAnswer, object({ problem: problemShape })), { min: 1, max: withdrawalsMax }),
    "One for each document, in the order sent: what the route for one document answers, or why it is refused.",
  ),
});
export type WithdrawalsAnswer = Of<typeof withdrawalsAnswer>;

// Deletions that wait for an operator, as a business and the operators read them. The specification names no such read.

export const heldDeletion = object({
  record_id: recordId,
  document_hash: described(hash, "Of the exact bytes of the sealed document."),
  at: described(timestamp, "What the document says."),
  received_at: timestamp,
  state: described(
    oneOf(["held", "released", "rejected"]),
    "`held` until an operator decides; `released` is done, `rejected` never is.",
  ),
  decided_at: nullable(timestamp),
});

export const heldDeletionsAnswer = namedObject("HeldDeletionsAnswer", {
  deletions: listOf(heldDeletion),
  next_after: described(nullable(hash), "For the next page; null on the last."),
});
export type HeldDeletionsAnswer = Of<typeof heldDeletionsAnswer>;

// What a business reads of takedowns. The specification names no such read; it is the service's own.

export const takedownMembers = {
  record_id: described(nullable(recordId), "Null where everything of the business is out of serving."),
  statement_of_reasons: described(anyText, "What the operators state to the business."),
  taken_down_at: timestamp,
  lifted_at: described(nullable(timestamp), "Null while it is in force."),
};

export const takedownsAnswer = namedObject("TakedownsAnswer", {
  takedowns: described(listOf(object(takedownMembers)), "Newest first."),
});
export type TakedownsAnswer = Of<typeof takedownsAnswer>;
