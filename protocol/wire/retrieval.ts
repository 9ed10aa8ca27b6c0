// The answers to an AI company (specification, «A. Retrieval API»).

import { aiPolicyRecord } from "../ai-policy.ts";
import { envelopeShape } from "../dsse.ts";
import { collectionNames } from "../identifiers.ts";
import { searchRowsMax } from "../limits.ts";
import { businessFileMembers } from "../records/business-files.ts";
import { fieldShape, recordShape } from "../records/json-schema.ts";
import { recordSealShape } from "../seal.ts";
import {
  country,
  described,
  hash,
  list,
  matching,
  named,
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
import { unsigned } from "../unsigned-members.ts";
import { recordId } from "./push.ts";
import { searchRow } from "./search-row.ts";

export const searchAnswer = named(
  "SearchAnswer",
  object({
    retrieval_id: text(128),
    collection: oneOf(collectionNames),
    country,
    rows: list(searchRow, { min: 0, max: searchRowsMax }),
    receipt: envelopeShape,
  }),
);
export type SearchAnswer = Of<typeof searchAnswer>;

const sourceLineText = text(2_048);
const sourceLineSays = "What to cite: the record, its certificate, when it was served.";
export const sourceLine = described(sourceLineText, sourceLineSays);
export const webAddress = matching(/^https?:\/\/[!-~]+$/, "an address on the web", { format: "uri" });

const policy = object({
  version: described(versionNumber, "0 while no AI policy has been sealed; record and seal are then null."),
  record: nullable(aiPolicyRecord),
  seal: nullable(recordSealShape),
});

export const fetchedRecord = named(
  "FetchedRecord",
  object({
    record_id: recordId,
    business_uuid: uuid,
    type: oneOf(collectionNames),
    published_at: timestamp,
    record: described(
      recordShape,
      "The sealed record. The seal's hash covers its exact text, from the colon to the comma that follows.",
    ),
    seal: recordSealShape,
    sidecar: envelopeShape,
    ai_policy: policy,
    represent_us: optional(
      described(
        fieldShape(businessFileMembers.represent_us),
        "Business files: the five texts that say how to represent the business.",
      ),
    ),
    endpoints: optional(
      described(
        object({
          status: unsigned("fetch", "/endpoints/status", {
            shape: oneOf(["authorised", "unconfirmed", "suspended"]),
          }),
          items: fieldShape(businessFileMembers.endpoints),
        }),
        "Business files: the addresses. `authorised`: the business controls all of their domains. `unconfirmed`: that was never confirmed of one of them. `suspended`: use none of them.",
      ),
    ),
    provenance: object({
      certificate_url: unsigned("fetch", "/provenance/certificate_url", { shape: webAddress }),
      projection_version: matching(/^[a-z_]{1,32}\/[1-9][0-9]{0,5}$/, "a projection version"),
      log_leaf: described(
        hash,
        "The seal's leaf in the transparency log: what an inclusion read is asked about. The log has it within an hour of the publication.",
      ),
      source_line: unsigned("fetch", "/provenance/source_line", {
        shape: sourceLineText,
        says: sourceLineSays,
      }),
    }),
    receipt: envelopeShape,
  }),
);
export type FetchedRecord = Of<typeof fetchedRecord>;
