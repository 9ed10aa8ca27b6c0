// The bulk uploads that a business has open: those that may still take a file, and those whose file is kept.
//   U1. It has at most `openUploadsMax` of them, however many keys it has, and however many nodes issue them.
//   U2. A place is given back when the upload's actor says that it keeps nothing any more. Should that never happen, it
//       ends by itself, so nothing that is lost keeps a business from uploading.

import { fileKeptMs, uploadOpenMs } from "../../machines/bulk-upload.ts";
import type { BusinessEvent } from "../../machines/business.ts";
import { openUploadsMax } from "../../protocol/limits.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import type { OpenReply, UploadsProtocol } from "../messages/uploads.ts";
import type { Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import type { BusinessView } from "./view.ts";

/** How much later a place ends by itself than the upload's own timer ends it. */
const marginMs = 3_600_000;
/** The least that a business is asked to wait: a file may be imported, and its place free, at any moment. */
const retrySecondsMin = 60;

const uploads = defineJsonTable<{ readonly opened_at_ms: number }>("open bulk uploads", 80);

type Asked<T extends keyof UploadsProtocol> = CommandOf<UploadsProtocol, T>;

export function selectOpenUploads(): readonly RowSelection[] {
  return [uploads.selectPage(openUploadsMax)];
}

export function selectUpload({ upload_id }: { readonly upload_id: string }): readonly RowSelection[] {
  return [uploads.select([upload_id])];
}

export function openUpload(
  { upload_id }: Asked<"uploads.open">,
  view: BusinessView,
): Decision<OpenReply, BusinessEvent> {
  const open = uploads.readAll(view);
  if (open.some(({ k2 }) => k2 === upload_id)) return { reply: { status: "open" } };
  if (open.length >= openUploadsMax) {
    // One that is older has its file, which may be imported at any moment.
    const ends = open.map(({ value }) => value.opened_at_ms + uploadOpenMs - view.nowMs);
    const retry_after_seconds = Math.max(retrySecondsMin, Math.ceil(Math.min(...ends) / 1_000));
    return { reply: { status: "full", retry_after_seconds } };
  }
  const expiresAtMs = view.nowMs + uploadOpenMs + marginMs;
  return {
    reply: { status: "open" },
    puts: [uploads.write(upload_id, { opened_at_ms: view.nowMs }, { expiresAtMs })],
  };
}

export function keepUpload(
  { upload_id }: Asked<"uploads.stored">,
  view: BusinessView,
): Decision<DoneReply, BusinessEvent> {
  const known = uploads.read(view, upload_id) ?? { opened_at_ms: view.nowMs };
  const expiresAtMs = view.nowMs + fileKeptMs + marginMs;
  return { reply: { status: "done" }, puts: [uploads.write(upload_id, known, { expiresAtMs })] };
}

export function closeUpload({ upload_id }: Asked<"uploads.closed">): Decision<DoneReply, BusinessEvent> {
  return { reply: { status: "done" }, deletes: [uploads.key(upload_id)] };
}
