// What a business's system is told of its own catalogue (specification, «B. Business machine API»).

import { collectionNames } from "../identifiers.ts";
import { attemptsPageMax, cataloguePageMax, cursorLengthMax, ownIdLengthMax } from "../limits.ts";
import { recordShape } from "../records/parse-record.ts";
import { recordSealShape } from "../seal.ts";
import {
  anyText,
  described,
  hash,
  integer,
  keyId,
  list,
  listOf,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  timestamp,
} from "../shape.ts";
import { unsigned } from "../unsigned-members.ts";
import { pushId, recordId, recordOutcomes } from "./push.ts";
import { foundIn, foundInSays } from "./removal.ts";

const ownId = described(text(ownIdLengthMax), "The business's own id of the record.");
const lastUpdatedSays = "When the version that is served was published.";
const lastUpdated = described(timestamp, lastUpdatedSays);
const sourceSays = "How that version came: by a person, in a bulk file, or in a batch.";
const source = described(oneOf(["manual", "import", "api"]), sourceSays);

export const catalogueEntry = namedObject("CatalogueEntry", {
  record_id: recordId,
  business_product_id: ownId,
  last_updated: lastUpdated,
  source,
  sha256: described(hash, "Of the exact bytes of the record that is served."),
  sealed_by_key_id: described(keyId, "The key that sealed them, of a person, a system or the service."),
});
export type CatalogueEntry = Of<typeof catalogueEntry>;

export const cataloguePage = namedObject("CataloguePage", {
  entries: described(
    list(catalogueEntry, { min: 0, max: cataloguePageMax }),
    "The records that are published now. A page may have fewer than the last one had while more follow.",
  ),
  next_cursor: described(nullable(text(cursorLengthMax)), "Cursor of the next page; null on the last."),
});
export type CataloguePage = Of<typeof cataloguePage>;

export const catalogueRecord = namedObject("CatalogueRecord", {
  record_id: unsigned("catalogue", "/record_id", { shape: recordId }),
  business_product_id: ownId,
  type: oneOf(collectionNames),
  record: described(
    recordShape,
    "The sealed record. The seal's hash covers its exact text, from the colon to the comma that follows.",
  ),
  seal: recordSealShape,
  live_in: unsigned("catalogue", "/live_in", { shape: foundIn, says: foundInSays }),
  last_updated: unsigned("catalogue", "/last_updated", { shape: lastUpdated, says: lastUpdatedSays }),
  source: unsigned("catalogue", "/source", { shape: source, says: sourceSays }),
});

// What became of everything that a business's system sent (specification, «B. Business machine API», push-attempts).

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const attemptError = object({
  code: text(64),
  pointer: optional(described(anyText, "Of a record's fault: RFC 6901, into the record.")),
  reason: optional(described(nullable(text(64)), "Of a refused batch: the problem's `reason`.")),
  detail: anyText,
  suggestion: optional(described(anyText, "Of a record's fault: the nearest valid name or code.")),
});

export const pushAttempt = namedObject("PushAttempt", {
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
  records: described(
    optional(nullable(count)),
    "Of a refused batch: how many it had, if it was read so far.",
  ),
  type: oneOf(collectionNames),
  seq: described(nullable(count), "Null for a batch that was refused before its seal was found genuine."),
  source: oneOf(["api", "bulk"]),
  key_id: keyId,
  received_at: timestamp,
  settled_at: described(nullable(timestamp), "Null while the record is pending or held."),
});
export type PushAttempt = Of<typeof pushAttempt>;

export const attemptsPage = namedObject("PushAttempts", {
  attempts: described(
    list(pushAttempt, { min: 0, max: attemptsPageMax }),
    "Oldest first, then in leaf order. A page may have fewer while more follow.",
  ),
  next_cursor: described(nullable(text(cursorLengthMax)), "Cursor of the next page; null on the last."),
});
export type AttemptsPage = Of<typeof attemptsPage>;
