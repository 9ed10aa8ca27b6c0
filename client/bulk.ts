// Bulk files: more records than a batch may have, uploaded as one file and then imported under one seal (specification,
// «B. Business machine API»).

import type { Envelope } from "../protocol/dsse.ts";
import type { BulkUpload, FileValidation, UploadedFile } from "../protocol/wire/bulk.ts";
import type { PushStatus } from "../protocol/wire/push.ts";
import { SvcProblemError } from "./errors.ts";
import type { JsonAnswer } from "./json-answer.ts";
import { type Patience, retryUntil } from "./retry-until.ts";

export type { BulkUpload, UploadedFile } from "../protocol/wire/bulk.ts";

export interface BulkImportRequest {
  readonly uploadId: string;
  readonly batchSeal: Envelope;
  readonly idempotencyKey: string;
}

/** Query parameters of a validation of a file. */
export interface ValidationPage {
  readonly outcome?: string;
  readonly cursor?: string;
}

export interface BulkClient {
  requestUpload(request: {
    readonly type: string;
    readonly idempotencyKey: string;
  }): Promise<JsonAnswer<BulkUpload>>;
  /** Sends the file as the upload's form says. */
  sendFile(upload: BulkUpload, file: Blob): Promise<UploadedFile>;
  /** Asks for the import; the same request again answers with the state now, and resumes an import that stopped. */
  importFile(request: BulkImportRequest): Promise<JsonAnswer<PushStatus>>;
  /** What the same import would come to; nothing is stored, and the file may be imported afterwards. */
  validateImport(request: BulkImportRequest, page?: ValidationPage): Promise<JsonAnswer<FileValidation>>;
}

/** What publishing a file takes. */
export type UploadingClient = Pick<BulkClient, "requestUpload" | "sendFile" | "importFile">;

/** How often a file is sent that the service says it cannot take again. */
const uploadsMax = 5;

/**
 * Uploads a file and returns its upload id. An upload that was cut off is not continued: the file is sent again as a whole,
 * under the same upload id for as long as the service takes it there, because a business may have few open uploads. Rejects
 * with {@link SvcProblemError} and {@link SvcConnectionError}, passing ones once the patience is over.
 */
export async function uploadFile(
  how: {
    readonly client: Pick<BulkClient, "requestUpload" | "sendFile">;
    readonly patience: Patience;
    readonly runId: string;
  },
  file: Blob,
): Promise<string> {
  const run = `upload.${how.runId}.${how.patience.now()}`;
  let refused = 0;
  const uploadOnce = async (): Promise<string> => {
    // Repeated, it is answered with the same upload.
    const asked = { type: "products", idempotencyKey: `${run}.${refused + 1}` };
    const { body: upload } = await how.client.requestUpload(asked);
    try {
      await how.client.sendFile(upload, file);
    } catch (error) {
      // An attempt whose answer was lost may have brought the file, whole or not.
      if (!isConflict(error)) throw error;
      refused += 1;
      if (refused >= uploadsMax) throw error;
      return await uploadOnce();
    }
    return upload.upload_id;
  };
  return await retryUntil(how.patience, uploadOnce);
}

function isConflict(error: unknown): boolean {
  return error instanceof SvcProblemError && error.code === "upload_conflict";
}

/** False if the error says that this service takes no bulk files, or that its operator does not let it. */
export function isBulkOffered(error: unknown): boolean {
  if (!(error instanceof SvcProblemError)) return true;
  return error.code !== "not_offered" && error.problem["reason"] !== "bulk_import_unavailable";
}
