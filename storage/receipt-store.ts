// Port: receipts. Every implementation passes storage/receipt-store.conformance.ts.
//   T1. Once `append` has returned, the receipt survives the loss of the process; only then may the answer be sent.
//   T2. Appending the same (region, batch, retrieval_id) again changes nothing.
//   T3. A batch is (minute, incarnation). A late row goes into the batch that its writer names, closed or not, and is
//       found by `readBatch`. No such receipt is ever handed out: what is durable within `durableWithinMs` of the end of its
//       minute is read when the batch is closed, `closedAfterMs` after it, and an answer with a later one does not leave.
//   T4. A row appended `after` a commit is kept only if that commit was applied, and never without it.
//   T5. Only `forgetReceipts` removes receipts, those of one closed batch. The root and size of the batch stay for good,
//       so that it can still be shown whether a receipt that somebody kept was part of it.
//   T6. `listReceipts` gives the receipts of one company and region in ascending order of retrieval_id, and so of time: each
//       whose append returned before the call, once its batch is closed or while it is open, and none that was forgotten.
//       One that was never handed out may be missing, but once listed in a closed batch it stays listed.
//   T7. `readUsage` is the count of exactly what `listReceipts` gives for these days, at any moment: after a crash, after an
//       append was repeated, and for receipts that were never handed out. What was counted of a closed batch stays counted
//       when its receipts are forgotten.
//   T8. A page needs memory and time for itself alone, however many receipts there are: it may be short, or empty, and says
//       where the next one starts.
//   T9. A receipt that `retract` took back does not exist: it is in no batch, listing or count, even if its append is still on its
//       way. Once its batch is closed, it stays: `retract` says so, and changes nothing. Where nothing decides between the
//       two, it is only called so long before the batch is closed that the clocks decide ({@link retractedWithinMs}).
//   T10. Envelopes are nearly all of a receipt's bytes: only `readReceipt` and `listReceipts` read them.

import {
  concatBytes,
  formatHash,
  parseBase64,
  parseHash,
  parseHex,
  parseUtf8,
  toBase64,
  toHex,
  utf8,
} from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { type ReceiptFacts, receiptFacts } from "../protocol/receipt.ts";
import type { CommitOutcome } from "./actor-store.ts";

/** How long after its minute a batch is closed, in milliseconds. */
export const closedAfterMs = 30_000;
/** The difference to {@link closedAfterMs} is far longer than the clocks of two nodes may differ. */
export const durableWithinMs = 20_000;
/** Until when after its minute a receipt may be taken back. The clocks of two nodes differ by less than what is left then. */
export const retractedWithinMs = 25_000;

export interface ReceiptRow {
  readonly region: string;
  /** Batch name `YYYYMMDDHHMM-<incarnation>`: one batch per minute and node incarnation. */
  readonly batch: string;
  /** `ret_`, 12 hex digits of `served_at_ms`, then a unique suffix: see {@link servedAtOf}. */
  readonly retrieval_id: string;
  /** The uuid of the AI company whose key asked. */
  readonly company: string;
  /** key_id of the caller; together with `nonce` it counts once for billing. */
  readonly key_id: string;
  readonly nonce: string;
  readonly billable: boolean;
  readonly served_at_ms: number;
  /** JSON text of the receipt envelope. */
  readonly envelope: string;
  /** `sha256:<hex>` of the envelope, by which proofs are asked for. */
  readonly hash: string;
  /** `sha256:<hex>`: the hash of the envelope as a leaf of its batch (RFC 6962 §2.1). */
  readonly leaf: string;
  /** What the event stream says beyond the other members, as JSON text. */
  readonly event: string;
}

/** What a batch, a count and a charge need of a receipt. */
export type ListedReceipt = Omit<ReceiptRow, "envelope">;

export interface ClosedBatch {
  readonly region: string;
  readonly batch: string;
  /** `sha256:<hex>`: RFC 6962 root over the receipt envelopes in retrieval_id order. */
  readonly root: string;
  readonly tree_size: number;
  readonly closed_at_ms: number;
}

