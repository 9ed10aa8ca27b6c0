// POST /v1/bulk-uploads/{upload_id}/file: the file of a bulk upload, taken in as it arrives.
//   U1. Nothing is staged, and no room for a file is taken, before the fields in front of the file have proven that the
//       upload is the sender's, and nobody else is uploading to it. Without that proof a sender takes up a connection and
//       three short heads of parts (M2 in api/multipart.ts), so that those without a token leave the room to the others.
//   U2. No more than a few pieces of the file are in memory, and a leaf hash for each record.
//   U3. A file that is refused, or whose sender vanishes, leaves nothing behind: its draft is removed at once, and by the
//       upload's actor if this process dies before.
//   U4. The answer leaves when the file is durable and is the upload's.
//   U5. Those who were given the token may have lost what it stood for, so that is judged again when a file begins, and
//       a file ends where the cap of bytes does.
//   U6. Its lines are taken in at a pace, however many arrive at once from however many files; meanwhile no more is read.
//   U7. An upload refuses a few files only (BD5 in actors/bulk-upload/definition.ts); one that
//       the service had no room for is not counted.

import type { UploadedFileFacts } from "../../actors/messages/bulk-upload.ts";
import { type ActorRef, bulkUploadRef, businessRef, keyRef } from "../../actors/messages/refs.ts";
import { concatBytes, formatHash, parseUtf8, toHex } from "../../protocol/bytes.ts";
import { bulkFileBytesMax, bulkRecordsMax, recordCharactersMax } from "../../protocol/limits.ts";
import { createRootBuilder, leafHash } from "../../protocol/merkle.ts";
import type { Problem } from "../../protocol/problem.ts";
import type { UploadedFile } from "../../protocol/wire/bulk.ts";
import type { FileLeaf, StagedFileWriter, StagingArea } from "../../storage/staging-area.ts";
import {
  answerJson,
  isRefused,
  type Outcome,
  type Refused,
  refused,
  refusedAs,
  refusedWith,
} from "../answer.ts";
import { capsOf, findMandates, ofType } from "../register/find-mandate.ts";
import { judgeVerified } from "../register/home-evidence.ts";
import type { BulkServices } from "./bulk-upload.ts";
import { bulkUnavailable, uploadConflict, uploadUnknown } from "./bulk-upload.ts";
import { capRefused, type PublishServices, parseRecordText } from "./publish-batch.ts";

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

