// The commands of the actor of a bulk upload. There is one for each upload id of a business.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { DoneReply } from "./protocol.ts";

/** A file as it arrived, and the name of what is kept of it in the staging area. */
export interface UploadedFileFacts {
  readonly name: string;
  /** Size as it was sent. */
  readonly bytes: number;
  readonly records: number;
  /** `sha256:<hex>` of the RFC 6962 root over the records, in the order of their lines. */
  readonly root: string;
  /** `sha256:<hex>` over the file as it was sent. */
  readonly sha256: string;
}

export type UploadState = "issued" | "uploaded" | "importing" | "imported" | "deleted";

/** Why an upload does not allow something now; the reason of the problem `upload_conflict`. */
export type UploadConflict =
  /** It was issued too long ago, or its file was kept for as long as files are kept. */
  | "expired"
  /** Another request is uploading its file. */
  | "in_progress"
  /** It refused as many files as it may. */
  | "tries_spent"
  /** It has its file. */
  | "already_uploaded"
  /** It has no file yet. */
  | "no_file"
  /** Its file was imported, or is being imported, under another seal. */
  | "imported_otherwise";

export interface UploadReport {
  readonly state: UploadState;
  readonly record_type: CollectionName;
  /** Null until the file has arrived. */
  readonly file: UploadedFileFacts | null;
  /** The push that imports the file, or has claimed it. */
  readonly push_id: string | null;
  /** The file is kept at least until then, in Unix milliseconds. */
  readonly kept_until_ms: number;
}

export interface BulkUploadProtocol {
  /** Repeatable: an upload is issued once. */
  "upload.issue"(command: {
    readonly record_type: CollectionName;
    /** The key that asks. */
    readonly key_id: string;
    /** How long it takes a file. */
    readonly valid_ms: number;
  }): { readonly expires_at_ms: number };
  /**
   * Claims the upload for one request, which stages the file under the name `attempt`. The same attempt renews its claim
   * in this way; one that is not renewed ends.
   */
  "upload.begin"(command: { readonly attempt: string }): BeginReply;
  /** The request gave up; what it staged is removed. It counts if its file was refused, and not if the service had no room for it. */
  "upload.abort"(command: { readonly attempt: string; readonly is_refused: boolean }): DoneReply;
  /** The file is staged under the name of the attempt. */
  "upload.finish"(command: { readonly attempt: string; readonly file: UploadedFileFacts }): FinishReply;
  /** Read-only. Null if no such upload was issued. */
  "upload.read"(): UploadReport | null;
  /**
   * Keeps the file for a push that is about to be accepted, for `valid_ms`; the same push renews its claim in this way. It
   * is refused while the file is another push's.
   */
  "import.claim"(command: { readonly push_id: string; readonly valid_ms: number }): ClaimReply;
  /** The push will not be accepted: the file is free again. */
  "import.release"(command: { readonly push_id: string }): DoneReply;
  /** A push that imports the file was accepted; it fails at once if it cannot have the file. */
  "import.begin"(command: { readonly push_id: string }): DoneReply;
  /** Nothing more of the push will be published. */
  "import.end"(command: { readonly push_id: string }): DoneReply;
}

export type BeginReply =
  /** With what it was issued for, and to which key. */
  | { readonly status: "begun"; readonly record_type: CollectionName; readonly key_id: string }
  | { readonly status: "unknown" }
  | { readonly status: "refused"; readonly reason: UploadConflict };

export type ClaimReply =
  | { readonly status: "claimed" }
  | { readonly status: "refused"; readonly reason: UploadConflict };

export type FinishReply =
  | { readonly status: "uploaded" }
  | { readonly status: "refused"; readonly reason: UploadConflict };