export interface ReceiptsWanted {
  readonly region: string;
  readonly company: string;
  readonly keyId: string | null;
  /** Unix milliseconds; `fromMs` is included, `toMs` is not. */
  readonly fromMs: number;
  readonly toMs: number;
  /** A position that an earlier page named; null for the beginning. */
  readonly after: string | null;
  readonly limit: number;
}

export interface ReceiptPage<Receipt = ReceiptRow> {
  readonly receipts: readonly Receipt[];
  /** After which position the next page starts; null if there is none. */
  readonly next: string | null;
}

export interface UsageWanted {
  readonly region: string;
  readonly company: string;
  /** UTC days, `YYYY-MM-DD`, both included. */
  readonly fromDay: string;
  readonly toDay: string;
}

export interface ReceiptStore {
  /** Whether a row appended `after` a commit that was submitted just before becomes durable in one step with it. */
  readonly sharesCommits: boolean;
  /**
   * `after` is the promise returned by {@link ActorStore.commit} of the same node's store: the row then waits for that
   * commit, or shares its transaction (T4). Throws {@link StoreError}, `not_applied` when that commit was refused.
   */
  append(row: ReceiptRow, after?: Promise<CommitOutcome> | null): Promise<void>;
  /** False if the batch is closed: the receipt may be in it (T9). Throws {@link StoreError}. */
  retract(row: ReceiptRow): Promise<boolean>;
  /**
   * Names of batches that have rows and are not closed, whose minute sorts before `beforeMinute` (`YYYYMMDDHHMM`), oldest
   * first.
   */
  openBatches(region: string, beforeMinute: string, limit: number): Promise<readonly string[]>;
  /** All receipts of a batch, in ascending order of retrieval_id, in pages of some hundred, between which other work has its turn. */
  readBatch(region: string, batch: string): AsyncIterable<readonly ListedReceipt[]>;
  /**
   * `receipts` are those over which it is closed, as `readBatch` gave them, and `counts` what `countReceipts` gives of them (T7), for a
   * caller that has counted them page by page.
   */
  closeBatch(
    closed: ClosedBatch,
    receipts: readonly ListedReceipt[],
    counts?: ReadonlyMap<string, readonly UsageCount[]>,
  ): Promise<void>;
  readClosed(region: string, batch: string): Promise<ClosedBatch | null>;
  /**
   * Names of closed batches whose receipts have not been forgotten yet and whose minute sorts before `beforeMinute`,
   * oldest first. One call may cover only part of the time range; the next call then continues from there.
   */
  keptBatches(region: string, beforeMinute: string, limit: number): Promise<readonly string[]>;
  /** Removes receipts of a closed batch, at most `limit` per step; returns true once none is left (T5). */
  forgetReceipts(region: string, batch: string, limit: number): Promise<boolean>;
  /** Names of the closed batches of a minute (`YYYYMMDDHHMM`), in order; one for each incarnation that served in it. */
  closedBatches(region: string, minute: string): Promise<readonly string[]>;
  /** Finds a receipt by the minute encoded in its id; null for an id that encodes none. */
  readReceipt(region: string, retrievalId: string): Promise<ReceiptRow | null>;
  listReceipts(wanted: ReceiptsWanted): Promise<ReceiptPage>;
  /** The same pages without envelopes. */
  listFacts(wanted: ReceiptsWanted): Promise<ReceiptPage<ListedReceipt>>;
  /** In the order of {@link addUsage}; each combination once. */
  readUsage(wanted: UsageWanted): Promise<readonly UsageCount[]>;
}

const retrievalIdForm = /^ret_([0-9a-f]{12})/;

/**
 * Unix milliseconds encoded in a retrieval id; null when the text is not a retrieval id. They let a receipt be found
 * without an index.
 */