/** Takes in the file of one upload. Throws {@link StoreError}. */
export async function receiveFile(deps: BulkServices, request: FileRequest): Promise<Outcome> {
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
  { uploadTokens }: BulkServices,
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

async function receive(deps: BulkServices, staging: StagingArea, arriving: Arriving): Promise<Outcome> {
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
  deps: BulkServices,
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
  deps: BulkServices,
  writer: StagedFileWriter,
  { events, business, hash, upload, attempt, bytesLeft, allow }: Arriving & Allowance & Attempt,
): Promise<UploadedFileFacts | Refused> {
  const { sha256 } = deps.crypto;
  const lines = new RecordLines();
  const tree = createRootBuilder(sha256);
  let length = 0;
  let left = bytesLeft;
  let renewedAtMs = deps.clock.now();
  const pace = deps.paces.queued(business);
  const keep = async (records: Iterable<Uint8Array | Refused>): Promise<Refused | null> => {
    const leaves: FileLeaf[] = [];
    for (const bytes of records) {
      if (isRefused(bytes)) return bytes;
      const due = pace();
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

const fileTooLarge = refusedWith("record_too_large", `A file is at most ${bulkFileBytesMax} bytes.`, {
  pointer: "/file",
  reason: "file_too_long",
});

function afterFile(name: string): Refused {
  const pointer = "/file";
  if (name === "file") return invalid("field_repeated", "The form has a second part file.", pointer);
  return invalid("part_after_file", "The file must be the last part of the form.", pointer);
}

function unknownPart(name: string): Refused {
  return refusedWith("request_invalid", `The form has no part ${JSON.stringify(name)}.`, {
    reason: "part_unknown",
    allowed: [...fieldNames, "file"],
  });
}

function invalid(reason: string, detail: string, pointer: string): Refused {
  return refusedWith("request_invalid", detail, { pointer, reason });
}

/** Fields are ASCII: any other byte makes them something that is not asked for. */
function asciiOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, fieldBytesMax + 1));
}

// The lines of a bulk file, as it arrives in pieces of any size (specification, «Publish behaviour» 10).
//   F1. Every line is the base64 of a record's exact bytes. LF ends a line; the last one may lack it. Whether a file is whole is not seen
//       here: the sealed root and number of records show a file that was cut off, wherever it was.
//   F2. The first fault ends the file, and names its line by the index of its leaf. No more than one line is kept in
//       memory, whatever the file contains.

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class RecordLines {
  /** The beginning of a line whose end has not arrived. */
  #begun: Uint8Array[] = [];
  #begunLength = 0;
  /** Number of records so far. */
  count = 0;

  /** The records whose lines end in these bytes, one after another; a fault is the last of them. */
  *take(bytes: Uint8Array): Generator<Uint8Array | Refused, void> {
    let from = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, from)) {
      const record = this.#endLine(bytes.subarray(from, end));
      yield record;
      if (!(record instanceof Uint8Array)) return;
      from = end + 1;
    }
    const fault = this.#begin(bytes.subarray(from));
    if (fault !== null) yield fault;
  }

  /** Must be called at the end of the file: the record whose line has no LF, if there is one. */
  end(): readonly Uint8Array[] | Refused {
    if (this.#begunLength > 0) {
      const record = this.#endLine(new Uint8Array());
      return record instanceof Uint8Array ? [record] : record;
    }
    return this.count > 0 ? [] : this.#invalid("file_empty", "The file has no records.");
  }

  #begin(rest: Uint8Array): Refused | null {
    if (rest.length === 0) return null;
    this.#begunLength += rest.length;
    if (this.#begunLength > recordCharactersMax + 1) return this.#tooLarge();
    this.#begun.push(rest.slice());
    return null;
  }

  #endLine(rest: Uint8Array): Uint8Array | Refused {
    const line = this.#begunLength === 0 ? rest : concatBytes(...this.#begun, rest);
    this.#begun = [];
    this.#begunLength = 0;
    // First of all, as for a line that has not ended: the fault does not depend on the pieces.
    if (line.length > recordCharactersMax + 1) return this.#tooLarge();
    if (this.count === bulkRecordsMax)
      return this.#invalid("too_many_records", `A file has at most ${bulkRecordsMax} records.`);
    if (line.length === 0) return this.#invalid("line_empty", "The line is empty.");
    if (line.at(-1) === carriageReturn)
      return this.#invalid("line_crlf", "The line ends with CR LF; lines of this file end with LF alone.");
    if (line.length > recordCharactersMax) return this.#tooLarge();
    const text = parseUtf8(line);
    const record = text === null ? null : parseRecordText(text);
    if (record === null || !record.ok)
      return this.#invalid(
        "line_not_base64",
        "The line is not the base64 (RFC 4648 §4, padded) of a record's bytes.",
      );
    this.count += 1;
    return record.value;
  }

  get #pointer(): string {
    return `/file/${this.count}`;
  }

  #invalid(reason: string, detail: string): Refused {
    return refusedWith("request_invalid", detail, { pointer: this.#pointer, reason });
  }

  #tooLarge(): Refused {
    const detail = `A record must have at most ${recordCharactersMax} base64 characters.`;
    return refusedWith("record_too_large", detail, { pointer: this.#pointer, reason: "line_too_long" });
  }
}

// What the key that asked for an upload may still publish while its file arrives: the key, its mandate, the caps and the
// standing of the business, as for any publishing request. Only the source is not judged: the token may be used anywhere.

export interface Bearer {
  readonly business: string;
  readonly uploadId: string;
  /** The key that asked for the upload. */
  readonly keyId: string;
  readonly collection: string;
  /** How much of the file has arrived. */
  readonly bytes: number;
}

interface Allowance {
  /** How long the file may become. */
  readonly bytesLeft: number;
}

async function judgeBearer(
  deps: PublishServices,
  { business, uploadId, keyId, collection, bytes }: Bearer,
): Promise<Allowance | Refused> {
  const { actors, clock } = deps;
  const facts = await actors.ask(businessRef(business), { type: "publishing.facts", key_id: keyId });
  const inForce = await findMandates(deps, business, { facts, nowMs: clock.now() });
  if (isRefused(inForce)) return inForce;
  const mandates = ofType(inForce, collection);
  if (isRefused(mandates)) return mandates;
  const caps = capsOf(mandates);
  const capped = await actors.ask(keyRef(business, keyId), {
    type: "caps.check",
    digest: uploadId,
    content_length: bytes,
    caps,
  });
  if (capped.status === "over") return capRefused(capped, { bytes, caps });
  const verified = judgeVerified(facts);
  return verified.ok ? { bytesLeft: capped.bytes_left } : refusedAs(verified);
}
