// How many uploads of a business are open: asked when one is issued, and told by the uploads themselves afterwards.

import type { DoneReply } from "./protocol.ts";

export type OpenReply =
  | { readonly status: "open" }
  /** Too many are open. */
  | { readonly status: "busy"; readonly retry_after_seconds: number };

export interface OpenUploadsProtocol {
  /** Asks for the place of an upload that is about to be issued, and ends at `until_ms` if it gets no file; repeatable. */
  "upload.open"(command: { readonly upload_id: string; readonly until_ms: number }): OpenReply;
  /** The upload has its file, which is kept until `until_ms` unless it is imported; repeatable. */
  "upload.keep"(command: { readonly upload_id: string; readonly until_ms: number }): DoneReply;
  /** The upload has no file any more, and gets none; repeatable. */
  "upload.close"(command: { readonly upload_id: string }): DoneReply;
}
