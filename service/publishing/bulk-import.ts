// POST /v1/bulk-imports: an uploaded file becomes a push, at most once, by the same checks as a batch in a request
// (the table in publish.ts).
//   I1. Whether the file is exactly what the seal names is known since it was uploaded: a file that is not is refused
//       before anything of it is read, and no seq is used.
//   I2. The file is claimed for the push before it is charged, so of two seals over one file only one is accepted.
//   I3. The same request again is answered with the state of the push now, and resumes it; also where bulk import is not
//       available any more, which is said only of what was not accepted before.

import type { UploadedFileFacts, UploadReport } from "../../actors/messages/bulk-upload.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { bulkUploadRef, keyRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { type Envelope, parseEnvelope } from "../../protocol/dsse.ts";
import { anything, object } from "../../protocol/shape.ts";
import { uploadId } from "../../protocol/wire/bulk.ts";
import {
  answerJson,
  bodyText,
  isRefused,
  type Outcome,
  parseJsonBody,
  type Refused,
  refusedWith,
  type SentRequest,
  sealRefused,
} from "../answer.ts";
import { acceptBatch, acceptWithinMsDefault, type OfferedBatch, reportOf } from "./accept-batch.ts";
import type { BulkServices } from "./bulk-upload.ts";
import { bulkUnavailable, uploadConflict } from "./bulk-upload.ts";
import { answerOnce, claimFor } from "./idempotency.ts";
import { keepRefused } from "./publish.ts";
import {
  countFault,
  type Gate,
  judgeBatchSeal,
  passGate,
  publishedType,
  rootFault,
  type SealedBatch,
  type StagedBatch,
} from "./publish-batch.ts";
import { pushStatus, wholeStatus } from "./push-status.ts";

/** POST /v1/bulk-imports. Throws {@link StoreError}. */
export async function importFile(deps: BulkServices, request: SentRequest): Promise<Outcome> {
  const { party, key } = request.caller;
  let isReplayed = false;
  const claim = claimFor(request, {
    key: keyRef(party.uuid, key.key_id),
    route: "bulk-imports",
    replayed: () => {
      isReplayed = true;
    },
  });
  if (isRefused(claim)) return claim;
  const outcome = await answerOnce(deps, claim, () => answerImport(deps, request));
  if (!isReplayed || outcome.kind === "problem" || outcome.status !== 202) return outcome;
  // I3. The stored answer only names the push.
  const { push_id } = JSON.parse(bodyText(outcome.body)) as { readonly push_id: string };
  return answerNow(deps, request, push_id, null);
}

async function answerImport(deps: BulkServices, request: SentRequest): Promise<Outcome> {
  const attempt = { caller: request.caller, collection: publishedType, source: "bulk" } as const;
  const gate = await passGate(deps, { ...request, collection: publishedType });
  if (isRefused(gate)) return keepRefused(deps, attempt, gate);
  const asked = parseImport(request.body);
  if (isRefused(asked)) return keepRefused(deps, attempt, asked);
  const question = { caller: request.caller, collection: publishedType, batchSeal: asked.batchSeal };
  const sealed = await judgeBatchSeal(deps, question);
  if (isRefused(sealed)) return keepRefused(deps, attempt, sealed);
  const accepted = await acceptImport(deps, request, gate, { ...asked, sealed });
  if (isRefused(accepted))
    return keepRefused(deps, { ...attempt, sealed, records: sealed.seal.tree_size }, accepted);
  return answerNow(deps, request, sealed.pushId, accepted.report);
}

async function acceptImport(
  deps: BulkServices,
  request: SentRequest,
  gate: Gate,
  asked: Import & { readonly sealed: SealedBatch },
): Promise<{ readonly report: PushReport | null } | Refused> {
  const { uploadId: id, sealed } = asked;
  if (deps.staging === null) {
    const report = await deps.actors.ask(pushRef(request.caller.party.uuid, sealed.pushId), wholeStatus);
    return report === null ? bulkUnavailable() : { report };
  }
  const found = await findFile(deps.actors, request.caller.party.uuid, asked);
  if (isRefused(found) || "report" in found) return found;
  const { file } = found;
  const offered: OfferedBatch = {
    sealed,
    source: { source: "bulk", file: { upload_id: id, name: file.name, root: file.root } },
    bytes: file.bytes,
    stage: () => stageSeal(deps, request, asked),
    records: null,
  };
  return acceptBatch(deps, request, gate, offered);
}

/** How much longer a claim lasts than the acceptance may take, for clocks of nodes that do not agree. */
const claimSpareMs = 60_000;

/** The records are staged already, under their upload, whose actor removes them; they are claimed for the push (I2). */
async function stageSeal(
  { actors, records, clock, acceptWithinMs = acceptWithinMsDefault }: BulkServices,
  { caller }: SentRequest,
  { uploadId: id, sealed, batchSeal }: Import & { readonly sealed: SealedBatch },
): Promise<StagedBatch | Refused> {
  const stagingAtMs = clock.now();
  const upload = bulkUploadRef(caller.party.uuid, id);
  const push_id = sealed.pushId;
  const valid_ms = acceptWithinMs + claimSpareMs;
  const claimed = await actors.ask(upload, { type: "import.claim", push_id, valid_ms });
  if (claimed.status === "refused") return uploadConflict(claimed.reason);
  const release = async (): Promise<void> => {
    await actors.ask(upload, { type: "import.release", push_id });
  };
  await records.putSeal({
    seal_id: sealed.pushId,
    envelope: JSON.stringify(batchSeal),
    tree_size: sealed.seal.tree_size,
  });
  return { stagingAtMs, drop: release, dropOwn: release };
}

/** Being asked for its status activates the push's actor if no node has it in memory, and it does what is left. */
async function answerNow(
  { actors }: BulkServices,
  { caller }: SentRequest,
  pushId: string,
  known: PushReport | null,
): Promise<Outcome> {
  const report = known ?? reportOf(await actors.ask(pushRef(caller.party.uuid, pushId), wholeStatus));
  return answerJson(202, pushStatus(report), { location: `/v1/pushes/${pushId}` });
}

// What an import is asked for, and the file that it names: for importing and for validating alike. It changes nothing.

interface Import {
  readonly uploadId: string;
  readonly batchSeal: Envelope;
}

/** The envelope is judged by itself, so that a malformed one is refused as a seal. */
const importShape = object({ upload_id: uploadId, batch_seal: anything });

/** The body of an import: `{upload_id, batch_seal}`. */
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
  actors: ActorSystem,
  uuid: string,
  { uploadId: id, sealed }: Pick<Import, "uploadId"> & { readonly sealed: SealedBatch },
): Promise<{ readonly file: UploadedFileFacts } | { readonly report: PushReport } | Refused> {
  const upload = await actors.ask(bulkUploadRef(uuid, id), { type: "upload.read" });
  if (upload === null)
    return refusedWith("not_found", "This business has no such upload.", { pointer: "/upload_id" });
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
