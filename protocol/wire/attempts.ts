// What became of everything that a business's system sent (specification, «B. Business machine API», push-attempts).

import { collectionNames } from "../identifiers.ts";
import { attemptsPageMax, cursorLengthMax, ownIdLengthMax } from "../limits.ts";
import {
  anyText,
  described,
  integer,
  keyId,
  list,
  listOf,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  timestamp,
} from "../shape.ts";
import { pushId, recordId, recordOutcomes } from "./push.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const attemptError = object({
  code: text(64),
  pointer: optional(described(anyText, "Of a record's fault: RFC 6901, into the record.")),
  reason: optional(described(nullable(text(64)), "Of a refused batch: the problem's `reason`.")),
  detail: anyText,
  suggestion: optional(described(anyText, "Of a record's fault: the nearest valid name or code.")),
});

export const pushAttempt = named(
  "PushAttempt",
  object({
    attempt_id: described(text(64), "Unique within the business, and the same whenever it is read."),
    push_id: described(
      nullable(pushId),
      "Null for a batch that was refused before its seal was found genuine. Of a batch that was refused afterwards, it is the id of the push that the seal would make: a push has it only if the same batch is accepted later.",
    ),
    leaf_index: described(nullable(count), "Null for a batch that was refused as a whole."),
    status: oneOf(recordOutcomes),
    category: described(
      nullable(oneOf(["validation", "seal", "caps", "authority"])),
      "Why it was rejected: what the record or the request says, the seal, the caps of the mandate or fair use, or who may publish. Null where it was not rejected, and where something else ended it.",
    ),
    record_id: nullable(recordId),
    business_product_id: described(
      nullable(text(ownIdLengthMax)),
      "Null until the record is held or settled, and where it cannot be read.",
    ),
    version: described(nullable(count), "Generation published; null where nothing was."),
    errors: listOf(attemptError),
    records: optional(
      described(nullable(count), "Of a refused batch: how many it had, if it was read so far."),
    ),
    type: oneOf(collectionNames),
    seq: described(nullable(count), "Null for a batch that was refused before its seal was found genuine."),
    source: oneOf(["api", "bulk"]),
    key_id: keyId,
    received_at: timestamp,
    settled_at: described(nullable(timestamp), "Null while the record is pending or held."),
  }),
);
export type PushAttempt = Of<typeof pushAttempt>;

export const attemptsPage = named(
  "PushAttempts",
  object({
    attempts: described(
      list(pushAttempt, { min: 0, max: attemptsPageMax }),
      "Oldest first, then in leaf order. A page may have fewer while more follow.",
    ),
    next_cursor: described(nullable(text(cursorLengthMax)), "Cursor of the next page; null on the last."),
  }),
);
export type AttemptsPage = Of<typeof attemptsPage>;
