// POST /v1/bulk-uploads/{upload_id}/file: the file of a bulk upload, taken in as it arrives.
//   U1. Nothing is staged, and no room for a file is taken, before the fields in front of the file have proven that the
//       upload is the sender's, and nobody else is uploading to it. Without that proof a sender takes up a connection and
//       three short heads of parts (M2 in api/multipart.ts), so that those without a token leave the room to the others.
//   U2. No more than a few pieces of the file are in memory, and a leaf hash for each record.
//   U3. A file that is refused, or whose sender vanishes, leaves nothing behind: its draft is removed at once, and by the
//       upload's actor if this process dies before.
//   U4. The answer leaves when the file is durable and is the upload's.
//   U5. Those who were given the token may have lost what it stood for, so that is judged again when a file begins
//       (upload-standing.ts), and a file ends where the cap of bytes does.
//   U6. Its lines are taken in at a pace, however many arrive at once from however many files; meanwhile no more is read.
//   U7. An upload refuses a few files only (BD5 in actors/bulk-upload/definition.ts); one that
//       the service had no room for is not counted.

import type { UploadedFileFacts } from "../actors/messages/bulk-upload.ts";
import { type ActorRef, bulkUploadRef } from "../actors/messages/refs.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { toHex } from "../protocol/bytes.ts";
import { formatHash } from "../protocol/hash.ts";
import { bulkFileBytesMax } from "../protocol/limits.ts";
import { leafHash } from "../protocol/merkle.ts";
import { type Problem, problem } from "../protocol/problem.ts";
import { createRootBuilder } from "../protocol/root-builder.ts";
import type { UploadedFile } from "../protocol/wire/bulk.ts";
import type { Pace } from "../std/pace.ts";
import type { FileLeaf, StagedFileWriter, StagingArea } from "../storage/staging-area.ts";
import { answerJson, isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import { bulkUnavailable, uploadConflict, uploadUnknown } from "./bulk-refused.ts";
import type { GateDeps } from "./publish-gate.ts";
import { RecordLines } from "./record-lines.ts";
import { type Allowance, judgeBearer } from "./upload-standing.ts";
import type { UploadTokens } from "./upload-token.ts";

/** What a form consists of, in order of arrival. */
export type FormEvent =
  | { readonly kind: "part"; readonly name: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The form cannot be read any further: the last event. */
  | { readonly kind: "fault"; readonly problem: Problem };

/** A hash over bytes that arrive one after another. */
export interface RunningHash {
  update(bytes: Uint8Array): void;
  digest(): Uint8Array;
}

export interface BulkFileDeps extends GateDeps {
  readonly crypto: Pick<CryptoPort, "sha256" | "randomBytes">;
  readonly staging: StagingArea | null;
  readonly uploadTokens: UploadTokens;
  /** At which lines are taken in: a file has time, so what somebody waits for goes first (U6). */
  readonly paces: { readonly queued: Pace };
}

export interface FileRequest {
  /** As in the path. */
  readonly uploadId: string;
  readonly form: AsyncIterable<FormEvent>;
  readonly hash: RunningHash;
  /** A place for a file of this business: a function that gives it back, or a refusal. */
  readonly takeRoom: (business: string) => (() => void) | Refused;
}

const fieldNames = ["upload_id", "upload_token"] as const;
type Field = (typeof fieldNames)[number];

const fieldBytesMax = 256;
const attemptBytes = 8;
/** From this status on it is not the file that is at fault (RFC 9110 §15.6). */
const serviceFault = 500;
/** A third of the time for which a claim lasts. */
const renewEveryMs = 20_000;

export async function receiveFile(deps: BulkFileDeps, request: FileRequest): Promise<Outcome> {
  if (deps.staging === null) return bulkUnavailable();
  const fields = new Map<Field, string>();
  const events = request.form[Symbol.asyncIterator]();
  let field: Field | null = null;
  for (;;) {
    const step = await events.next();
    if (step.done === true) return invalid("file_missing", "The form has no part file.", "/file");
    const event = step.value;
    if (event.kind === "fault") return refused(event.problem);
    if (event.kind === "bytes") {
      const text: string = (fields.get(field as Field) ?? "") + asciiOf(event.bytes);
      if (text.length > fieldBytesMax) return invalid("field_invalid", "The field is too long.", `/${field}`);
      fields.set(field as Field, text);
    } else if (event.name === "file") {
      const owner = ownerOf(deps, request, fields);
      if (isRefused(owner)) return owner;
      return receive(deps, deps.staging, { ...request, events, ...owner });
    } else {
      field = fieldNames.find((name) => name === event.name) ?? null;
      if (field === null) return unknownPart(event.name);
      if (fields.has(field)) return invalid("field_repeated", "The field is sent twice.", `/${field}`);
      fields.set(field, "");
    }
  }
}

/** U1. The sender of a wrong token learns nothing about the upload. */
function ownerOf(
  { uploadTokens }: BulkFileDeps,
  { uploadId }: FileRequest,
  fields: ReadonlyMap<Field, string>,
): { readonly business: string } | Refused {
  for (const name of fieldNames) {
    if (!fields.has(name))
      return invalid("field_missing", `The field ${name} must be sent before the file.`, `/${name}`);
  }
  if (fields.get("upload_id") !== uploadId)
    return invalid("field_invalid", "The field upload_id is not the one in the address.", "/upload_id");
  const business = uploadTokens.businessOf(uploadId, fields.get("upload_token") ?? "");
  return business === null ? uploadUnknown() : { business };
}

interface Arriving extends FileRequest {
  readonly events: AsyncIterator<FormEvent, void>;
  readonly business: string;
}

async function receive(deps: BulkFileDeps, staging: StagingArea, arriving: Arriving): Promise<Outcome> {
  const { business, uploadId } = arriving;
  const upload = bulkUploadRef(business, uploadId);
  const attempt = `${business}.${uploadId}.${toHex(deps.crypto.randomBytes(attemptBytes))}`;
  const begun = await deps.actors.ask(upload, { type: "upload.begin", attempt });
  if (begun.status === "unknown") return uploadUnknown();
  if (begun.status === "refused") return uploadConflict(begun.reason);
  const { key_id: keyId, record_type: collection } = begun;
  const allow: Allow = (bytes) => judgeBearer(deps, { business, uploadId, keyId, collection, bytes });
  let release: ReturnType<FileRequest["takeRoom"]> | null = null;
  let writer: StagedFileWriter | null = null;
  let isKept = false;
  let isFileRefused = false;
  try {
    const allowance = await allow(0);
    if (isRefused(allowance)) return allowance;
    release = arriving.takeRoom(business);
    if (typeof release !== "function") return release;
    writer = await staging.create(attempt);
    const file = await write(deps, writer, { ...arriving, ...allowance, upload, attempt, allow });
    if (isRefused(file)) {
      isFileRefused = file.problem.status < serviceFault;
      return file;
    }
    await writer.finish();
    const finished = await deps.actors.ask(upload, { type: "upload.finish", attempt, file });
    if (finished.status === "refused") {
      await staging.remove(attempt);
      return uploadConflict(finished.reason);
    }
    isKept = true;
    const { bytes, records, sha256, root } = file;
    const body: UploadedFile = { upload_id: uploadId, bytes, records, sha256, root };
    return answerJson(201, body);
  } finally {
    if (!isKept) await giveUp(deps, writer, { upload, attempt, isFileRefused });
    if (typeof release === "function") release();
  }
}

/** U3. Whether the upload has the file may be unknown here: its actor knows, and removes it only if it is not. */
async function giveUp(
  deps: BulkFileDeps,
  writer: StagedFileWriter | null,
  ended: Pick<Attempt, "upload" | "attempt"> & { readonly isFileRefused: boolean },
): Promise<void> {
  await writer?.discard();
  const { upload, attempt, isFileRefused: is_refused } = ended;
  await deps.actors.ask(upload, { type: "upload.abort", attempt, is_refused }).catch(() => {});
}

interface Attempt {
  readonly upload: ActorRef<"bulk-upload">;
  readonly attempt: string;
  readonly allow: Allow;
}

type Allow = (bytes: number) => Promise<Allowance | Refused>;

async function write(
  deps: BulkFileDeps,
  writer: StagedFileWriter,
  { events, hash, upload, attempt, bytesLeft, allow }: Arriving & Allowance & Attempt,
): Promise<UploadedFileFacts | Refused> {
  const { sha256 } = deps.crypto;
  const lines = new RecordLines();
  const tree = createRootBuilder(sha256);
  let length = 0;
  let left = bytesLeft;
  let renewedAtMs = deps.clock.now();
  const keep = async (records: Iterable<Uint8Array | Refused>): Promise<Refused | null> => {
    const leaves: FileLeaf[] = [];
    for (const bytes of records) {
      if (isRefused(bytes)) return bytes;
      const due = deps.paces.queued();
      if (due !== null) await due;
      const leaf = { bytes, hash: leafHash(bytes, sha256) };
      tree.add(leaf.hash);
      leaves.push(leaf);
    }
    if (leaves.length > 0) await writer.append(leaves);
    return null;
  };
  for (let step = await events.next(); step.done !== true; step = await events.next()) {
    const event = step.value;
    if (event.kind === "fault") return refused(event.problem);
    if (event.kind === "part") return afterFile(event.name);
    length += event.bytes.length;
    if (length > bulkFileBytesMax) return fileTooLarge;
    if (length > left) {
      const allowance = await allow(length);
      if (isRefused(allowance)) return allowance;
      left = allowance.bytesLeft;
    }
    hash.update(event.bytes);
    const fault = await keep(lines.take(event.bytes));
    if (fault !== null) return fault;
    if (deps.clock.now() - renewedAtMs < renewEveryMs) continue;
    renewedAtMs = deps.clock.now();
    const renewed = await deps.actors.ask(upload, { type: "upload.begin", attempt });
    if (renewed.status !== "begun")
      return renewed.status === "refused" ? uploadConflict(renewed.reason) : uploadUnknown();
  }
  const last = lines.end();
  const fault = isRefused(last) ? last : await keep(last);
  if (fault !== null) return fault;
  return {
    name: attempt,
    bytes: length,
    records: lines.count,
    root: formatHash(tree.root()),
    sha256: formatHash(hash.digest()),
  };
}

const fileTooLarge = refused(
  problem("record_too_large", `A file is at most ${bulkFileBytesMax} bytes.`, {
    pointer: "/file",
    reason: "file_too_long",
  }),
);

function afterFile(name: string): Refused {
  const pointer = "/file";
  if (name === "file") return invalid("field_repeated", "The form has a second part file.", pointer);
  return invalid("part_after_file", "The file must be the last part of the form.", pointer);
}

function unknownPart(name: string): Refused {
  return refused(
    problem("request_invalid", `The form has no part ${JSON.stringify(name)}.`, {
      reason: "part_unknown",
      allowed: [...fieldNames, "file"],
    }),
  );
}

function invalid(reason: string, detail: string, pointer: string): Refused {
  return refused(problem("request_invalid", detail, { pointer, reason }));
}

/** Fields are ASCII: any other byte makes them something that is not asked for. */
function asciiOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, fieldBytesMax + 1));
}
