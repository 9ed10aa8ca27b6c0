// What an AI company reads of its own receipts and of its usage (specification, «A. Retrieval API», other retrieval reads).
// Also the answers of the transparency log.

import { envelopeShape } from "../dsse.ts";
import { collectionNames } from "../identifiers.ts";
import { searchRowsMax } from "../limits.ts";
import { leafTypes } from "../log/leaves.ts";
import { reasonCodes } from "../reason-codes.ts";
import {
  anyText,
  country,
  described,
  flag,
  hash,
  integer,
  keyId,
  list,
  listOf,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  region,
  timestamp,
} from "../shape.ts";
import { day } from "./analytics.ts";

// The answers of the transparency log's reads (specification, «C. Public verification API»).

const size = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const path = listOf(hash);
const checkpoint = described(anyText, "The signed note of the tree that the proof leads to.");

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const inclusionAnswer = namedObject("InclusionAnswer", {
  leaf: described(hash, "The leaf that was asked for."),
  leaf_type: oneOf(leafTypes),
  leaf_index: described(count, "Place of the entry in the log; for a receipt, that of its batch."),
  tree_size: size,
  proof: described(path, "Audit path from the entry to the root (RFC 9162 §2.1.3)."),
  checkpoint,
  subject: described(
    anyText,
    "Whose entry it is: the business, of a receipt batch its region and name, of a checkpoint the log's origin.",
  ),
  batch: described(
    optional(
      object({
        region,
        name: anyText,
        root: described(hash, "The `leaf` of the batch's entry."),
        leaf_index: count,
        tree_size: size,
        proof: described(path, "Audit path from the receipt to the batch's root."),
      }),
    ),
    "The lower level of a receipt's proof.",
  ),
});

export type InclusionAnswer = Of<typeof inclusionAnswer>;

export const witnessesAnswer = namedObject("LogWitnessesAnswer", {
  quorum: described(
    count,
    "How many of them have to cosign a checkpoint before it is served; 0 of none where there are none.",
  ),
  witnesses: listOf(
    object({
      name: described(anyText, "The name in its signature lines."),
      key: described(anyText, "Its verifier key (C2SP signed-note), of type 0x04."),
    }),
  ),
});

export type LogWitnessesAnswer = Of<typeof witnessesAnswer>;

export const consistencyAnswer = namedObject("ConsistencyAnswer", {
  from_size: size,
  to_size: size,
  proof: described(path, "RFC 9162 §2.1.4."),
  checkpoint: described(
    anyText,
    "The latest signed note, also for an earlier `second`: it does not show the tree of that size.",
  ),
});

// A company's own receipts, and its usage.

/** Receipts in one answer, at most and by default: one of a search with fifty rows has about 14 KB. */
export const receiptsPageMax = 200;
export const receiptsPageUsual = 50;

/** Where to read on. */
export const receiptCursor = described(
  matching(/^ret_[0-9a-f]{12,32}$/, "a cursor of an earlier answer"),
  "Opaque: where the next read goes on, as `cursor`.",
);
export const retrievalId = matching(/^ret_[0-9a-f]{32}$/, "a retrieval id");

const kinds = ["search", "fetch", "ad_pool"] as const;
const about = {
  kind: oneOf(kinds),
  collection: described(nullable(oneOf(collectionNames)), "Null on a fetch, and on a pool of ads."),
  country: described(nullable(country), "Null on a fetch, which has no country."),
};

export const ownReceipt = namedObject("OwnReceipt", {
  retrieval_id: retrievalId,
  served_at: timestamp,
  key_id: described(keyId, "The key that asked."),
  region: described(region, "The region that answered, and has the receipt."),
  ...about,
  rows: integer({ min: 0, max: searchRowsMax }),
  billable: flag,
  receipt: described(envelopeShape, "Exactly as it was given with the answer."),
});
export type OwnReceipt = Of<typeof ownReceipt>;

const checked = described(
  object({
    valid: flag,
    reason: described(nullable(oneOf(reasonCodes)), "Why it is not valid; null if it is."),
    log: described(
      nullable(inclusionAnswer),
      "The proof in two levels that the transparency log contains the receipt; null while it does not, which is so for about two minutes.",
    ),
  }),
  "The receipt that `retrieval_id` names, verified as anybody can; absent from a list.",
);

export const receiptsAnswer = namedObject("ReceiptsAnswer", {
  region: described(region, "The region that was asked, and whose receipts these are."),
  receipts: list(ownReceipt, { min: 0, max: receiptsPageMax }),
  next_cursor: described(
    nullable(receiptCursor),
    "Null on the last page. A page may have fewer receipts than asked for, or none, and still not be the last.",
  ),
  checked: optional(checked),
});
export type ReceiptsAnswer = Of<typeof receiptsAnswer>;

/** By what usage is told apart. */
export const usageGroups = ["day", "key", "kind", "collection", "country"] as const;
export type UsageGroup = (typeof usageGroups)[number];
/** Lines in one answer. */
export const usageLinesMax = 20_000;
const counts = {
  requests: described(count, "Searches and fetches that were answered: receipts."),
  billable: described(count, "Those of them that are billed."),
  rows: described(count, "Rows of these searches, and records of these fetches."),
};

export const usageLine = namedObject("UsageLine", {
  day: optional(described(day, "In UTC.")),
  key_id: optional(keyId),
  kind: optional(about.kind),
  collection: optional(about.collection),
  country: optional(about.country),
  ...counts,
});
export type UsageLine = Of<typeof usageLine>;

export const usageAnswer = namedObject("UsageAnswer", {
  from: described(day, "The first day, in UTC."),
  to: described(day, "The day after the last one."),
  region: described(region, "The region that answered these requests; each counts its own."),
  usage: described(
    list(usageLine, { min: 0, max: usageLinesMax }),
    "In ascending order of what they are told apart by.",
  ),
  total: object(counts),
});
export type UsageAnswer = Of<typeof usageAnswer>;

/** What `group_by` takes, in any order. */
export const usageGrouping = matching(isGrouping, `one or more of ${usageGroups.join(", ")}, with commas`, {
  pattern: `^(${usageGroups.join("|")})(,(${usageGroups.join("|")}))*$`,
});

/** An instant as a query names it: a timestamp, or the beginning of a UTC day. */
export const instant = matching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{12}Z)?$/, "a UTC timestamp or day", {});

function isGrouping(value: string): boolean {
  const groups = value.split(",");
  return (
    new Set(groups).size === groups.length &&
    groups.every((each) => (usageGroups as readonly string[]).includes(each))
  );
}
