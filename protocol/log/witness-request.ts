// What logs and witnesses say to each other (C2SP tlog-witness, «add-checkpoint»). Every reader is strict: a request has one text.

import { parseBase64, toBase64 } from "../bytes.ts";
import { ok, type Refusal, refuse, type Verdict } from "../result.ts";
import {
  type Checkpoint,
  type Note,
  type NoteSignature,
  noteBytesMax,
  parseCheckpoint,
  parseNote,
} from "./note.ts";

/** What a log asks a witness to cosign. */
export interface AddCheckpoint {
  /** The size of the tree that the witness cosigned last, as far as the log knows; 0 for none. */
  readonly oldSize: number;
  /** From that tree to the one of the checkpoint (RFC 6962 §2.1.2). */
  readonly proof: readonly Uint8Array[];
  /** The signed checkpoint. */
  readonly note: string;
}

export interface ReadAddCheckpoint extends AddCheckpoint {
  readonly read: Note;
  readonly checkpoint: Checkpoint;
}

export const addCheckpointPath = "/add-checkpoint";
/** The media type of the answer that only says how far the witness is. */
export const treeSizeType = "text/x.tlog.size";
/** Hashes in a proof, at most: a longer one proves nothing for sizes below 2^63. */
export const proofLengthMax = 63;
/** UTF-8 bytes of a request: a note, and the lines before it, of which one with a hash has 45. */
export const addCheckpointBytesMax = noteBytesMax + 64 * 45;

/** The body of a request. */
export function formatAddCheckpoint({ oldSize, proof, note }: AddCheckpoint): string {
  return [`old ${oldSize}`, ...proof.map(toBase64), "", note].join("\n");
}

function invalid(detail: string): Refusal<"checkpoint_invalid"> {
  return refuse("checkpoint_invalid", detail);
}

/** Reads a request; `checkpoint_invalid` for anything that is not exactly one. Whether it is true is another question. */
export function parseAddCheckpoint(text: string): Verdict<ReadAddCheckpoint> {
  const end = text.indexOf("\n\n");
  const [first = "", ...lines] = end < 0 ? [] : text.slice(0, end).split("\n");
  const oldSize = first.startsWith("old ") ? sizeOf(first.slice(4)) : null;
  if (oldSize === null) return invalid("A request begins with the line «old» with a size.");
  if (lines.length > proofLengthMax) return invalid(`A proof has at most ${proofLengthMax} lines.`);
  const proof = lines.map(parseBase64);
  if (!proof.every((hash) => hash?.length === 32))
    return invalid("A line of a proof is the base64 of a hash.");
  const note = text.slice(end + 2);
  const read = parseNote(note);
  if (!read.ok) return read;
  const checkpoint = parseCheckpoint(read.value.text);
  if (!checkpoint.ok) return checkpoint;
  return ok({
    ...{ oldSize, proof: proof.filter((hash) => hash !== null), note },
    ...{ read: read.value, checkpoint: checkpoint.value },
  });
}

/** Whether a `Content-Type` is {@link treeSizeType}: in any case, and with any parameters (RFC 9110 §8.3.1). */
export function isTreeSizeType(contentType: string): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === treeSizeType;
}

/** The size in an answer of {@link treeSizeType}; null for any other text. */
export function parseTreeSize(text: string): number | null {
  return text.endsWith("\n") ? sizeOf(text.slice(0, -1)) : null;
}

function sizeOf(text: string): number | null {
  const size = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(size) ? size : null;
}

/**
 * The signature lines that a witness answered about a checkpoint; null for anything else. They are read as further lines of its
 * note, which is what they become.
 */
export function parseCosignatures(note: string, answer: string): readonly NoteSignature[] | null {
  const [alone, together] = [parseNote(note), parseNote(note + answer)];
  if (!alone.ok || !together.ok || answer === "" || together.value.text !== alone.value.text) return null;
  return together.value.signatures.slice(alone.value.signatures.length);
}
