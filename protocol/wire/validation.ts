// The answers to validations: what the same batch, or the same file, would come to if it were published now.

import { batchRecordsMax, validatedPageMax } from "../limits.ts";
import {
  anyText,
  described,
  flag,
  integer,
  list,
  listOf,
  literal,
  named,
  nullable,
  type Of,
  object,
  oneOf,
} from "../shape.ts";
import { heldReason, publishOutcome, pushCounts, pushId } from "./push.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const common = {
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
} as const;

/** The answer to POST /v1/publish/{type}?validate_only=true. */
export const validationOutcome = named(
  "ValidationOutcome",
  object({
    ...common,
    results: described(
      list(publishOutcome, { min: 0, max: batchRecordsMax }),
      "One result per record, in the order sent; `version` is the generation that it would get, null where it would be held or rejected.",
    ),
  }),
);
export type ValidationOutcome = Of<typeof validationOutcome>;

/** The answer to POST /v1/bulk-imports?validate_only=true. */
export const fileValidation = named(
  "FileValidation",
  object({
    ...common,
    results: described(
      list(publishOutcome, { min: 0, max: validatedPageMax }),
      "A page of results, one per line, in the order of the file; `version` is the generation that it would get, null where it would be held or rejected.",
    ),
    next_cursor: described(nullable(anyText), "For the next page; null on the last."),
  }),
);
export type FileValidation = Of<typeof fileValidation>;
