// Deletions that wait for an operator, as a business and the operators read them. The specification names no such read.

import { described, hash, listOf, named, nullable, type Of, object, oneOf, timestamp } from "../shape.ts";
import { recordId } from "./push.ts";

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

export const heldDeletionsAnswer = named(
  "HeldDeletionsAnswer",
  object({
    deletions: listOf(heldDeletion),
    next_after: described(nullable(hash), "For the next page; null on the last."),
  }),
);
export type HeldDeletionsAnswer = Of<typeof heldDeletionsAnswer>;
