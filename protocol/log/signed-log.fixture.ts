// Test support: a log of any leaves, with its signed checkpoints and proofs, that can also lie; and witnesses' keys.

import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256, utf8 } from "../bytes.ts";
import { buildTree, consistencyPath, leafHash } from "../merkle.ts";
import {
  cosignature,
  cosignatureMessage,
  formatAddCheckpoint,
  formatCheckpoint,
  formatNote,
  logMessage,
  logSignature,
  type NoteKey,
  type NoteKeyKind,
  type NoteSignature,
} from "./note.ts";

export interface TestNoteKey extends NoteKey {
  readonly sign: (message: Uint8Array) => Uint8Array;
}

export function noteKey(name: string, kind: NoteKeyKind, seed: number): TestNoteKey {
  const secret = new Uint8Array(32).fill(seed);
  const publicKey = ed25519.getPublicKey(secret);
  return { name, kind, publicKey, sign: (message) => ed25519.sign(message, secret) };
}

export function cosign(
  key: TestNoteKey,
  text: string,
  seconds: number,
  changes: { readonly of?: string } = {},
): NoteSignature {
  const signature = key.sign(cosignatureMessage(changes.of ?? text, seconds));
  return cosignature(key, { seconds, signature }, sha256);
}

export class SignedLog {
  readonly origin: string;
  readonly key: TestNoteKey;
  readonly #hashes: readonly Uint8Array[];

  /** Two logs of one origin and key with other `words` are forks of one another, from leaf `same` on. */
  constructor({ origin = "log.test/one", words = "leaf", same = 0, seed = 7, leaves = 40 } = {}) {
    this.origin = origin;
    this.key = noteKey("svc-log", "log", seed);
    this.#hashes = Array.from({ length: leaves }, (_, at) =>
      leafHash(utf8(`${at < same ? "leaf" : words} ${at}`), sha256),
    );
  }

  text(size: number): string {
    const root = this.root(size);
    return formatCheckpoint({ origin: this.origin, size, root, extensions: [] });
  }

  root(size: number): Uint8Array {
    return buildTree(this.#hashes.slice(0, size), sha256).root;
  }

  note(size: number, key: TestNoteKey = this.key): string {
    const text = this.text(size);
    return formatNote({ text, signatures: [logSignature(key, key.sign(logMessage(text)), sha256)] });
  }

  proof(from: number, size: number): readonly Uint8Array[] {
    return from === 0 || from > size ? [] : consistencyPath(this.#hashes.slice(0, size), from, sha256);
  }

  /** The body of a request, true unless it is told otherwise. */
  request(
    oldSize: number,
    size: number,
    given: { readonly note?: string; readonly proof?: readonly Uint8Array[] } = {},
  ): string {
    const { note = this.note(size), proof = this.proof(oldSize, size) } = given;
    return formatAddCheckpoint({ oldSize, proof, note });
  }
}
