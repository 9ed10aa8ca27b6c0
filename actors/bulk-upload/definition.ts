// The actor of a bulk upload: who may upload its file, and what becomes of the file.
//   BD1. While one request uploads, no other may; a request that died loses its claim a minute later.
//   BD2. A file counts only if it was staged by the request that has the claim when it ends.
//   BD3. Repeating a command changes nothing and is answered as before.
//   BD4. A push is accepted only after it has claimed the file, so a file is charged once. A claim ends by itself, since
//        the process that made it may have died; a push that is accepted later than that, and too late, fails at once.
//   BD5. An upload that refused five files takes no other: its sender asks for another one, at its key's rate.

import {
  type BulkUploadContext,
  type BulkUploadEvent,
  bulkUploadMachine,
} from "../../machines/bulk-upload.ts";
import { bulkFileKeptMs, bulkUploadValidMs, uploadTriesMax } from "../../protocol/limits.ts";
import type {
  BeginReply,
  BulkUploadProtocol,
  ClaimReply,
  FinishReply,
  UploadConflict,
  UploadReport,
  UploadState,
} from "../messages/bulk-upload.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { businessRef, partsOf, pushRef } from "../messages/refs.ts";
import { type Decision, defineActor, type Effect, takenOf, tell, type ViewOf } from "../system/definition.ts";

/** Three times as long as a request goes on without renewing its claim. */
const claimedMs = 60_000;

type View = ViewOf<typeof bulkUploadMachine>;
type Asked<T extends keyof BulkUploadProtocol> = CommandOf<BulkUploadProtocol, T>;
type Decided<R> = Decision<R, BulkUploadEvent>;

export const bulkUploadActor = defineActor<"bulk-upload", typeof bulkUploadMachine>({
  kind: "bulk-upload",
  schemaVersion: 1,
  machine: bulkUploadMachine,
  durability: "journal",
  input: (id) => ({ uploadId: id }),
  decide: {
    "upload.issue": issue,
    "upload.begin": begin,
    "upload.abort": ({ attempt, is_refused }, view) => {
      const type = is_refused ? "upload.refused" : "upload.aborted";
      return done(view.snapshot.context.attempt?.name === attempt, { type }, view);
    },
    "upload.finish": finish,
    "upload.read": (_command, view) => ({ reply: reportOf(view) }),
    "import.claim": claimImport,
    "import.release": ({ push_id }, view) =>
      done(claimOf(view) === push_id, { type: "import.released" }, view),
    "import.begin": beginImport,
    "import.end": ({ push_id }, view) => done(isFreeFor(view, push_id), { type: "import.ended" }, view),
  },
  // Anybody may ask about any upload_id.
  absent: { "upload.read": { reply: null }, "upload.begin": { reply: { status: "unknown" } } },
  effects: {
    removeFile: (params: { name: string }) => removal(params),
    failImport: (params: { push_id: string }, view: View) => failure(params, view),
    keepPlace: (_params, { id, nowMs }: View) => {
      const { party, own } = partsOf(id);
      const until_ms = nowMs + bulkFileKeptMs;
      return [tell(businessRef(party), { type: "upload.keep", upload_id: own, until_ms })];
    },
    freePlace: (_params, { id }: View) => {
      const { party, own } = partsOf(id);
      return [tell(businessRef(party), { type: "upload.close", upload_id: own })];
    },
  },
});

function removal(params: { readonly name: string }): readonly Effect[] {
  return params.name === "" ? [] : [{ kind: "activity", name: "removeStagedFile", params }];
}

function failure({ push_id }: { readonly push_id: string }, view: View, why = fileForgotten) {
  if (push_id === "") return [];
  return [tell(pushRef(partsOf(view.id).party, push_id), { type: "push.fail", ...why })];
}

interface Failure {
  readonly code: string;
  readonly detail: string;
}

const fileForgotten: Failure = {
  code: "upload_expired",
  detail: "The file was kept for seven days and then deleted; upload and seal what is missing again.",
};
const fileOfAnother: Failure = {
  code: "upload_conflict",
  detail: "The file was imported under another seal; nothing of this push is published.",
};

function done(isOurs: boolean, event: BulkUploadEvent, view: View): Decided<DoneReply> {
  return { reply: { status: "done" }, events: isOurs ? takenOf(view, event) : [] };
}

