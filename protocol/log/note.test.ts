// Notes against the example of Go's own documentation, and every way in which a note can be wrong.

import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, test } from "vitest";
import { sha256, utf8 } from "../bytes.ts";
import { verifySignature as verify } from "../keys/signatures.ts";
import {
  type Checkpoint,
  cosignature,
  cosignatureMessage,
  formatCheckpoint,
  formatNote,
  isSignedBy,
  logMessage,
  logSignature,
  type Note,
  type NoteKey,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  verifierKeyOf,
  verifyNote,
} from "./note.ts";

const tools = { verify, sha256 };
const neumann = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const neumannNote = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

const secret = new Uint8Array(32).fill(7);
const publicKey = ed25519.getPublicKey(secret);
const logKey: NoteKey = { name: "svc-log", kind: "log", publicKey };
const witnessKey: NoteKey = { name: "witness.test/one", kind: "cosignature", publicKey };
const checkpoint: Checkpoint = {
  origin: "svc.test/log",
  size: 3,
  root: sha256(utf8("root")),
  extensions: [],
};
const text = formatCheckpoint(checkpoint);
const signed: Note = {
  text,
  signatures: [
    logSignature(logKey, ed25519.sign(logMessage(text), secret), sha256),
    cosignature(
      witnessKey,
      { seconds: 1_700_000_000, signature: ed25519.sign(cosignatureMessage(text, 1_700_000_000), secret) },
      sha256,
    ),
  ],
};

function read(note: string): Note {
  const parsed = parseNote(note);
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
}

describe("a note", () => {
  test("of Go's documentation verifies with its key", () => {
    const key = parseVerifierKey(neumann, sha256);
    expect(key).toMatchObject({ name: "PeterNeumann", kind: "log" });
    expect(verifyNote(tools, read(neumannNote), key as NoteKey)).toEqual({ seconds: null });
    expect(formatNote(read(neumannNote))).toBe(neumannNote);
  });

  test("of a log and its witness verifies with both keys, each in its own role", () => {
    const note = read(formatNote(signed));
    expect(note).toEqual(signed);
    expect(verifyNote(tools, note, logKey)).toEqual({ seconds: null });
    expect(verifyNote(tools, note, witnessKey)).toEqual({ seconds: 1_700_000_000 });
    expect(verifyNote(tools, note, { ...logKey, kind: "cosignature" })).toBeNull();
    expect(verifyNote(tools, note, { ...witnessKey, kind: "log" })).toBeNull();
  });

  test("of 16 signatures of 5,000 bytes is read, and so are characters behind ASCII", () => {
    const line = { name: "name\u007f", keyHash: new Uint8Array(4), bytes: new Uint8Array(4_996) };
    const note = formatNote({ text: "a\u0085b\n", signatures: Array.from({ length: 16 }, () => line) });
    expect(read(note).signatures).toHaveLength(16);
  });

  test("is signed by one of several keys only where no line of any of them is wrong", () => {
    const other = { ...logKey, publicKey: ed25519.getPublicKey(new Uint8Array(32).fill(9)) };
    const wrong = logSignature(other, new Uint8Array(64), sha256);
    const doubted = { text, signatures: [...signed.signatures, wrong] };
    expect(isSignedBy(tools, signed, [logKey, other])).toBe(true);
    expect(isSignedBy(tools, doubted, [logKey])).toBe(true);
    expect(isSignedBy(tools, doubted, [logKey, other])).toBe(false);
    expect(isSignedBy(tools, doubted, [other])).toBe(false);
    expect(isSignedBy(tools, signed, [other])).toBe(false);
    expect(isSignedBy(tools, signed, [])).toBe(false);
  });

  test("with a time of zero is no cosignature", () => {
    const zero = cosignature(
      witnessKey,
      { seconds: 0, signature: ed25519.sign(cosignatureMessage(text, 0), secret) },
      sha256,
    );
    expect(verifyNote(tools, { text, signatures: [zero] }, witnessKey)).toBeNull();
  });

  test("under another name proves nothing", () => {
    expect(verifyNote(tools, signed, { ...logKey, name: "svc-log2" })).toBeNull();
    expect(verifyNote(tools, signed, { ...witnessKey, name: "witness.test/two" })).toBeNull();
  });

  test("with one more line of the key that does not verify proves nothing", () => {
    const [first] = signed.signatures;
    if (first === undefined) throw new Error("There is a signature.");
    const wrong = { ...first, bytes: first.bytes.toReversed() };
    expect(verifyNote(tools, { text, signatures: [wrong, first] }, logKey)).toBeNull();
    expect(verifyNote(tools, { text, signatures: [first, wrong] }, logKey)).toBeNull();
  });

  test("with a changed time of its witness proves nothing", () => {
    const changed = signed.signatures.map((each) => ({ ...each, bytes: each.bytes.slice() }));
    const time = changed[1]?.bytes as Uint8Array;
    time[7] = (time[7] as number) ^ 1;
    expect(verifyNote(tools, { text, signatures: changed }, witnessKey)).toBeNull();
  });

  test("every flipped bit of which is refused", () => {
    const bytes = utf8(formatNote(signed));
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] as number) ^ 1;
      const parsed = parseNote(new TextDecoder().decode(flipped));
      const isValid =
        parsed.ok &&
        verifyNote(tools, parsed.value, logKey) !== null &&
        verifyNote(tools, parsed.value, witnessKey) !== null;
      expect(isValid, `byte ${at}`).toBe(false);
    }
  });

  test.each([
    ["no empty line", "text\n— name aGVsbG8=\n"],
    ["no newline at its end", neumannNote.slice(0, -1)],
    ["no signature", "text\n\n"],
    ["another dash", neumannNote.replace("—", "-")],
    ["two spaces", neumannNote.replace("— ", "—  ")],
    ["a name with a plus", neumannNote.replace("— PeterNeumann", "— Peter+Neumann")],
    ["a key hash and nothing else", "text\n\n— name aGVsbA==\n"],
    ["base64 without padding", neumannNote.replace("AM=\n", "AM\n")],
    ["a carriage return", neumannNote.replace("problem,", "problem,\r")],
    ["a NUL", neumannNote.replace("problem,", "problem,\u0000")],
    ["a lone surrogate", neumannNote.replace("problem,", "problem,\ud800")],
    ["101 signatures", `text\n\n${"— name aGVsbG8=\n".repeat(101)}`],
    ["a space of Unicode in a name", "text\n\n— na\u00a0me aGVsbG8=\n"],
    ["more bytes than a note has", `${"é".repeat(65_536)}\n\n— name aGVsbG8=\n`],
  ])("with %s is refused", (_what, note) => {
    expect(parseNote(note)).toMatchObject({ ok: false, code: "checkpoint_invalid" });
  });
});

