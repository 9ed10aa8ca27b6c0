// What a business's system sends and receives when it publishes a file (specification, «B. Business machine API»).

import { envelopeShape } from "../dsse.ts";
import { collectionNames, isUploadId } from "../identifiers.ts";
import { bulkFileBytesMax, bulkRecordsMax } from "../limits.ts";
import {
  anyText,
  described,
  hash,
  integer,
  literal,
  matching,
  named,
  type Of,
  object,
  oneOf,
  text,
  timestamp,
} from "../shape.ts";

export const uploadId = matching(isUploadId, "an upload id", { pattern: "^bup_[0-9a-f]{24}$" });
const uploadToken = described(text(128), "Lets its bearer upload the file, and nothing else.");

/** The body of POST /v1/bulk-uploads. */
export const bulkUploadBody = object({ record_type: oneOf(collectionNames) });

export const bulkUpload = named(
  "BulkUpload",
  object({
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
  }),
);
export type BulkUpload = Of<typeof bulkUpload>;

export const uploadedFile = named(
  "UploadedFile",
  object({
    upload_id: uploadId,
    bytes: described(integer({ min: 1, max: bulkFileBytesMax }), "Size of the file as it was sent."),
    records: integer({ min: 1, max: bulkRecordsMax }),
    sha256: described(hash, "Over the bytes of the file as it was sent."),
    root: described(hash, "The RFC 6962 root over the records, as the batch seal has to name it."),
  }),
);
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
