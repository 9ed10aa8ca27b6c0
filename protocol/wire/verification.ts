// The answers of the public verification surface (specification, «C. Public verification API»).

import { envelopeShape } from "../dsse.ts";
import { collectionNames } from "../identifiers.ts";
import { businessKeyShape } from "../keys/business-keys.ts";
import { certificateStatuses } from "../keys/certificate.ts";
import { keyDirectoryMembers } from "../keys/key-directory.ts";
import { keyEntryShape } from "../keys/key-set.ts";
import { reasonCodes } from "../reason-codes.ts";
import { businessFileMembers } from "../records/business-files.ts";
import { fieldShape } from "../records/parse-record.ts";
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
  literal,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
} from "../shape.ts";
import { endpointDomain, recordId } from "./push.ts";
import { removalActions } from "./removal.ts";
import { sourceLine, webAddress } from "./retrieval.ts";

const counter = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

const issuance = {
  status: oneOf(certificateStatuses),
  status_effective_from: timestamp,
  status_reason: optional(text(64)),
  cert_id: hash,
  issued_at: timestamp,
};

export const certificateAnswer = namedObject("CertificateAnswer", {
  subject: object({
    kind: oneOf(["business", "ai_company"]),
    uuid,
    legal_name: text(256),
    country,
  }),
  ...issuance,
  statement: described(anyText, "The certificate in plain words."),
  certificate: envelopeShape,
  history: described(
    listOf(object({ ...issuance, certificate: envelopeShape })),
    "Earlier ones, newest first.",
  ),
});
export type CertificateAnswer = Of<typeof certificateAnswer>;

export const businessKeysAnswer = namedObject("BusinessKeysAnswer", {
  uuid,
  cert_id: hash,
  issued_at: timestamp,
  keys: listOf(businessKeyShape),
  signed: described(envelopeShape, "The same, signed: only this is trusted."),
});

export const custodyStatement = namedObject("CustodyStatement", {
  key_id: keyId,
  custody: oneOf(["hosted", "self"]),
  effective_from: timestamp,
  issued_at: timestamp,
  statement_id: hash,
  statement: described(envelopeShape, "The same, signed: only this counts."),
});
export type CustodyStatement = Of<typeof custodyStatement>;

export const keyCustodyAnswer = namedObject("KeyCustodyAnswer", {
  uuid,
  statements: described(listOf(custodyStatement), "Newest first."),
});

export const keySetAnswer = namedObject("KeySetAnswer", {
  keys: listOf(keyEntryShape),
  signed: described(envelopeShape, "The set, signed by the issuance key: only its payload is trusted."),
});

export const keyDirectoryAnswer = namedObject("KeyDirectoryAnswer", {
  ...keyDirectoryMembers,
  statement: described(envelopeShape, "The same, signed: only this is trusted."),
});

/** What the page states. The answer and its statement have the same. */
export const verifyPageMembers = {
  v: literal(1),
  record_id: recordId,
  adl_origin: hash,
  record_type: oneOf(collectionNames),
  valid: described(flag, "Whether the seal stands, and no check differs or lies outside."),
  reason: described(
    optional(oneOf(reasonCodes)),
    "Why the seal of this version does not stand any more, as `POST /v1/verify` says of its bytes and sidecar; absent while it stands.",
  ),
  detail: optional(described(text(512), "The same in words.")),
  status: described(
    oneOf(["current", "superseded", "taken_down", "withdrawn", "deleted", "purged", "invalidated"]),
    "`invalidated` if the newest version is out of serving because its seal does not stand any more. `taken_down`: the service's operators took the record out of serving, which says nothing about its seal. `deleted` and `purged` also where the law ordered it, see `purge_order`. `purged` once the bytes of a deleted record are gone, and `deleted` until then. While `removal` cannot be read, a deleted record is `withdrawn`.",
  ),
  business: object({
    business_uuid: uuid,
    name: text(256),
    certificate_url: webAddress,
    certificate: described(
      object({
        cert_id: hash,
        status: oneOf(certificateStatuses),
        status_effective_from: timestamp,
        statement: anyText,
      }),
      "The certificate in force today.",
    ),
  }),
  version: described(
    object({
      generation: counter,
      sealed_at: timestamp,
      published_at: timestamp,
      ended_at: nullable(timestamp),
      sealed_under_cert_id: hash,
    }),
    "The version of `served_at`, else the newest with these bytes.",
  ),
  removal: described(
    nullable(
      object({
        action: oneOf(removalActions),
        at: described(timestamp, "What the document says."),
        received_at: described(timestamp, "When the service took it; regions stop serving within seconds."),
        applied_at: described(
          optional(timestamp),
          "When a deletion took effect that had waited for the service's operators; any other took effect at `received_at`.",
        ),
        document_base64: described(anyText, "The document's exact bytes, in base64."),
        seal: described(envelopeShape, "A seal of format 2 over these bytes by a key of the business."),
        reason: described(
          optional(oneOf(reasonCodes)),
          "Why this seal does not stand any more; absent while it stands. The record stays out of serving until it is published again.",
        ),
      }),
    ),
    "The sealed document that keeps the record out of serving. Null while the record is served, if the document was not kept by the release that took it, and while the home region of the business does not answer.",
  ),
  purge_order: described(
    nullable(
      object({
        ground: described(anyText, "The ground in law, as the operators state it."),
        ordered_at: timestamp,
        purged_at: described(nullable(timestamp), "Null until the bytes are gone everywhere."),
        versions: described(
          listOf(object({ generation: counter, hash })),
          "The versions whose bytes were purged; their hashes, seals and leaves stay.",
        ),
      }),
    ),
    "Of a version whose bytes the service purged because the law ordered it, and not its business.",
  ),
  checks: object({
    cert: oneOf(["matches", "differs", "not_given"]),
    served_at: described(
      oneOf(["within", "outside", "unknown", "not_given"]),
      "`unknown` where it depends on when a withdrawal, deletion or takedown ended the version: it was served at `served_at` or had just been removed. Before the removal that followed the version took effect, and before the takedown, it is `within`.",
    ),
  }),
  endpoints: described(
    nullable(
      object({
        status: oneOf(["authorised", "unconfirmed", "suspended"]),
        items: fieldShape(businessFileMembers.endpoints),
        domains: described(
          list(endpointDomain, { min: 0, max: 20 }),
          "The domains of these addresses, each once. `suspended`: control was confirmed and is lost, so the status of all of them is; `unconfirmed`: it was never confirmed, and neither are the addresses.",
        ),
        domains_confirmed_at: described(
          nullable(timestamp),
          "When control was last confirmed of the domain where that is longest ago; null if there is one of which it never was.",
        ),
      }),
    ),
    "Of the business file that is served now.",
  ),
  source_line: sourceLine,
  full_check: webAddress,
  checked_at: timestamp,
};

export const verifyPageAnswer = namedObject("VerifyPageAnswer", {
  ...verifyPageMembers,
  statement: described(envelopeShape, "All of the above, signed."),
});
export type VerifyPageAnswer = Of<typeof verifyPageAnswer>;