export function servedAtOf(retrievalId: string): number | null {
  const hex = retrievalIdForm.exec(retrievalId)?.[1];
  return hex === undefined ? null : Number.parseInt(hex, 16);
}

/** The position before every receipt that was served at this instant or later, and after all others. */
export function positionAt(ms: number): string {
  return `ret_${Math.max(ms, 0).toString(16).padStart(12, "0")}`;
}

/** Unix milliseconds at which the minute of a batch begins. */
export function minuteStart(batch: string): number {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)/.exec(batch) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute));
}

/** The two hashes of a receipt as stores keep them: their bytes, one after the other. Throws for a text that is no hash. */
export function packHashes({ hash, leaf }: Pick<ReceiptRow, "hash" | "leaf">): Uint8Array {
  const parts = [parseHash(hash), parseHash(leaf)].map((bytes) => {
    if (bytes === null) throw new Error("A receipt is stored with the hashes of its envelope.");
    return bytes;
  });
  return concatBytes(...parts);
}

/** The bytes of a receipt's leaf. */
export function leafIn({ leaf, retrieval_id }: Pick<ReceiptRow, "leaf" | "retrieval_id">): Uint8Array {
  const bytes = parseHash(leaf);
  if (bytes === null) throw new Error(`The receipt ${retrieval_id} has no leaf.`);
  return bytes;
}

export function hashesIn(packed: Uint8Array): Pick<ReceiptRow, "hash" | "leaf"> {
  return { hash: formatHash(packed.subarray(0, 32)), leaf: formatHash(packed.subarray(32)) };
}

/** The positions between which the receipts of a page are. */
export function pageBounds({ fromMs, toMs, after }: ReceiptsWanted): readonly [low: string, high: string] {
  const from = positionAt(fromMs);
  return [after !== null && after > from ? after : from, positionAt(toMs)];
}

// What a company used: its receipts, counted. Every adapter counts with the same function.

/** The receipts of one key and UTC day that are alike, as numbers. */
export interface UsageCount {
  /** `YYYY-MM-DD`, UTC, of `served_at`. */
  readonly day: string;
  readonly key_id: string;
  readonly kind: ReceiptFacts["kind"];
  readonly collection: string | null;
  readonly country: string | null;
  /** Receipts, and those of them that are billable. */
  readonly requests: number;
  readonly billable: number;
  /** Rows that they state. */
  readonly rows: number;
}

export interface CountedReceipt {
  readonly company: string;
  readonly key_id: string;
  readonly billable: boolean;
  readonly served_at_ms: number;
  readonly event: string;
}

export function usageOf(receipt: CountedReceipt): UsageCount {
  const { kind, collection, country, rows } = receiptFacts(receipt);
  const { key_id, billable } = receipt;
  const day = usageDay(receipt.served_at_ms);
  return { day, key_id, kind, collection, country, requests: 1, billable: billable ? 1 : 0, rows };
}

/** The counts of each company that these receipts were given to. */
export function countReceipts(
  receipts: readonly CountedReceipt[],
): ReadonlyMap<string, readonly UsageCount[]> {
  const counts = [...Map.groupBy(receipts, ({ company }) => company)].map(
    ([company, of]) => [company, addUsage(of.map(usageOf))] as const,
  );
  return new Map(counts);
}

/** Adds the counts of some receipts to those of others. */
export function addCounts(
  counts: ReadonlyMap<string, readonly UsageCount[]>,
  more: ReadonlyMap<string, readonly UsageCount[]>,
): ReadonlyMap<string, readonly UsageCount[]> {
  const sums = new Map(counts);
  for (const [company, of] of more) sums.set(company, addUsage([...(counts.get(company) ?? []), ...of]));
  return sums;
}

