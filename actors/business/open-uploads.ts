// The open uploads of a business: those whose file may still arrive, and those whose file is kept and not imported yet. What is
// staged for them is bounded by their number, wherever the staging area is.
//   O1. A business has at most `openUploadsMax` of them. Another one is not issued until a place is free.
//   O2. An upload has one place, and gives it back when its file is imported or deleted: its actor says so.
//   O3. A place also ends by itself, an hour after the upload should have said so, and so no lost message takes it for ever.
// A place is one row, which is gone when its time is over.

import { openUploadsMax } from "../../protocol/limits.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { OpenReply, OpenUploadsProtocol } from "../messages/open-uploads.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import type { ActorView, Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";

type Asked<T extends keyof OpenUploadsProtocol> = CommandOf<OpenUploadsProtocol, T>;

interface OpenUpload {
  /** When the upload ends unless its file is imported, in Unix milliseconds. */
  readonly until_ms: number;
}

const openUploads = defineJsonTable<OpenUpload>("open uploads", 80);
/** How much later than its upload a place ends by itself. */
const marginMs = 3_600_000;
/** An upload whose place ended by itself takes one again once it has a file, however many have one already. */
const placesRead = 8 * openUploadsMax;
const retrySecondsMin = 60;
/** No longer, because an import that ends frees its place before. */
const retrySecondsMax = 3_600;

export function selectOpenUploads(): readonly RowSelection[] {
  return [openUploads.selectPage(placesRead)];
}

export function openUpload(
  { upload_id, until_ms }: Asked<"upload.open">,
  view: ActorView,
): Decision<OpenReply, never> {
  const open = openUploads.readAll(view).filter(({ value }) => value.until_ms + marginMs > view.nowMs);
  if (open.some(({ k2 }) => k2 === upload_id)) return { reply: { status: "open" } };
  if (open.length < openUploadsMax)
    return { reply: { status: "open" }, puts: [placeOf(upload_id, until_ms)] };
  const firstMs = Math.min(...open.map(({ value }) => value.until_ms));
  const seconds = Math.ceil((firstMs - view.nowMs) / 1_000);
  const retry_after_seconds = Math.min(Math.max(seconds, retrySecondsMin), retrySecondsMax);
  return { reply: { status: "busy", retry_after_seconds } };
}

export function keepUpload({ upload_id, until_ms }: Asked<"upload.keep">): Decision<DoneReply, never> {
  return { reply: { status: "done" }, puts: [placeOf(upload_id, until_ms)] };
}

export function closeUpload({ upload_id }: Asked<"upload.close">): Decision<DoneReply, never> {
  return { reply: { status: "done" }, deletes: [openUploads.key(upload_id)] };
}

function placeOf(uploadId: string, until_ms: number) {
  return openUploads.write(uploadId, { until_ms }, { expiresAtMs: until_ms + marginMs });
}
