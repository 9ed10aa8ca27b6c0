// Signed notes (C2SP signed-note v1), checkpoints (C2SP tlog-checkpoint v1) and cosignatures of witnesses (C2SP
// tlog-cosignature v1), all with Ed25519. Every reader is strict: a note has one text.

import {
  concatBytes,
  equalBytes,
  parseBase64,
  parseBase64Url,
  type Sha256,
  toBase64,
  toBase64Url,
  utf8,
} from "../bytes.ts";
import type { PublicJwk } from "../keys/jwk.ts";
import type { Verdict } from "../reason-codes.ts";
import { ok, type Refusal, refuse } from "../result.ts";

/** The types of signature: by a log, and by a witness, whose signature includes a time. */
const signatureTypes = { log: 0x01, cosignature: 0x04 } as const;

export type NoteKeyKind = keyof typeof signatureTypes;

/** A key that signs notes under a name. */
export interface NoteKey {
  readonly name: string;
  readonly kind: NoteKeyKind;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
}

export interface NoteSignature {
  readonly name: string;
  /** Four bytes that say which of the keys of that name it is. */
  readonly keyHash: Uint8Array;
  /** What follows the key hash; of a cosignature, 8 bytes of time and the signature. */
  readonly bytes: Uint8Array;
}

export interface Note {
  /** The signed text, with the newline that ends it. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** What a checkpoint says (tlog-checkpoint). */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
  /** Further lines; ours has none. */
  readonly extensions: readonly string[];
}

/** Verifies an Ed25519 signature. */
export type VerifySignature = (jwk: PublicJwk, message: Uint8Array, signature: Uint8Array) => boolean;

/** UTF-8 bytes: sixteen signatures of 5,000 bytes are 110,000 (signed-note, «Signatures»). */
export const noteBytesMax = 131_072;
const signaturesMax = 100;
const nameForm = /^[^\p{White_Space}+]+$/u;

function invalid(detail: string): Refusal<"checkpoint_invalid"> {
  return refuse("checkpoint_invalid", detail);
}

/** Splits a note into its text and its signature lines; `checkpoint_invalid` for anything that is not a note. */
export function parseNote(note: string): Verdict<Note> {
  if (note.length > noteBytesMax || utf8(note).length > noteBytesMax)
    return invalid(`A note has at most ${noteBytesMax} bytes.`);
  if (!note.isWellFormed() || hasControl(note))
    return invalid("A note contains no ASCII control characters other than newlines.");
  const split = note.lastIndexOf("\n\n");
  if (split < 0 || !note.endsWith("\n"))
    return invalid("A note is a text, an empty line and signature lines.");
  const lines = note.slice(split + 2, -1).split("\n");
  if (lines.length > signaturesMax) return invalid(`A note has at most ${signaturesMax} signatures.`);
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const signature = parseSignatureLine(line);
    if (signature === null) return invalid("A signature line is not «— name base64».");
    signatures.push(signature);
  }
  return ok({ text: note.slice(0, split + 1), signatures });
}

/** Whether a key can have this name (signed-note, «Format»). */
export function isKeyName(text: string): boolean {
  return nameForm.test(text) && !hasControl(text) && !text.includes("\n");
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at += 1)
    if (text.charCodeAt(at) < 0x20 && text[at] !== "\n") return true;
  return false;
}

function parseSignatureLine(line: string): NoteSignature | null {
  const [, name = "", encoded = ""] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = parseBase64(encoded);
  if (!nameForm.test(name) || bytes === null || bytes.length < 5) return null;
  return { name, keyHash: bytes.subarray(0, 4), bytes: bytes.subarray(4) };
}

/** The note: its text and signature lines. */
export function formatNote({ text, signatures }: Note): string {
  const lines = signatures.map(
    ({ name, keyHash, bytes }) => `— ${name} ${toBase64(concatBytes(keyHash, bytes))}\n`,
  );
  return `${text}\n${lines.join("")}`;
}

const sizeForm = /^(?:0|[1-9][0-9]{0,15})$/;

/** Reads a checkpoint's text; `checkpoint_invalid` for anything else. Whether it is signed is another question. */
export function parseCheckpoint(text: string): Verdict<Checkpoint> {
  if (!text.endsWith("\n")) return invalid("A checkpoint ends with a newline.");
  const [origin = "", sizeText = "", rootText = "", ...extensions] = text.slice(0, -1).split("\n");
  const size = Number(sizeText);
  if (origin === "") return invalid("The first line of a checkpoint is its origin.");
  if (!sizeForm.test(sizeText) || !Number.isSafeInteger(size))
    return invalid("The second line of a checkpoint is the size of the tree.");
  const root = parseBase64(rootText);
  if (root?.length !== 32) return invalid("The third line of a checkpoint is the base64 of a root hash.");
  if (extensions.includes("")) return invalid("A checkpoint's further lines are not empty.");
  return ok({ origin, size, root, extensions });
}

/** The text of a checkpoint. Throws RangeError for an origin that is not one line. */
export function formatCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  if (origin === "" || /\n/.test(origin)) throw new RangeError("An origin is one line.");
  return `${[origin, String(size), toBase64(root), ...extensions].join("\n")}\n`;
}

/** The four bytes that a signature line says of its key (signed-note, «Signatures»). */
export function keyHashOf({ name, kind, publicKey }: NoteKey, sha256: Sha256): Uint8Array {
  const typed = Uint8Array.of(signatureTypes[kind], ...publicKey);
  return sha256(concatBytes(utf8(`${name}\n`), typed)).subarray(0, 4);
}