/** Adds up what is alike, in ascending order of day, key, kind, collection and country. */
export function addUsage(counts: Iterable<UsageCount>): readonly UsageCount[] {
  const sums = new Map<string, UsageCount>();
  for (const each of counts) {
    const name = [each.day, each.key_id, each.kind, each.collection ?? "", each.country ?? ""].join(" ");
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? each : added(sum, each));
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function added(sum: UsageCount, each: UsageCount): UsageCount {
  return {
    ...sum,
    requests: sum.requests + each.requests,
    billable: sum.billable + each.billable,
    rows: sum.rows + each.rows,
  };
}

/** The UTC day of an instant. */
export function usageDay(ms: number): string {
  return formatTimestamp(ms).slice(0, 10);
}

// The envelope of a receipt as stores keep it. It is text three times over: a payload in base64, whose rows have hashes in hexadecimal digits
// and signatures in base64. Their bytes are less than half of it: of fifty rows, 7 kB instead of 18.
//   P1. What is unpacked is the text that was packed, byte for byte, whatever it was. Only what is written in exactly one way is packed (a
//       row with the members and order of protocol/receipt.ts, lower-case digits, strict base64); any other text is kept as it is.
//   P2. What is packed says all by itself: it needs no row, record or key to be read, and so outlives them.

const mark = { whole: 0, packed: 1 } as const;

// The parts of an envelope between its values.
const beforeType = '{"payloadType":"';
const beforePayload = '","payload":"';
const beforeSigner = '","signatures":[{"keyid":"';
const beforeSealed = '","sig":"';
const afterSealed = '"}]}';
const signatureBytes = 64;

// The parts of a row's text between its values. A hash has 64 digits and becomes 32 bytes. A signature has 86 digits: the first 84 become 63
// bytes, and the last two stay digits, so that the signatures of all rows are converted at once.
const beforeHash = '{"adl_origin":"sha256:';
const beforeSignature = '","adl_row_sig":"';
const beforeVersion = '==","ai_policy_version":';
const beforeId = ',"record_id":"';
const afterRow = '"}';
const [hashDigits, hashBytes] = [64, 32];
const [signatureDigits, packedDigits, packedBytes] = [86, 84, 63];

/** Around what is left of a row in the text, and the end of the text: characters that no text has that is packed. */
const rowStart = "\u0001";
const rowEnd = "\u0002";
const textEnd = 0;
/** The last digits of the signature, the version, the id. */
const packedRowForm = new RegExp(`${rowStart}(..)([0-9]+),([^${rowEnd}]*)${rowEnd}`, "g");
/** Separates what is packed of an envelope. */
const line = "\n";
const taken = [rowStart, rowEnd, line, String.fromCharCode(textEnd)];

export function packEnvelope(envelope: string): Uint8Array {
  return packedParts(envelope) ?? concatBytes(Uint8Array.of(mark.whole), utf8(envelope));
}

/** Null for a text that is kept as it is (P1). */
function packedParts(envelope: string): Uint8Array | null {
  // Each from where the one before has ended, so that none shares a quotation mark with it.
  const payloadAt = envelope.indexOf(beforePayload, beforeType.length);
  const signerAt = envelope.indexOf(beforeSigner, payloadAt + beforePayload.length);
  const sealedAt = envelope.indexOf(beforeSealed, signerAt + beforeSigner.length);
  if (!envelope.startsWith(beforeType) || payloadAt < 0 || signerAt < 0 || sealedAt < 0) return null;
  if (!envelope.endsWith(afterSealed)) return null;
  const payloadType = envelope.slice(beforeType.length, payloadAt);
  const payload = textIn(parseBase64(envelope.slice(payloadAt + beforePayload.length, signerAt)));
  const keyId = envelope.slice(signerAt + beforeSigner.length, sealedAt);
  const sealed = parseBase64(envelope.slice(sealedAt + beforeSealed.length, -afterSealed.length));
  if (payload === "" || sealed?.length !== signatureBytes || /[^ -~]/.test(payloadType + keyId)) return null;
  if (taken.some((character) => payload.includes(character))) return null;
  const { text, hashes, signatures } = rowsTakenOut(payload);
  // Padding would end the digits of one, and so move those of the others.
  if (signatures.includes("=")) return null;
  const raw = [parseHex(hashes), parseBase64(signatures)].filter((part) => part !== null);
  if (raw.length < 2) return null;
  const head = utf8([payloadType, keyId, text].join(line));
  return concatBytes(Uint8Array.of(mark.packed), head, Uint8Array.of(textEnd), sealed, ...raw);
}

/** The text of a payload without the hashes and signatures of its rows, and the digits of those. */
function rowsTakenOut(payload: string) {
  let [text, hashes, signatures] = ["", "", ""];
  let from = 0;
  for (let at = payload.indexOf(beforeHash); at >= 0; at = payload.indexOf(beforeHash, at + 1)) {
    const hash = at + beforeHash.length;
    const signature = hash + hashDigits + beforeSignature.length;
    const version = signature + signatureDigits + beforeVersion.length;
    const versionEnd = payload.indexOf(beforeId, version);
    const end = payload.indexOf(afterRow, versionEnd + beforeId.length);
    const isRow =
      payload.startsWith(beforeSignature, hash + hashDigits) &&
      payload.startsWith(beforeVersion, signature + signatureDigits) &&
      versionEnd >= 0 &&
      end >= 0 &&
      /^[0-9]+$/.test(payload.slice(version, versionEnd));
    if (!isRow) continue;
    hashes += payload.slice(hash, hash + hashDigits);
    signatures += payload.slice(signature, signature + packedDigits);
    const lastDigits = payload.slice(signature + packedDigits, signature + signatureDigits);
    const id = payload.slice(versionEnd + beforeId.length, end);
    text += `${payload.slice(from, at)}${rowStart}${lastDigits}${payload.slice(version, versionEnd)},${id}${rowEnd}`;
    from = end + afterRow.length;
    at = from - 1;
  }
  return { text: text + payload.slice(from), hashes, signatures };
}

/** Throws for bytes that {@link packEnvelope} did not make. */
export function unpackEnvelope(packed: Uint8Array): string {
  if (packed[0] === mark.whole) return textOf(packed.subarray(1));
  const end = packed.indexOf(textEnd, 1);
  if (packed[0] !== mark.packed || end < 0) throw notPacked();
  const [payloadType = "", keyId = "", text = ""] = textOf(packed.subarray(1, end)).split(line);
  const rawStart = end + 1 + signatureBytes;
  const rows = (packed.length - rawStart) / (hashBytes + packedBytes);
  if (!Number.isInteger(rows) || rows < 0) throw notPacked();
  const hashes = toHex(packed.subarray(rawStart, rawStart + rows * hashBytes));
  const signatures = toBase64(packed.subarray(rawStart + rows * hashBytes));
  let row = 0;
  const payload = text.replace(packedRowForm, (_row, lastDigits: string, version: string, id: string) => {
    const hash = hashes.slice(row * hashDigits, (row + 1) * hashDigits);
    const signature = signatures.slice(row * packedDigits, (row + 1) * packedDigits);
    row += 1;
    return `${beforeHash}${hash}${beforeSignature}${signature}${lastDigits}${beforeVersion}${version}${beforeId}${id}${afterRow}`;
  });
  if (row !== rows) throw notPacked();
  const sealed = toBase64(packed.subarray(end + 1, rawStart));
  const encoded = toBase64(utf8(payload));
  return `${beforeType}${payloadType}${beforePayload}${encoded}${beforeSigner}${keyId}${beforeSealed}${sealed}${afterSealed}`;
}

/** Empty where there is none. */
function textIn(bytes: Uint8Array | null): string {
  return bytes === null ? "" : (parseUtf8(bytes) ?? "");
}

function textOf(bytes: Uint8Array): string {
  const text = parseUtf8(bytes);
  if (text === null) throw notPacked();
  return text;
}

function notPacked(): Error {
  return new Error("The envelope of a receipt was not written by this store.");
}
