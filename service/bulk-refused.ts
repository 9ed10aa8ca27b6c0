// What an upload or an import is refused for besides what any publishing request is: where bulk import is not available,
// and what the upload does not allow now.

import type { UploadConflict } from "../actors/messages/bulk-upload.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";

/** An hour: nothing changes before an operator changes it. */
const retrySeconds = 3_600;

/** For a deployment without a staging area. */
export function bulkUnavailable(): Refused {
  const detail = "This deployment takes no bulk files now; publish batches of up to 10,000 records instead.";
  const extras = { reason: "bulk_import_unavailable", retry_after_seconds: retrySeconds };
  return refused(problem("unavailable", detail, extras), { "retry-after": String(retrySeconds) });
}

export function uploadUnknown(): Refused {
  return refused(problem("not_found", "No upload has this upload_id and token."));
}

const conflicts: Readonly<Record<UploadConflict, string>> = {
  expired: "The upload has expired, and its file is gone. Ask for another upload.",
  in_progress: "The file of this upload is being uploaded; if that has ended, try again in a minute.",
  tries_spent: "The upload has refused as many files as it may. Mend the file, and ask for another upload.",
  already_uploaded:
    "The upload has its file, which cannot be replaced. Import it, or ask for another upload.",
  no_file: "The upload has no file yet.",
  imported_otherwise: "The file was imported, or is being imported, under another seal.",
};

export function uploadConflict(reason: UploadConflict): Refused {
  return refused(problem("upload_conflict", conflicts[reason], { reason }));
}
