// The actor of a bulk upload: who may upload its file, and what becomes of the file.
//   BD1. While one request uploads, no other may; a request that died loses its claim a minute later.
//   BD2. A file counts only if it was staged by the request that has the claim when it ends.
//   BD3. Repeating a command changes nothing and is answered as before.

import {
  type BulkUploadContext,
  type BulkUploadEvent,
  bulkUploadMachine,
} from "../../machines/bulk-upload.ts";
import type {
  BeginReply,
  BulkUploadProtocol,
  FinishReply,
  UploadConflict,
  UploadReport,
  UploadState,
} from "../messages/bulk-upload.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { pushRef } from "../messages/refs.ts";
import { type Decision, defineActor, type Effect, tell, type ViewOf } from "../system/definition.ts";

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
    "upload.abort": ({ attempt }, view) =>
      done(view.snapshot.context.attempt?.name === attempt, { type: "upload.aborted" }),
    "upload.finish": finish,
    "upload.read": (_command, view) => ({ reply: reportOf(view) }),
    "import.begin": ({ push_id }, view) =>
      done(stateOf(view) === "uploaded", { type: "import.begun", push_id }),
    "import.end": ({ push_id }, view) => {
      const { pushId } = view.snapshot.context;
      const isOurs = pushId === null || pushId === push_id;
      return done(isOurs && view.snapshot.matches("stored"), { type: "import.ended" });
    },
  },
  // Anybody may ask about any upload_id.
  absent: { "upload.read": { reply: null }, "upload.begin": { reply: { status: "unknown" } } },
  effects: {
    removeFile: (params: { name: string }) => removal(params),
    failImport: (params: { push_id: string }, view: View) => failure(params, view),
  },
});

function removal(params: { readonly name: string }): readonly Effect[] {
  return params.name === "" ? [] : [{ kind: "activity", name: "removeStagedFile", params }];
}

function failure({ push_id }: { readonly push_id: string }, view: View): readonly Effect[] {
  if (push_id === "") return [];
  const business = view.id.slice(0, view.id.indexOf("."));
  return [tell(pushRef(business, push_id), { type: "push.fail", ...fileForgotten })];
}

const fileForgotten = {
  code: "upload_expired",
  detail: "The file was kept for seven days and then deleted; upload and seal what is missing again.",
} as const;

function done(happens: boolean, event: BulkUploadEvent): Decided<DoneReply> {
  return { reply: { status: "done" }, events: happens ? [event] : [] };
}

function issue({ record_type, valid_ms }: Asked<"upload.issue">, view: View) {
  const known = view.snapshot.context.upload;
  if (known !== null) return { reply: { expires_at_ms: known.expires_at_ms } };
  const expires_at_ms = view.nowMs + valid_ms;
  const issued: BulkUploadEvent = { type: "upload.issued", record_type, expires_at_ms };
  return { reply: { expires_at_ms }, events: [issued] };
}

function begin({ attempt: name }: Asked<"upload.begin">, view: View): Decided<BeginReply> {
  const { upload, attempt } = view.snapshot.context;
  if (upload === null) return { reply: { status: "unknown" } };
  const reason = conflictOf(view);
  if (reason !== null) return refused(reason);
  const isOwn = attempt?.name === name;
  if (!isOwn && view.nowMs >= upload.expires_at_ms) return refused("expired");
  if (!isOwn && attempt !== null && view.nowMs < attempt.until_ms) return refused("in_progress");
  const begun: BulkUploadEvent = { type: "upload.begun", name, until_ms: view.nowMs + claimedMs };
  return { reply: { status: "begun" }, events: [begun] };
}

function finish({ attempt, file }: Asked<"upload.finish">, view: View): Decided<FinishReply> {
  const { context } = view.snapshot;
  if (context.file?.name === attempt) return { reply: { status: "uploaded" } };
  const reason = conflictOf(view) ?? (context.attempt?.name === attempt ? null : "in_progress");
  if (reason !== null) return refused(reason);
  return { reply: { status: "uploaded" }, events: [{ type: "upload.finished", file }] };
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
  const { upload, file, pushId }: BulkUploadContext = view.snapshot.context;
  if (upload === null || state === "unknown") return null;
  return { state, record_type: upload.record_type, file, push_id: pushId };
}
