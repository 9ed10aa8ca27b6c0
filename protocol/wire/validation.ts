// The answer to POST /v1/publish/{type}?validate_only=true: what the same batch would come to if it were published now.

import { batchRecordsMax } from "../limits.ts";
import { described, flag, integer, list, listOf, literal, named, type Of, object, oneOf } from "../shape.ts";
import { heldReason, publishOutcome, pushCounts, pushId } from "./push.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const validationOutcome = named(
  "ValidationOutcome",
  object({
    validate_only: literal(true),
    batch_id: pushId,
    seq: count,
    known: described(
      flag,
      "Whether this batch was accepted before; the results are then those of its push as it stands.",
    ),
    mode: described(oneOf(["inline", "queued"]), "How the batch would be processed."),
    held: described(flag, "Whether the batch would be held."),
    held_reasons: listOf(heldReason),
    records: count,
    counts: pushCounts,
    results: described(
      list(publishOutcome, { min: 0, max: batchRecordsMax }),
      "One result per record, in the order sent; `version` is the generation that it would get.",
    ),
  }),
);
export type ValidationOutcome = Of<typeof validationOutcome>;
