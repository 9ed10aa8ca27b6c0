// POST /v1/bulk-uploads: where and how a file of records is uploaded (specification, «B. Business machine API»).
//   K1. The token is in no stored answer: it is added when the answer leaves, each time the same.
//   K2. The token is authority, so a replayed answer gets it only if the request would still be accepted.
//   K3. A business has a bounded number of open uploads (actors/business/definition.ts); a replayed answer counts once.

import type { UploadConflict } from "../../actors/messages/bulk-upload.ts";
import { bulkUploadRef, businessRef, keyRef } from "../../actors/messages/refs.ts";
import type { CryptoPort } from "../../crypto/port.ts";
import { toBase64Url, toHex, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp, isUploadId, isUuidV4 } from "../../protocol/identifiers.ts";
import {
  bulkFileBytesMax,
  bulkRecordsMax,
  bulkUploadOpenMs,
  bulkUploadValidMs,
  openUploadsMax,
} from "../../protocol/limits.ts";
import { type BulkUpload, bulkUploadBody } from "../../protocol/wire/bulk.ts";
import type { PaceOf } from "../../std/work.ts";
import type { StagingArea } from "../../storage/staging-area.ts";
import {
  answerJson,
  bodyText,
  isRefused,
  type Outcome,
  parseJsonBody,
  type Refused,
  rateLimited,
  refusedWith,
  type SentRequest,
} from "../answer.ts";
import { answerOnce, claimFor } from "./idempotency.ts";
import { notPublishable } from "./publish.ts";
import type { PublishServices } from "./publish-batch.ts";
import { passGate, publishedType } from "./publish-batch.ts";

/** What bulk uploads and their imports work with besides. */
export interface BulkServices extends PublishServices {
  /** Null where bulk import is not available. */
  readonly staging: StagingArea | null;
  readonly uploadTokens: UploadTokens;
  /** At which lines of a file are taken in: it has time, so what somebody waits for goes first (U6 in bulk-file.ts). */
  readonly paces: { readonly queued: PaceOf };
}

interface UploadServices extends BulkServices {
  /** The public address of the business surface. */
  readonly businessUrl: string;
}

const uploadIdBytes = 12;

/** POST /v1/bulk-uploads. Throws {@link StoreError}. */
export async function issueUpload(deps: UploadServices, request: SentRequest): Promise<Outcome> {
  const { party, key } = request.caller;
  if (deps.staging === null) return bulkUnavailable();
  let isReplayed = false;
  const claim = claimFor(request, {
    key: keyRef(party.uuid, key.key_id),
    route: "bulk-uploads",
    replayed: () => {
      isReplayed = true;
    },
  });
  if (isRefused(claim)) return claim;
  const outcome = await answerOnce(deps, claim, () => issue(deps, request));
  if (outcome.kind === "problem" || outcome.status !== 201) return outcome;
  const gate = isReplayed ? await passGate(deps, { ...request, collection: publishedType }) : null;
  if (gate !== null && isRefused(gate)) return gate;
  const issued = JSON.parse(bodyText(outcome.body)) as WithoutToken;
  const upload_token = deps.uploadTokens.tokenOf(party.uuid, issued.upload_id);
  const body: BulkUpload = { ...issued, fields: { ...issued.fields, upload_token } };
  return { ...outcome, body: JSON.stringify(body) };
}

/** What is stored of the answer (K1). */
type WithoutToken = Omit<BulkUpload, "fields"> & {
  readonly fields: Omit<BulkUpload["fields"], "upload_token">;
};

async function issue(deps: UploadServices, request: SentRequest): Promise<Outcome> {
  const gate = await passGate(deps, { ...request, collection: publishedType });
  if (isRefused(gate)) return gate;
  const parsed = parseJsonBody(bulkUploadBody, request.body);
  if (isRefused(parsed)) return parsed;
  const { record_type } = parsed.value;
  if (record_type !== publishedType) return notPublishable;
  const upload_id = `bup_${toHex(deps.crypto.randomBytes(uploadIdBytes))}`;
  const opened = await deps.actors.ask(businessRef(request.caller.party.uuid), {
    type: "upload.open",
    upload_id,
    until_ms: deps.clock.now() + bulkUploadOpenMs,
  });
  if (opened.status === "busy") return tooManyOpen(opened.retry_after_seconds);
  const { expires_at_ms } = await deps.actors.ask(bulkUploadRef(request.caller.party.uuid, upload_id), {
    type: "upload.issue",
    record_type,
    key_id: request.caller.key.key_id,
    valid_ms: bulkUploadValidMs,
  });
  const issued: WithoutToken = {
    upload_id,
    record_type,
    upload_url: `${deps.businessUrl}/v1/bulk-uploads/${upload_id}/file`,
    fields: { upload_id },
    content_type: "application/x-ndjson",
    max_bytes: bulkFileBytesMax,
    max_records: bulkRecordsMax,
    expires_at: formatTimestamp(expires_at_ms),
  };
  return answerJson(201, issued, { "cache-control": "no-store" });
}

function tooManyOpen(retry_after_seconds: number): Outcome {
  const detail = `${openUploadsMax} uploads of this business are open. An upload is open until its file is imported or deleted: import what is uploaded, and ask again.`;
  return rateLimited(detail, { retry_after_seconds, reason: "uploads_open" });
}

// The token that lets its bearer upload the file of one bulk upload. It is derived from a secret of the service, so it is
// stored nowhere, and a wrong one is refused without asking anything.

export interface UploadTokens {
  tokenOf(businessUuid: string, uploadId: string): string;
  /** The business whose upload this is; null for a token that is not the upload's. */
  businessOf(uploadId: string, token: string): string | null;
}

/** Tokens of uploads: a MAC by `secret`, which every node can verify. */
export function createUploadTokens({ hmacSha256 }: CryptoPort, secret: Uint8Array): UploadTokens {
  const macOf = (business: string, uploadId: string): Uint8Array =>
    hmacSha256(secret, utf8(`bulk upload\n${business}\n${uploadId}`));
  const tokenOf = (business: string, uploadId: string): string =>
    `${business}.${toBase64Url(macOf(business, uploadId))}`;
  return {
    tokenOf,
    businessOf: (uploadId, token) => {
      const business = token.slice(0, 36);
      if (!isUploadId(uploadId) || !isUuidV4(business)) return null;
      // MACs of both texts are compared, so that the time taken tells nothing about either.
      const [sent, right] = [token, tokenOf(business, uploadId)].map((text) =>
        hmacSha256(secret, utf8(text)),
      );
      return sent !== undefined && right !== undefined && toBase64Url(sent) === toBase64Url(right)
        ? business
        : null;
    },
  };
}

// What an upload or an import is refused for besides what any publishing request is: where bulk import is not available,
// and what the upload does not allow now.

/** An hour: nothing changes before an operator changes it. */
const retrySeconds = 3_600;

/** For a deployment without a staging area. */
export function bulkUnavailable(): Refused {
  const detail = "This deployment takes no bulk files now; publish batches of up to 10,000 records instead.";
  const extras = { reason: "bulk_import_unavailable", retry_after_seconds: retrySeconds };
  return refusedWith("unavailable", detail, extras, { "retry-after": String(retrySeconds) });
}

/** 404: the business has no such upload, or not any more. */
export function uploadUnknown(): Refused {
  return refusedWith("not_found", "No upload has this upload_id and token.");
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

/** 409, with the reason. */
export function uploadConflict(reason: UploadConflict): Refused {
  return refusedWith("upload_conflict", conflicts[reason], { reason });
}