function issue({ record_type, key_id, valid_ms }: Asked<"upload.issue">, view: View) {
  const known = view.snapshot.context.upload;
  if (known !== null) return { reply: { expires_at_ms: known.expires_at_ms } };
  const expires_at_ms = view.nowMs + valid_ms;
  const issued: BulkUploadEvent = { type: "upload.issued", record_type, expires_at_ms, key_id };
  return { reply: { expires_at_ms }, events: [issued] };
}

function begin({ attempt: name }: Asked<"upload.begin">, view: View): Decided<BeginReply> {
  const { upload, attempt } = view.snapshot.context;
  if (upload === null) return { reply: { status: "unknown" } };
  const reason = conflictOf(view);
  if (reason !== null) return refused(reason);
  const isOwn = attempt?.name === name;
  if (!isOwn && view.nowMs >= upload.expires_at_ms) return refused("expired");
  if (!isOwn && view.snapshot.context.refused >= uploadTriesMax) return refused("tries_spent");
  if (!isOwn && attempt !== null && view.nowMs < attempt.until_ms) return refused("in_progress");
  const begun: BulkUploadEvent = { type: "upload.begun", name, until_ms: view.nowMs + claimedMs };
  const { record_type, key_id } = upload;
  return { reply: { status: "begun", record_type, key_id }, events: [begun] };
}

function finish({ attempt, file }: Asked<"upload.finish">, view: View): Decided<FinishReply> {
  const { context } = view.snapshot;
  if (context.file?.name === attempt) return { reply: { status: "uploaded" } };
  const reason = conflictOf(view) ?? (context.attempt?.name === attempt ? null : "in_progress");
  if (reason !== null) return refused(reason);
  return { reply: { status: "uploaded" }, events: [{ type: "upload.finished", file }] };
}

/** The push whose file this is now: it imports the file, or has claimed it. */
function claimOf({ snapshot, nowMs }: View): string | null {
  const { pushId, claim } = snapshot.context;
  if (pushId !== null) return pushId;
  return claim && nowMs < claim.until_ms ? claim.push_id : null;
}

function isFreeFor(view: View, pushId: string): boolean {
  return (claimOf(view) ?? pushId) === pushId;
}

function claimImport({ push_id, valid_ms }: Asked<"import.claim">, view: View): Decided<ClaimReply> {
  const state = stateOf(view);
  if (state === "deleted") return refused("expired");
  if (state === "issued" || state === "unknown") return refused("no_file");
  if (!isFreeFor(view, push_id)) return refused("imported_otherwise");
  const claimed: BulkUploadEvent = { type: "import.claimed", push_id, until_ms: view.nowMs + valid_ms };
  return { reply: { status: "claimed" }, events: takenOf(view, claimed) };
}

/** Repeated for the same push, it changes nothing, whatever became of the file. */
function beginImport({ push_id }: Asked<"import.begin">, view: View): Decided<DoneReply> {
  const state = stateOf(view);
  const reply: DoneReply = { status: "done" };
  if (view.snapshot.context.pushId === push_id) return { reply };
  if (state === "uploaded" && isFreeFor(view, push_id))
    return { reply, events: [{ type: "import.begun", push_id }] };
  return { reply, effects: failure({ push_id }, view, state === "deleted" ? fileForgotten : fileOfAnother) };
}

function refused(reason: UploadConflict) {
  return { reply: { status: "refused", reason } } as const;
}

/** Why the upload takes no file from anybody any more. */
function conflictOf(view: View): UploadConflict | null {
  const state = stateOf(view);
  if (state === "issued") return null;
  return state === "deleted" ? "expired" : "already_uploaded";
}

function stateOf({ snapshot }: View): UploadState | "unknown" {
  const { value } = snapshot;
  return typeof value === "object" ? value.stored : value;
}

function reportOf(view: View): UploadReport | null {
  const state = stateOf(view);
  const { upload, file }: BulkUploadContext = view.snapshot.context;
  if (upload === null || state === "unknown") return null;
  // It is stored after it was issued, and kept for seven days from then on.
  const kept_until_ms = upload.expires_at_ms - bulkUploadValidMs + bulkFileKeptMs;
  return { state, record_type: upload.record_type, file, push_id: claimOf(view), kept_until_ms };
}
