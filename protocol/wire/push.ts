// What a business's system sends and receives when it publishes (specification, «B. Business machine API»).
// Also what is shown of the domains of endpoints.

import { parseBase64 } from "../bytes.ts";
import { envelopeShape } from "../dsse.ts";
import { collectionNames, isPushId, isRecordId } from "../identifiers.ts";
import { certificateStatuses } from "../keys/certificate.ts";
import { batchRecordsMax, pushPageMax, recordCharactersMax, watchedDomainsMax } from "../limits.ts";
import { mandateScope } from "../mandate.ts";
import { hostForm } from "../records/fields.ts";
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
  text,
  timestamp,
  uuid,
  versionNumber,
} from "../shape.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const recordId = matching(isRecordId, "a record id", {
  pattern: "^(svc|bf|evt|job|upd|ad|aip)_[a-z2-7]{26}$",
});
export const pushId = matching(isPushId, "a push id", { pattern: "^bat_[0-9a-f]{24}$" });

export const recordBase64 = matching(
  (value) => value !== "" && value.length <= recordCharactersMax && parseBase64(value) !== null,
  "the base64 (RFC 4648 §4, padded) of a record's exact bytes",
  { contentEncoding: "base64", minLength: 4, maxLength: recordCharactersMax },
);

/** The body of POST /v1/publish/{type}. */
export const publishBody = object({
  batch_seal: envelopeShape,
  records: described(
    list(recordBase64, { min: 1, max: batchRecordsMax }),
    "The exact bytes of the records; record i is leaf i of the sealed tree.",
  ),
});

export const recordFault = namedObject("RecordFault", {
  code: text(64),
  pointer: described(anyText, "RFC 6901, into the record; empty for the record as a whole."),
  detail: anyText,
  suggestion: described(
    optional(anyText),
    "The nearest valid name or code; only of the first ten faults of a record that may have one.",
  ),
  quote: described(
    optional(anyText),
    "The words of the record that the fault is about; only where nothing is stored.",
  ),
});
export type RecordFault = Of<typeof recordFault>;

/** The fault of a leaf whose product an earlier leaf of the same batch publishes. */
export const duplicateInBatch: RecordFault = {
  code: "duplicate_in_batch",
  pointer: "/business_product_id",
  detail: "An earlier record of the batch is of the same product; a product may be in a batch once.",
};

export const recordOutcomes = ["accepted", "updated", "rejected", "held", "pending"] as const;

export const publishOutcome = namedObject("PublishOutcome", {
  leaf_index: count,
  outcome: oneOf(recordOutcomes),
  record_id: nullable(recordId),
  version: described(nullable(count), "Generation published; null where nothing was."),
  errors: listOf(recordFault),
});
export type PublishOutcome = Of<typeof publishOutcome>;

/** The body of POST /v1/publish/{type}/record and of POST /v1/ai-policies. */
export const sealedRecordRequest = namedObject("SealedRecord", {
  record_base64: described(recordBase64, "The exact bytes that were sealed."),
  seal: described(
    envelopeShape,
    "A seal of format 2 over these bytes alone, by a person's passkey or a hosted key of the business.",
  ),
});

export const acceptedPolicy = namedObject("AcceptedAiPolicy", {
  record_id: recordId,
  version: described(count, "The version that the seal names, which is in force from now on."),
});
export type AcceptedPolicy = Of<typeof acceptedPolicy>;
export type RecordOutcome = PublishOutcome["outcome"];

const listedPrice = object({ amount: text(64), currency: text(3) });

/** One listing that a push would change, as a reason for its hold. */
const shockedListing = namedObject("ShockedListing", {
  record_id: recordId,
  business_product_id: described(nullable(anyText), "Null while the product's first push is not applied."),
  country,
  before: nullable(listedPrice),
  after: described(nullable(listedPrice), "Null where the listing would be removed."),
  change: described(
    nullable(text(64)),
    "The exact difference, such as -5.5; null for another currency or a removal.",
  ),
});
export type ShockedListing = Of<typeof shockedListing>;

/** Maximum number of listings that one reason names. */
export const shockedListingsMax = 10;

export const heldReason = namedObject("HeldReason", {
  code: oneOf(["price_changes", "price_jump", "listings_removed"]),
  detail: anyText,
  count: described(count, "Number of listings."),
  of: optional(described(count, "Number of listings of the whole catalogue.")),
  largest: described(
    optional(list(shockedListing, { min: 0, max: shockedListingsMax })),
    "The largest changes first.",
  ),
});
export type HeldReason = Of<typeof heldReason>;

/** What an owner or admin decided about a held push. */
export const holdDecided = namedObject("HoldDecision", {
  decision: oneOf(["confirm", "reject"]),
  key_id: described(keyId, "The passkey that sealed the decision."),
  at: described(timestamp, "As sealed."),
  decided_at: described(timestamp, "When the service accepted it."),
});
export type HoldDecided = Of<typeof holdDecided>;

