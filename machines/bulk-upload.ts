// Bulk upload: an address that takes one file of records, and that file until it is imported or forgotten.
//   BU1. One file at most becomes the upload's, and it never changes afterwards.
//   BU2. Whatever was staged for the upload is removed: an attempt that did not succeed, a file that was imported, and one
//        that was kept for seven days, whatever is being done with it.
//   BU3. A push whose file was forgotten before everything of it was published is told so.
//   BU4. The file is for one push: the one that claimed it, as long as its claim lasts, and the one whose import began.
//   BU5. Its business is told that it has a file, and that it has none any more (actors/business/definition.ts).
//   BU6. Files that were refused are counted, so that an upload takes a few of them only.

import { assign, setup } from "xstate";
import type { UploadedFileFacts } from "../actors/messages/bulk-upload.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import { bulkFileKeptMs, bulkUploadOpenMs } from "../protocol/limits.ts";

export interface BulkUploadContext {
  readonly upload: IssuedUpload | null;
  /** The request that uploads the file; its claim lasts until then. */
  readonly attempt: { readonly name: string; readonly until_ms: number } | null;
  /** Files that were refused. */
  readonly refused: number;
  readonly file: UploadedFileFacts | null;
  readonly pushId: string | null;
  /** The push that is about to be accepted, and until when the file waits for it; null where none is. */
  readonly claim: { readonly push_id: string; readonly until_ms: number } | null;
}

export interface IssuedUpload {
  readonly record_type: CollectionName;
  readonly expires_at_ms: number;
  /** The key that asked for it. */
  readonly key_id: string;
}

export type BulkUploadEvent =
  | ({ readonly type: "upload.issued" } & IssuedUpload)
  | { readonly type: "upload.begun"; readonly name: string; readonly until_ms: number }
  | { readonly type: "upload.aborted" }
  | { readonly type: "upload.refused" }
  | { readonly type: "upload.finished"; readonly file: UploadedFileFacts }
  | { readonly type: "import.claimed"; readonly push_id: string; readonly until_ms: number }
  | { readonly type: "import.released" }
  | { readonly type: "import.begun"; readonly push_id: string }
  | { readonly type: "import.ended" };

export const bulkUploadMachine = setup({
  types: {
    context: {} as BulkUploadContext,
    events: {} as BulkUploadEvent,
    input: {} as { uploadId: string },
  },
  delays: {
    open: bulkUploadOpenMs,
    keep: bulkFileKeptMs,
  },
  guards: {
    isAnotherAttempt: ({ context, event }) =>
      event.type === "upload.begun" && context.attempt !== null && context.attempt.name !== event.name,
    hasAttempt: ({ context }) => context.attempt !== null,
  },
  actions: {
    noteAttempt: assign(({ event }) =>
      event.type === "upload.begun" ? { attempt: { name: event.name, until_ms: event.until_ms } } : {},
    ),
    endAttempt: assign({ attempt: null }),
    countRefused: assign({ refused: ({ context }) => context.refused + 1 }),
    // Effects: named here, performed by the actor system.
    removeFile: (_, _params: { name: string }) => {},
    failImport: (_, _params: { push_id: string }) => {},
    keepPlace: () => {},
    freePlace: () => {},
  },
}).createMachine({
  id: "bulk-upload",
  context: { upload: null, attempt: null, refused: 0, file: null, pushId: null, claim: null },
  initial: "unknown",
  states: {
    unknown: {
      on: {
        "upload.issued": {
          target: "issued",
          actions: assign({
            upload: ({ event: { type: _, ...issued } }) => issued,
          }),
        },
      },
    },
    issued: {
      after: {
        open: [
          {
            guard: "hasAttempt",
            target: "deleted",
            actions: [
              { type: "removeFile", params: ({ context }) => ({ name: context.attempt?.name ?? "" }) },
              "endAttempt",
            ],
          },
          { target: "deleted" },
        ],
      },
      on: {
        "upload.begun": [
          {
            guard: "isAnotherAttempt",
            actions: [
              { type: "removeFile", params: ({ context }) => ({ name: context.attempt?.name ?? "" }) },
              "noteAttempt",
            ],
          },
          { actions: "noteAttempt" },
        ],
        "upload.aborted": {
          guard: "hasAttempt",
          actions: [
            { type: "removeFile", params: ({ context }) => ({ name: context.attempt?.name ?? "" }) },
            "endAttempt",
          ],
        },
        "upload.refused": {
          guard: "hasAttempt",
          actions: [
            { type: "removeFile", params: ({ context }) => ({ name: context.attempt?.name ?? "" }) },
            "endAttempt",
            "countRefused",
          ],
        },
        "upload.finished": {
          target: "stored",
          actions: [assign({ file: ({ event }) => event.file, attempt: null }), "keepPlace"],
        },
      },
    },
    stored: {
      initial: "uploaded",
      after: {
        keep: {
          target: "deleted",
          actions: { type: "removeFile", params: ({ context }) => fileOf(context) },
        },
      },
      on: { "import.ended": "imported" },
      states: {
        uploaded: {
          on: {
            "import.claimed": {
              actions: assign({
                claim: ({ event }) => ({ push_id: event.push_id, until_ms: event.until_ms }),
              }),
            },
            "import.released": { actions: assign({ claim: null }) },
            "import.begun": {
              target: "importing",
              actions: assign({ pushId: ({ event }) => event.push_id }),
            },
          },
        },
        importing: {},
      },
    },
    imported: {
      entry: [{ type: "removeFile", params: ({ context }) => fileOf(context) }, "freePlace"],
    },
    deleted: {
      entry: [
        { type: "failImport", params: ({ context }) => ({ push_id: context.pushId ?? "" }) },
        "freePlace",
      ],
    },
  },
});

function fileOf({ file }: BulkUploadContext): { readonly name: string } {
  return { name: file?.name ?? "" };
}
