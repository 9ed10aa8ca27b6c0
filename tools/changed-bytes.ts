// Which bytes of an evidence file can be changed without the verifier refusing it: none, if it is any good. Runs in Node and in a
// browser.

import type { Sha256 } from "../protocol/bytes.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import type { SignatureVerifier } from "../protocol/keys/signatures.ts";
import { verifyEvidence } from "../verifier/verifier.ts";

export interface ChangedBytes {
  readonly anchors: Anchors;
  readonly file: Uint8Array;
  /** The offsets of the bytes that are changed, one at a time. */
  readonly places: Iterable<number>;
  readonly verify: SignatureVerifier;
  readonly sha256: Sha256;
}

export interface Unnoticed {
  readonly changed: number;
  /** What stands before each byte that was changed and not noticed, with the byte. */
  readonly believed: readonly string[];
}

/** Throws where the genuine file is refused. `rest` is called now and then. */
export async function unnoticedChanges(
  { anchors, file, places, verify, sha256 }: ChangedBytes,
  rest: () => Promise<void> = async () => {},
): Promise<Unnoticed> {
  const verifying = recalling(verify, (key, message, signature) =>
    [JSON.stringify(key), textOf(message), textOf(signature)].join(),
  );
  const hashing = recalling(sha256, textOf);
  const options = { anchors, verify: verifying.call, sha256: hashing.call };
  if (!verifyEvidence(options, file).valid) throw new Error("The file itself is refused.");
  verifying.learned();
  hashing.learned();
  const believed: string[] = [];
  const other = file.slice();
  let changed = 0;
  for (const at of places) {
    other[at] = (file[at] as number) ^ (1 << (at % 5));
    if (verifyEvidence(options, other).valid) believed.push(textOf(file.subarray(at - 40, at + 1)));
    other[at] = file[at] as number;
    changed += 1;
    if (changed % 500 === 0) await rest();
  }
  return { changed, believed };
}

/** A text of this many characters is the base64 of a document or of a signature: nothing shorter in a file is. */
const longText = /"[A-Za-z0-9+/=]{80,}"/g;
/** At each end of a long text, where decoders differ. */
const edge = 8;

/**
 * The offsets of all bytes of a JSON text, but for the inside of long texts: there each byte is decoded and signed like its neighbours, so
 * one in `spacing` is drawn from each run of that length.
 */
export function* telling(
  file: Uint8Array,
  { spacing, random }: { readonly spacing: number; readonly random: () => number },
): Generator<number> {
  let at = 0;
  for (const { index, 0: found } of textOf(file).matchAll(longText)) {
    const [first, last] = [index + 1 + edge, index + found.length - 1 - edge];
    for (; at < first; at += 1) yield at;
    for (; at < last; at += spacing) yield at + Math.floor(random() * Math.min(spacing, last - at));
    at = last;
  }
  for (; at < file.length; at += 1) yield at;
}

/**
 * A function that recalls what it found for the genuine file: with one byte changed, nearly all of its inputs are the same. Nothing is
 * learned from changed files.
 */
function recalling<A extends readonly unknown[], R>(
  compute: (...inputs: A) => R,
  nameOf: (...inputs: A) => string,
): { readonly call: (...inputs: A) => R; readonly learned: () => void } {
  const found = new Map<string, R>();
  let isLearning = true;
  return {
    call: (...inputs) => {
      const name = nameOf(...inputs);
      const known = found.get(name);
      if (known !== undefined) return known;
      const result = compute(...inputs);
      if (isLearning) found.set(name, result);
      return result;
    },
    learned: () => {
      isLearning = false;
    },
  };
}

const latin1 = new TextDecoder("latin1");

/** Every byte is a character. */
function textOf(bytes: Uint8Array): string {
  return latin1.decode(bytes);
}
