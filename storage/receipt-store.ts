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
//   T11. A receipt that names the versions of its rows is kept by them (P1 below): its engine has their rows, or what remains of them.

import { concatBytes, formatHash, hashOf, parseHash, parseUtf8, toBase64, utf8 } from "../protocol/bytes.ts";
import {
  formatTimestamp,
  isCollectionName,
  type RecordKind,
  recordIdBytes,
  recordIdLength,
  recordIdOf,
  recordType,
} from "../protocol/identifiers.ts";
import { type ReceiptFacts, receiptFacts, receiptRowText } from "../protocol/receipt.ts";
import type { CommitOutcome } from "./actor-store.ts";
import type { SignedRow, VersionNumber } from "./record-store.ts";

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

/** A receipt that is to be kept. */
export interface NewReceipt extends ReceiptRow {
  /** Of what its envelope is made; absent for one that is kept whole. */
  readonly reference?: ReceiptReference;
}

export interface ReceiptReference {
  readonly payloadType: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
  /** RFC 8785 text of the payload, with no rows in it. */
  readonly payload: string;
  /** Those of its rows, in their order. */
  readonly versions: readonly VersionNumber[];
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
  append(row: NewReceipt, after?: Promise<CommitOutcome> | null): Promise<void>;
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

// The envelope of a receipt as stores keep it: without its rows, which are those of stored versions. Fifty rows take one kilobyte instead of
// the eighteen of their text.
//   P1. What is made again is the text that was appended, byte for byte, also after its versions are purged: what a receipt names of one
//       stays (record-store.ts, R8). Another text is never given: its hash is kept beside it.
//   P2. A receipt without a reference, or with one to anything but records of one collection, is kept whole. So are those of ads: after a
//       takeover by another region two versions of an ad may have the same number.

const mark = { whole: 0, referring: 1 } as const;
const signatureBytes = 64;
/** An id, and a generation. */
const referenceBytes = recordIdLength + Uint32Array.BYTES_PER_ELEMENT;
/** Ends the texts of a receipt, of which none has it. */
const textEnd = 0;
const noRows = '"rows":[]';

/** What is kept of an envelope. */
export function packEnvelope({
  envelope,
  reference,
}: Pick<NewReceipt, "envelope" | "reference">): Uint8Array {
  const [kind = "", ...others] = new Set(reference?.versions.map(({ record_id }) => recordType(record_id)));
  if (reference === undefined || others.length > 0 || !(kind === "" || isCollectionName(kind ?? "")))
    return concatBytes(Uint8Array.of(mark.whole), utf8(envelope));
  const { payloadType, keyId, payload, signature, versions } = reference;
  const texts = utf8(`${[payloadType, keyId, kind, payload].join("\n")}\0`);
  const packed = new Uint8Array(1 + texts.length + signatureBytes + versions.length * referenceBytes);
  packed[0] = mark.referring;
  packed.set(texts, 1);
  packed.set(signature, 1 + texts.length);
  const view = new DataView(packed.buffer);
  let at = 1 + texts.length + signatureBytes;
  for (const { record_id, generation } of versions) {
    packed.set(recordIdBytes(record_id), at);
    view.setUint32(at + recordIdLength, generation);
    at += referenceBytes;
  }
  return packed;
}

/** Of these versions, in their order; null for one that is not there. */
export type ReadSignedRows = (versions: readonly VersionNumber[]) => Promise<readonly (SignedRow | null)[]>;

/** Makes the envelope with this hash again (P1). Throws where that cannot be done. */
export async function unpackEnvelope(
  packed: Uint8Array,
  { hash }: Pick<ReceiptRow, "hash">,
  readSignedRows: ReadSignedRows,
): Promise<string> {
  const envelope =
    packed[0] === mark.whole ? parseUtf8(packed.subarray(1)) : await madeAgain(packed, readSignedRows);
  if (envelope === null || hashOf(utf8(envelope)) !== hash)
    throw new Error(`The receipt whose envelope has the hash ${hash} cannot be made again.`);
  return envelope;
}

/** Null for bytes that {@link packEnvelope} did not make, and where a version is not there. */
async function madeAgain(packed: Uint8Array, readSignedRows: ReadSignedRows): Promise<string | null> {
  const end = packed.indexOf(textEnd, 1);
  const [payloadType, keyId, kind, payload] = parseUtf8(packed.subarray(1, end))?.split("\n") ?? [];
  const rest = packed.subarray(end + 1);
  if (end < 0 || payload === undefined || rest.length < signatureBytes) return null;
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  const versions: VersionNumber[] = [];
  for (let at = signatureBytes; at + referenceBytes <= rest.length; at += referenceBytes) {
    const record_id = recordIdOf(kind as RecordKind, rest.subarray(at, at + recordIdLength));
    versions.push({ record_id, generation: view.getUint32(at + recordIdLength) });
  }
  const rows = (await readSignedRows(versions)).map((row, at) =>
    row === null ? null : receiptRowText({ record_id: versions[at]?.record_id ?? "", ...row }),
  );
  if (rows.includes(null)) return null;
  const whole = utf8(payload.replace(noRows, () => `"rows":[${rows.join(",")}]`));
  return (
    `{"payloadType":"${payloadType}","payload":"${toBase64(whole)}",` +
    `"signatures":[{"keyid":"${keyId}","sig":"${toBase64(rest.subarray(0, signatureBytes))}"}]}`
  );
}
