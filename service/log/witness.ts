// A witness of transparency logs (C2SP tlog-witness): it cosigns a checkpoint only as the continuation of the one that it cosigned
// last, so that a log cannot show different trees to different people without one of its witnesses seeing both.
//   W1. What is cosigned was written down first, by compare-and-set: no crash and no race makes it cosign two trees that are not
//       one another's continuation.
//   W2. The time in a cosignature was read before that step. Nothing larger had been cosigned by then.
//   W3. A log is known by its origin and keys, from the configuration. Nothing is said about any other.

import type { Clock, CryptoPort, Signer } from "../../crypto/port.ts";
import { equalBytes, formatHash, parseHash, parseUtf8, toHex, utf8 } from "../../protocol/bytes.ts";
import {
  cosignature,
  cosignatureMessage,
  formatNote,
  isSignedBy,
  keyHashOf,
  type NoteKey,
  parseAddCheckpoint,
  parseNote,
  type ReadAddCheckpoint,
  treeSizeType,
} from "../../protocol/log/note.ts";
import { verifyConsistency } from "../../protocol/merkle.ts";
import type { WitnessedHead, WitnessStore } from "../../storage/witness-store.ts";

/** A log that is witnessed. */
export interface WitnessedLog {
  readonly origin: string;
  /** A log that changed its key has several; a signature by one of them is enough, and none of them may be wrong. */
  readonly keys: readonly NoteKey[];
}

export interface WitnessDeps {
  readonly key: NoteKey;
  readonly signer: Signer;
  /** What is witnessed now. */
  readonly logs: () => readonly WitnessedLog[];
  readonly store: WitnessStore;
  readonly clock: Clock;
  readonly crypto: CryptoPort;
  /** A log signed two trees of one size: both notes are the proof. */
  readonly forked?: (origin: string, notes: readonly [string, string]) => void;
}

export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly mediaType: string;
  readonly body: string;
}

export interface Witness {
  /** Answers the body of a request to add a checkpoint. Throws {@link StoreError}; nothing was signed then. */
  addCheckpoint(body: Uint8Array): Promise<WitnessAnswer>;
  /**
   * The checkpoint that was cosigned last of the log whose origin has this SHA-256 in lower-case hexadecimal, with the cosignature; null
   * for a log of which there is none. Throws {@link StoreError}.
   */
  latest(originHash: string): Promise<string | null>;
}

/** A witness of logs (C2SP tlog-witness): it cosigns a tree only if it is an extension of the last that it cosigned. */
export function createWitness(deps: WitnessDeps): Witness {
  const cosigned: Cosigned = new Map();
  return {
    addCheckpoint: (body) => addCheckpoint(deps, cosigned, body),
    latest: (originHash) => latest(deps, cosigned, originHash),
  };
}

/** Origin → what was cosigned last, with its line. Only of logs that are witnessed, so it is as bounded as they are. */
type Cosigned = Map<string, { readonly note: string; readonly line: string }>;

const plain = "text/plain; charset=utf-8";

function refusal(status: 400 | 403 | 404 | 409 | 422, detail: string): WitnessAnswer {
  return { status, mediaType: plain, body: `${detail}\n` };
}

function conflict(head: WitnessedHead | null): WitnessAnswer {
  return { status: 409, mediaType: treeSizeType, body: `${head?.size ?? 0}\n` };
}

async function addCheckpoint(
  deps: WitnessDeps,
  cosigned: Cosigned,
  body: Uint8Array,
): Promise<WitnessAnswer> {
  const { logs, store, clock, crypto } = deps;
  const text = parseUtf8(body);
  const asked = text === null ? null : parseAddCheckpoint(text);
  if (asked === null || !asked.ok) return refusal(400, asked?.detail ?? "A request is UTF-8.");
  const { checkpoint, oldSize, read, note } = asked.value;
  const log = logs().find(({ origin }) => origin === checkpoint.origin);
  if (log === undefined) return refusal(404, "This witness does not know the log.");
  if (!isSignedBy(crypto, read, log.keys))
    return refusal(403, "No known key of the log signed the checkpoint, or a signature is wrong.");
  if (oldSize > checkpoint.size) return refusal(400, "The old size is larger than that of the checkpoint.");
  const head = await store.read(log.origin);
  if (oldSize !== (head?.size ?? 0)) return conflict(head);
  const root = formatHash(checkpoint.root);
  if (head !== null && head.size === checkpoint.size && head.root !== root) {
    deps.forked?.(log.origin, [head.note, note]);
    return refusal(422, "Another tree of this size was cosigned.");
  }
  if (!isContinuation(deps, head, asked.value))
    return refusal(422, "The proof does not lead from the old size to the checkpoint.");
  const seconds = Math.floor(clock.now() / 1_000);
  if (!(await store.advance(log.origin, head, { size: checkpoint.size, root, note })))
    return conflict(await store.read(log.origin));
  const line = await cosign(deps, read.text, seconds);
  cosigned.set(log.origin, { note, line });
  return { status: 200, mediaType: plain, body: line };
}

async function latest(deps: WitnessDeps, cosigned: Cosigned, originHash: string): Promise<string | null> {
  const { store, clock, crypto } = deps;
  const log = deps.logs().find(({ origin }) => toHex(crypto.sha256(utf8(origin))) === originHash);
  if (log === undefined) return null;
  // Before the head is read (W2): a head that was written down and not signed, or signed before a restart, is signed now.
  const seconds = Math.floor(clock.now() / 1_000);
  const head = await store.read(log.origin);
  const parsed = head === null ? null : parseNote(head.note);
  if (head === null || !parsed?.ok) return null;
  let own = cosigned.get(log.origin);
  if (own?.note !== head.note) {
    own = { note: head.note, line: await cosign(deps, parsed.value.text, seconds) };
    cosigned.set(log.origin, own);
  }
  // What strangers wrote below the checkpoint is not handed on.
  const names = log.keys.map((key) => ({ name: key.name, hash: keyHashOf(key, crypto.sha256) }));
  const signatures = parsed.value.signatures.filter((line) =>
    names.some(({ name, hash }) => line.name === name && equalBytes(line.keyHash, hash)),
  );
  return formatNote({ text: parsed.value.text, signatures }) + own.line;
}

function isContinuation(
  { crypto: { sha256 } }: WitnessDeps,
  head: WitnessedHead | null,
  { checkpoint: { size, root }, proof: path }: ReadAddCheckpoint,
): boolean {
  // Every tree continues that of no leaves; the one that has none has a root of its own.
  if (head === null || head.size === 0)
    return path.length === 0 && (size > 0 || equalBytes(root, sha256(new Uint8Array())));
  const firstRoot = parseHash(head.root);
  if (firstRoot === null) throw new Error("The witness remembers a head without a root.");
  return verifyConsistency(
    { firstSize: head.size, secondSize: size, firstRoot, secondRoot: root, path },
    sha256,
  );
}

/** The signature line. */
async function cosign({ key, signer, crypto }: WitnessDeps, text: string, seconds: number): Promise<string> {
  const signature = await signer.sign(cosignatureMessage(text, seconds));
  const signatures = [cosignature(key, { seconds, signature }, crypto.sha256)];
  return formatNote({ text: "", signatures }).slice(1);
}
