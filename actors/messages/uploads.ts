// What a business answers about the bulk uploads that it has open.

import type { DoneReply } from "./protocol.ts";

export type OpenReply =
  | { readonly status: "open" }
  /** As many as it may have are open; the oldest that has no file yet ends then. */
  | { readonly status: "full"; readonly retry_after_seconds: number };

export interface UploadsProtocol {
  /** Takes the place of an upload that is about to be issued; repeatable. */
  "uploads.open"(command: { readonly upload_id: string }): OpenReply;
  /** The upload has its file, so its place lasts as long as the file may. */
  "uploads.stored"(command: { readonly upload_id: string }): DoneReply;
  /** Nothing of the upload is kept any more. */
  "uploads.closed"(command: { readonly upload_id: string }): DoneReply;
}