/** The answer to a batch that was processed within the request. */
export const inlineOutcome = namedObject("InlineOutcome", {
  batch_id: pushId,
  seq: count,
  held: flag,
  held_reasons: optional(listOf(heldReason)),
  results: described(listOf(publishOutcome), "One result per record, in the order sent."),
});
export type InlineOutcome = Of<typeof inlineOutcome>;

export const pushCounts = object({
  accepted: count,
  updated: count,
  rejected: count,
  held: count,
  pending: count,
});
export type PushCounts = Of<typeof pushCounts>;

export const pushStatus = namedObject("PushStatus", {
  push_id: pushId,
  batch_id: pushId,
  type: oneOf(collectionNames),
  seq: count,
  source: oneOf(["api", "bulk"]),
  mode: oneOf(["inline", "queued"]),
  state: oneOf(["queued", "processing", "complete", "held", "failed"]),
  held: flag,
  held_reasons: listOf(heldReason),
  hold_expires_at: described(optional(timestamp), "While the push is held: it fails then if nobody decides."),
  hold_decision: optional(holdDecided),
  records: count,
  counts: pushCounts,
  progress: described(object({ settled: count, total: count }), "Records settled so far, of all."),
  received_at: timestamp,
  updated_at: timestamp,
  completed_at: nullable(timestamp),
  error: nullable(object({ code: text(64), detail: anyText })),
  status_url: matching(/^\/v1\/pushes\/bat_[0-9a-f]{24}$/, "the address of the push"),
  poll_after_seconds: optional(described(count, "While the push is not settled.")),
  stalled: described(flag, "Whether ten minutes passed without a step."),
  results: described(list(publishOutcome, { min: 0, max: pushPageMax }), "One page, in leaf order."),
  next_cursor: described(nullable(text(64)), "Cursor of the next page; null on the last."),
});
export type PushStatus = Of<typeof pushStatus>;

/** The body of POST /v1/pushes/{push_id}/hold. */
export const holdBody = object({
  decision: described(envelopeShape, "A hold decision, sealed with the passkey of an owner or admin."),
});

const heldPush = namedObject("HeldPush", {
  push_id: pushId,
  seq: count,
  key_id: described(keyId, "The integration key that sealed the batch."),
  records: count,
  received_at: timestamp,
  hold_expires_at: timestamp,
  held_reasons: listOf(heldReason),
  status_url: matching(/^\/v1\/pushes\/bat_[0-9a-f]{24}$/, "the address of the push"),
});

export const heldPushes = namedObject("HeldPushes", {
  holds: described(listOf(heldPush), "One page, oldest first."),
  next_cursor: described(nullable(text(64)), "Cursor of the next page; null on the last."),
});
export type HeldPushes = Of<typeof heldPushes>;

export const sealContext = namedObject("SealContext", {
  business_uuid: uuid,
  cert_id: hash,
  certificate_status: oneOf(certificateStatuses),
  ai_policy_version: described(versionNumber, "0 while no AI policy is sealed."),
  ai_policy_live_from: nullable(timestamp),
  ai_policy_record_id: nullable(recordId),
  key_id: described(keyId, "The key that signed the request."),
  last_seq: described(
    nullable(integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
    "The last accepted `seq` of the key, which the next one must exceed; null if there is none.",
  ),
  mandates: described(
    listOf(
      object({
        mandate_id: text(128),
        scope: mandateScope,
        valid_from: timestamp,
        valid_until: timestamp,
      }),
    ),
    "The mandates by which the key publishes now, the newest first. A record needs one that alone allows it; of their caps the largest count.",
  ),
});
export type SealContext = Of<typeof sealContext>;

// What is shown of the domains of endpoints: to everybody, and to their business.

const domain = matching(new RegExp(hostForm.pattern), "a domain name", { maxLength: hostForm.max });

const standing = {
  domain,
  status: oneOf(["unconfirmed", "confirmed", "suspended"]),
};

export const endpointDomain = object({
  ...standing,
  since: described(
    nullable(timestamp),
    "Since when it has this status; null for a domain that is not watched.",
  ),
  confirmed_at: described(nullable(timestamp), "When control was last confirmed."),
});

export const domainsAnswer = namedObject("DomainsAnswer", {
  domains: described(
    list(
      object({
        ...standing,
        since: timestamp,
        confirmed_at: nullable(timestamp),
        challenge: described(
          text(64),
          "Publish this, in either place, for as long as you have endpoints at the domain. It is no secret.",
        ),
        txt_name: described(text(512), "The name of the TXT record that has the challenge as its text."),
        file_url: described(text(512), "The address of the file that has the challenge as a line."),
        probed: described(
          nullable(
            object({
              at: timestamp,
              outcome: oneOf(["confirmed", "absent", "unanswered"]),
              detail: text(2_048),
            }),
          ),
          "The last look: `absent` if neither place has the challenge, `unanswered` if a place could not be looked at.",
        ),
        next_probe_at: described(
          nullable(timestamp),
          "No look before this time; null where this service looks at no domains, as in a sandbox that was not told to.",
        ),
      }),
      { min: 0, max: watchedDomainsMax },
    ),
    "The domains of the endpoints in your served business files, in order.",
  ),
});
export type DomainsAnswer = Of<typeof domainsAnswer>;
