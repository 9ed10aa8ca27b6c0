// POST /v1/bulk-uploads: where and how a file of records is uploaded (specification, «B. Business machine API»).
//   K1. The token is in no stored answer: it is added when the answer leaves, each time the same.
//   K2. The token is authority, so a replayed answer gets it only if the request would still be accepted.
//   K3. A business has a bounded number of open uploads (actors/business/open-uploads.ts); a replayed answer counts once.

import { bulkUploadRef, businessRef, keyRef } from "../actors/messages/refs.ts";
import { toHex } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import {
  bulkFileBytesMax,
  bulkRecordsMax,
  bulkUploadOpenMs,
  bulkUploadValidMs,
  openUploadsMax,
} from "../protocol/limits.ts";
import { type BulkUpload, bulkUploadBody } from "../protocol/wire/bulk.ts";
import type { StagingArea } from "../storage/staging-area.ts";
import { answerJson, bodyText, isRefused, type Outcome } from "./answer.ts";
import { bulkUnavailable } from "./bulk-refused.ts";
import type { Caller } from "./caller.ts";
import { answerOnce, type IdempotencyDeps } from "./idempotency.ts";
import { parseJsonBody } from "./json-body.ts";
import { notPublishable } from "./judge-batch.ts";
import { publishedType } from "./publish-batch.ts";
import { claimFor } from "./publish-claim.ts";
import { type GateDeps, passGate } from "./publish-gate.ts";
import { rateLimited } from "./rate-limited.ts";
import type { UploadTokens } from "./upload-token.ts";

export interface BulkUploadDeps extends GateDeps, Pick<IdempotencyDeps, "timers" | "crypto"> {
  /** Null where bulk import is not available. */
  readonly staging: StagingArea | null;
  readonly uploadTokens: UploadTokens;
  /** The public address of the business surface. */
  readonly businessUrl: string;
}

export interface BulkRequest {
  readonly caller: Caller;
  readonly idempotencyKey: string | null;
  /** The value of the verified Content-Digest header. */
  readonly contentDigest: string;
  readonly body: Uint8Array;
  readonly sourceIp: string | null;
}

const uploadIdBytes = 12;

export async function issueUpload(deps: BulkUploadDeps, request: BulkRequest): Promise<Outcome> {
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

async function issue(deps: BulkUploadDeps, request: BulkRequest): Promise<Outcome> {
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
