// What becomes a leaf of the log, and under which hash (specification, «Events»). Anyone who holds a seal, a certificate, a key's entry
// in the register, a custody statement or a batch of receipts can compute its entry.

import { concatBytes, hashOf, parseHash, parseUtf8, type Sha256 } from "../bytes.ts";
import type { Envelope } from "../dsse.ts";
import { canonicalBytes, type JsonValue } from "../json/canonical-json.ts";
import { leafHash } from "../merkle.ts";
import { tileWidth } from "./tiles.ts";

/** The hash of a signed envelope, or of anything else that is JSON: that of its canonical text. */
export function contentHash(value: JsonValue, sha256: Sha256): string {
  return hashOf(canonicalBytes(value), sha256);
}

/** The leaf of a seal: its hash as an object, whatever its signature is. */
export function sealLeafOf(envelope: Envelope, sha256: Sha256): string {
  return contentHash(envelope, sha256);
}

/** The seal of a batch, a record, an AI policy or a removal: the SHA-256 of the canonical seal object. */
export function sealEntry(businessUuid: string, leaf: string): LogEntry {
  return { leaf, leaf_type: "seal", subject: businessUuid };
}

/** A certificate, each time that one is issued. */
export function certificateEntry(businessUuid: string, leaf: string): LogEntry {
  return { leaf, leaf_type: "certificate", subject: businessUuid };
}

/** A custody statement, each time that one is issued. */
export function custodyEntry(businessUuid: string, leaf: string): LogEntry {
  return { leaf, leaf_type: "key_event", subject: businessUuid };
}

/** A key that was added to a business's register. Its id is the thumbprint of the public key (RFC 7638). */
export function keyAddedEntry(businessUuid: string, keyId: string, sha256: Sha256): LogEntry {
  const event = { v: 1, event: "key_added", business_uuid: businessUuid, key_id: keyId };
  return { leaf: contentHash(event, sha256), leaf_type: "key_event", subject: businessUuid };
}

/** A closed batch of a region's receipts, by the root over them. */
export function receiptBatchEntry(batch: {
  readonly region: string;
  readonly batch: string;
  readonly root: string;
}): LogEntry {
  return { leaf: batch.root, leaf_type: "receipt_batch", subject: `${batch.region}/${batch.batch}` };
}

// The entries of the log: one line of canonical JSON for each thing that it is about. An entry is a function of what a verifier
// already holds (a seal, a certificate, a receipt batch …), so that inclusion can be proven without asking for the entry.

/** The tokens of `leaf_type` (specification, «Events»; all but `seal` are a published choice). */
export const leafTypes = ["seal", "receipt_batch", "certificate", "key_event", "checkpoint"] as const;

export type LeafType = (typeof leafTypes)[number];

export interface LogEntry {
  /** `sha256:<hex>` of what the entry is about; of a receipt batch, the root over its receipts. */
  readonly leaf: string;
  readonly leaf_type: LeafType;
  /** Whose it is: a business_uuid; of a receipt batch `<region>/<batch name>`, of a checkpoint the log's origin. */
  readonly subject: string;
}

/** The entry's bytes, which are what is hashed (RFC 6962 §2.1) and stored in bundles. */
export function entryBytes({ leaf, leaf_type, subject }: LogEntry): Uint8Array {
  return canonicalBytes({ v: 1, leaf, leaf_type, subject });
}

/** The Merkle leaf hash of an entry. */
export function entryHash(entry: LogEntry, sha256: Sha256): Uint8Array {
  return leafHash(entryBytes(entry), sha256);
}

/** Reads an entry; null unless the bytes are exactly those that {@link entryBytes} would write. */
export function parseEntry(bytes: Uint8Array): LogEntry | null {
  const text = parseUtf8(bytes);
  const match =
    /^\{"leaf":"(sha256:[0-9a-f]{64})","leaf_type":"([a-z_]{1,32})","subject":"([A-Za-z0-9./_-]{1,256})","v":1\}$/.exec(
      text ?? "",
    );
  const [, leaf = "", type = "", subject = ""] = match ?? [];
  const leafType = leafTypes.find((each) => each === type);
  if (match === null || parseHash(leaf) === null || leafType === undefined) return null;
  return { leaf, leaf_type: leafType, subject };
}

/** Bytes of an entry, at most (tlog-tiles: a 16-bit length). */
const entryLengthMax = 65_535;

/** A bundle of entries (C2SP tlog-tiles): each with its length as a big-endian 16-bit number before it. */
export function formatBundle(entries: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    if (entry.length > entryLengthMax) throw new RangeError(`An entry has at most ${entryLengthMax} bytes.`);
    parts.push(Uint8Array.of(entry.length >> 8, entry.length & 255), entry);
  }
  return concatBytes(...parts);
}

/** The entries of a bundle; null unless it consists of exactly `width` of them. */
export function parseBundle(bundle: Uint8Array, width: number): readonly Uint8Array[] | null {
  const starts = startsOf(bundle, width);
  return starts && Array.from({ length: width }, (_, at) => entryAt(bundle, starts, at));
}

/** One entry of a bundle, as {@link parseBundle} would find it. */
export function parseBundleEntry(bundle: Uint8Array, width: number, at: number): Uint8Array | null {
  const starts = at >= 0 && at < width ? startsOf(bundle, width) : null;
  return starts && entryAt(bundle, starts, at);
}

/** The first `width` entries of a full bundle, as a bundle; null unless it is one. */
export function beginningOfBundle(full: Uint8Array, width: number): Uint8Array | null {
  const starts = startsOf(full, tileWidth);
  return starts && full.slice(0, starts[width]);
}

/** Where each entry's length is, and the end of the last; null unless there are exactly `width`. */
function startsOf(bundle: Uint8Array, width: number): readonly number[] | null {
  const starts = [0];
  let at = 0;
  while (at < bundle.length) {
    at += 2 + (((bundle[at] as number) << 8) | (bundle[at + 1] ?? 0));
    if (at > bundle.length || starts.length > width) return null;
    starts.push(at);
  }
  return starts.length === width + 1 ? starts : null;
}

function entryAt(bundle: Uint8Array, starts: readonly number[], at: number): Uint8Array {
  return bundle.subarray((starts[at] as number) + 2, starts[at + 1]);
}