/** The key of a log by its entry in a key set; null for a key that signs no notes. */
export function noteKeyOf(name: string, jwk: PublicJwk): NoteKey | null {
  const publicKey = jwk.kty === "OKP" ? parseBase64Url(jwk.x) : null;
  return publicKey?.length === 32 ? { name, kind: "log", publicKey } : null;
}

/** The key of a log under each name by which it signs checkpoints: its own, and the log's origin. Empty for a key that signs no notes. */
export function noteKeysOf(
  { key_name: own, origin }: { readonly key_name: string; readonly origin: string },
  jwk: PublicJwk,
): readonly NoteKey[] {
  const names = own === origin || !isKeyName(origin) ? [own] : [own, origin];
  return names.flatMap((name) => noteKeyOf(name, jwk) ?? []);
}

/** The text by which a key is published: `name+hash+key` (signed-note, «Verifier keys»). */
export function verifierKeyOf(key: NoteKey, sha256: Sha256): string {
  const hash = [...keyHashOf(key, sha256)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${key.name}+${hash}+${toBase64(Uint8Array.of(signatureTypes[key.kind], ...key.publicKey))}`;
}

/** Reads a published key; null unless its hash is right and its type is known. */
export function parseVerifierKey(text: string, sha256: Sha256): NoteKey | null {
  const [name = "", , ...rest] = text.split("+");
  const bytes = parseBase64(rest.join("+"));
  const kind = bytes === null ? undefined : kindOf(bytes[0]);
  if (bytes?.length !== 33 || kind === undefined || !isKeyName(name)) return null;
  const key: NoteKey = { name, kind, publicKey: bytes.subarray(1) };
  return verifierKeyOf(key, sha256) === text ? key : null;
}

function kindOf(type: number | undefined): NoteKeyKind | undefined {
  if (type === signatureTypes.log) return "log";
  return type === signatureTypes.cosignature ? "cosignature" : undefined;
}

/** The bytes that a log's key signs. */
export function logMessage(text: string): Uint8Array {
  return utf8(text);
}

/** The bytes that a witness signs: its time in Unix seconds and the checkpoint (tlog-cosignature). */
export function cosignatureMessage(text: string, seconds: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${seconds}\n${text}`);
}

/** The signature line of a log. */
export function logSignature(key: NoteKey, signature: Uint8Array, sha256: Sha256): NoteSignature {
  return { name: key.name, keyHash: keyHashOf(key, sha256), bytes: signature };
}

/** The signature line of a witness. */
export function cosignature(
  key: NoteKey,
  { seconds, signature }: { readonly seconds: number; readonly signature: Uint8Array },
  sha256: Sha256,
): NoteSignature {
  const time = new Uint8Array(8);
  new DataView(time.buffer).setBigUint64(0, BigInt(seconds));
  return { name: key.name, keyHash: keyHashOf(key, sha256), bytes: concatBytes(time, signature) };
}

/** What a signature by a key says, or null where it has none that is valid. */
export interface VerifiedSignature {
  /** Unix seconds that a witness vouches for; null for a log's signature. */
  readonly seconds: number | null;
}

/**
 * The valid signature of a key on a note; null where there is none. A line with the key's name and hash that does not verify makes
 * the whole note worthless (signed-note), so the answer is then null as well.
 */
export function verifyNote(
  { verify, sha256 }: { readonly verify: VerifySignature; readonly sha256: Sha256 },
  { text, signatures }: Note,
  key: NoteKey,
): VerifiedSignature | null {
  const own = linesBy({ signatures }, key, sha256);
  let verified: VerifiedSignature | null = null;
  for (const { bytes } of own) {
    const read = key.kind === "log" ? { seconds: null, signature: bytes } : readCosignature(bytes);
    if (read === null) return null;
    const { seconds, signature } = read;
    const message = seconds === null ? logMessage(text) : cosignatureMessage(text, seconds);
    if (signature.length !== 64 || !verify(jwkOf(key.publicKey), message, signature)) return null;
    verified ??= { seconds };
  }
  return verified;
}

/**
 * Whether at least one of these keys signed the note. A line of any of them that does not verify makes the whole note worthless
 * (signed-note), also beside a good line of another one.
 */
export function isSignedBy(
  tools: { readonly verify: VerifySignature; readonly sha256: Sha256 },
  note: Note,
  keys: readonly NoteKey[],
): boolean {
  const signers = keys.filter((key) => linesBy(note, key, tools.sha256).length > 0);
  return signers.length > 0 && signers.every((key) => verifyNote(tools, note, key) !== null);
}

function linesBy(
  { signatures }: Pick<Note, "signatures">,
  key: NoteKey,
  sha256: Sha256,
): readonly NoteSignature[] {
  const hash = keyHashOf(key, sha256);
  return signatures.filter(({ name, keyHash }) => name === key.name && equalBytes(keyHash, hash));
}

function readCosignature(
  bytes: Uint8Array,
): { readonly seconds: number; readonly signature: Uint8Array } | null {
  if (bytes.length !== 72) return null;
  const seconds = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0);
  // A cosignature of a checkpoint has a time (tlog-witness).
  if (seconds === 0n || seconds > BigInt(Number.MAX_SAFE_INTEGER)) return null;
  return { seconds: Number(seconds), signature: bytes.subarray(8) };
}

function jwkOf(publicKey: Uint8Array): PublicJwk {
  return { kty: "OKP", crv: "Ed25519", x: toBase64Url(publicKey) };
}

// What logs and witnesses say to each other (C2SP tlog-witness, «add-checkpoint»). Every reader is strict: a request has one text.

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
    oldSize,
    proof: proof.filter((hash) => hash !== null),
    note,
    read: read.value,
    checkpoint: checkpoint.value,
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