describe("a checkpoint", () => {
  test("is read back, with its further lines", () => {
    expect(parseCheckpoint(text)).toEqual({ ok: true, value: checkpoint });
    const extended = { ...checkpoint, extensions: ["one", "two"] };
    expect(parseCheckpoint(formatCheckpoint(extended))).toEqual({ ok: true, value: extended });
  });

  test.each([
    ["without its last newline", text.slice(0, -1)],
    ["without origin", text.replace("svc.test/log", "")],
    ["of a negative size", text.replace("\n3\n", "\n-3\n")],
    ["of a size with a leading zero", text.replace("\n3\n", "\n03\n")],
    ["of a size beyond safe integers", text.replace("\n3\n", "\n9007199254740993\n")],
    ["of a size in other digits", text.replace("\n3\n", "\n３\n")],
    ["with a short root", text.replace(/\n[^\n]+\n$/, "\naGVsbG8=\n")],
    ["with an empty further line", `${text}\n`],
  ])("%s is refused", (_what, wrong) => {
    expect(parseCheckpoint(wrong)).toMatchObject({ ok: false, code: "checkpoint_invalid" });
  });
});

describe("a published key", () => {
  test("is read back, and sum.golang.org's is one", () => {
    const sum = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
    for (const key of [neumann, sum, verifierKeyOf(logKey, sha256), verifierKeyOf(witnessKey, sha256)]) {
      const parsed = parseVerifierKey(key, sha256);
      expect(verifierKeyOf(parsed as NoteKey, sha256)).toBe(key);
    }
  });

  test.each([
    ["of another hash", neumann.replace("c74f20a3", "c74f20a4")],
    ["of an unknown type", "x+c74f20a3+BRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"],
    ["without a name", neumann.replace("PeterNeumann", "")],
    ["that is too short", "x+c74f20a3+ARpc"],
  ])("%s is refused", (_what, key) => {
    expect(parseVerifierKey(key, sha256)).toBeNull();
  });
});
