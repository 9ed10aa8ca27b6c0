// What an import is asked for, and the file that it names: for importing and for validating alike. It changes nothing.

import type { UploadedFileFacts, UploadReport } from "../actors/messages/bulk-upload.ts";
import type { PushReport } from "../actors/messages/push.ts";
import { bulkUploadRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { problem } from "../protocol/problem.ts";
import { anything, object } from "../protocol/shape.ts";
import { uploadId } from "../protocol/wire/bulk.ts";
import { isRefused, type Refused, refused } from "./answer.ts";
import { uploadConflict } from "./bulk-refused.ts";
import { parseJsonBody } from "./json-body.ts";
import { countFault, rootFault, type SealedBatch } from "./publish-batch.ts";
import { wholeStatus } from "./push-status.ts";
import { sealRefused } from "./seal-refused.ts";

export interface Import {
  readonly uploadId: string;
  readonly batchSeal: Envelope;
}

/** The envelope is judged by itself, so that a malformed one is refused as a seal. */
const importShape = object({ upload_id: uploadId, batch_seal: anything });

export function parseImport(body: Uint8Array): Import | Refused {
  const parsed = parseJsonBody(importShape, body);
  if (isRefused(parsed)) return parsed;
  const { upload_id, batch_seal } = parsed.value;
  const envelope = parseEnvelope(batch_seal);
  if (!envelope.ok) return sealRefused(envelope.code, envelope.detail, { pointer: "/batch_seal" });
  return { uploadId: upload_id, batchSeal: envelope.value };
}

/** The file, exactly as the seal names it; or the push, if it was accepted before and cannot be imported once more. */
export async function findFile(
  actors: Pick<ActorSystem, "ask">,
  uuid: string,
  { uploadId: id, sealed }: Pick<Import, "uploadId"> & { readonly sealed: SealedBatch },
): Promise<{ readonly file: UploadedFileFacts } | { readonly report: PushReport } | Refused> {
  const upload = await actors.ask(bulkUploadRef(uuid, id), { type: "upload.read" });
  if (upload === null)
    return refused(problem("not_found", "This business has no such upload.", { pointer: "/upload_id" }));
  const { file } = upload;
  const misfit =
    file && (countFault(sealed.seal, file.records, "the file") ?? rootFault(sealed.seal, file.root));
  if (misfit) return misfit;
  const conflict = conflictOf(upload, sealed.pushId);
  if (conflict === null && file !== null) return { file };
  // What was accepted before is reported, whatever became of its file.
  const report = await actors.ask(pushRef(uuid, sealed.pushId), wholeStatus);
  return report === null ? (conflict ?? uploadConflict("no_file")) : { report };
}

function conflictOf({ state, push_id }: UploadReport, pushId: string): Refused | null {
  if (state === "issued") return uploadConflict("no_file");
  if (state === "deleted") return uploadConflict("expired");
  const isOther = push_id !== null && push_id !== pushId;
  return isOther || state === "imported" ? uploadConflict("imported_otherwise") : null;
}
