// What a business's system sends and receives when it publishes a file (specification, «B. Business machine API»).

import { envelopeShape } from "../dsse.ts";
import { collectionNames, isUploadId } from "../identifiers.ts";
import { batchRecordsMax, bulkFileBytesMax, bulkRecordsMax, validatedPageMax } from "../limits.ts";
import {
  anyText,
  described,
  flag,
  hash,
  integer,
  list,
  listOf,
  literal,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  text,
  timestamp,
} from "../shape.ts";
import { heldReason, publishOutcome, pushCounts, pushId } from "./push.ts";

export const uploadId = matching(isUploadId, "an upload id", { pattern: "^bup_[0-9a-f]{24}$" });
const uploadToken = described(text(128), "Lets its bearer upload the file, and nothing else.");

/** The body of POST /v1/bulk-uploads. */
export const bulkUploadBody = object({ record_type: oneOf(collectionNames) });

export const bulkUpload = namedObject("BulkUpload", {
  upload_id: uploadId,
  record_type: oneOf(collectionNames),
  upload_url: described(anyText, "Where the file is sent as multipart/form-data, without a signature."),
  fields: described(
    object({ upload_id: uploadId, upload_token: uploadToken }),
    "Every member is sent as a field of its own, before the file, which is the part `file`.",
  ),
  content_type: literal("application/x-ndjson"),
  max_bytes: literal(bulkFileBytesMax),
  max_records: literal(bulkRecordsMax),
  expires_at: described(timestamp, "The upload must begin before this instant."),
});
export type BulkUpload = Of<typeof bulkUpload>;

export const uploadedFile = namedObject("UploadedFile", {
  upload_id: uploadId,
  bytes: described(integer({ min: 1, max: bulkFileBytesMax }), "Size of the file as it was sent."),
  records: integer({ min: 1, max: bulkRecordsMax }),
  sha256: described(hash, "Over the bytes of the file as it was sent."),
  root: described(hash, "The RFC 6962 root over the records, as the batch seal has to name it."),
});
export type UploadedFile = Of<typeof uploadedFile>;

/** The multipart form of an upload, as OpenAPI describes one. */
export const uploadForm = {
  schema: {
    type: "object",
    properties: {
      upload_id: uploadId.schema,
      upload_token: uploadToken.schema,
      file: {
        type: "string",
        contentMediaType: "application/x-ndjson",
        description:
          "One line for each record: the base64 (RFC 4648 §4, padded) of its exact bytes. LF alone ends a line, and the last one may lack it. Line i is leaf i.",
      },
    },
    required: ["upload_id", "upload_token", "file"],
    additionalProperties: false,
  },
} as const;

/** The body of POST /v1/bulk-imports. */
export const bulkImportBody = object({ upload_id: uploadId, batch_seal: envelopeShape });

// The answers to validations: what the same batch, or the same file, would come to if it were published now.

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
export const validationOutcome = namedObject("ValidationOutcome", {
  ...common,
  results: described(
    list(publishOutcome, { min: 0, max: batchRecordsMax }),
    "One result per record, in the order sent; `version` is the generation that it would get, null where it would be held or rejected.",
  ),
});
export type ValidationOutcome = Of<typeof validationOutcome>;

/** The answer to POST /v1/bulk-imports?validate_only=true. */
export const fileValidation = namedObject("FileValidation", {
  ...common,
  results: described(
    list(publishOutcome, { min: 0, max: validatedPageMax }),
    "A page of results, one per line, in the order of the file; `version` is the generation that it would get, null where it would be held or rejected.",
  ),
  next_cursor: described(nullable(anyText), "For the next page; null on the last."),
});
export type FileValidation = Of<typeof fileValidation>;
