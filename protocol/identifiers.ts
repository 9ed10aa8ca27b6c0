// Identifiers and formats (specification, «Identifiers and formats»).

import { concatBytes, sha256 as portableSha256, type Sha256, toHex, utf8 } from "./bytes.ts";

/** The five record types, by their collection names. */
export const collectionNames = ["products", "business_files", "events", "jobs", "updates"] as const;

export type CollectionName = (typeof collectionNames)[number];

/** What operators list for the whole deployment. */
export const listNames = ["content-lists", "blocked-urls", "as-table", "prices", "terms"] as const;
export type ListName = (typeof listNames)[number];

/** What a business seals to have it shown: a record of a collection, or an ad, which is in no collection. */
export type ShownType = CollectionName | "ads";

const prefixes = {
  products: "svc_",
  business_files: "bf_",
  events: "evt_",
  jobs: "job_",
  updates: "upd_",
  ads: "ad_",
  ai_policy: "aip_",
} as const;

/** The things a record id can name: a collection, an ad or an AI policy record. */
export type RecordKind = keyof typeof prefixes;

const recordIdPattern = /^(svc|bf|evt|job|upd|ad|aip)_[a-z2-7]{26}$/;
const kindByPrefix = new Map<string, RecordKind>(
  Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as RecordKind]),
);

/** Whether a text names a collection. */
export function isCollectionName(text: string): text is CollectionName {
  return (collectionNames as readonly string[]).includes(text);
}

/** Whether a text names a collection, or ads. */
export function isShownType(text: string): text is ShownType {
  return text === "ads" || isCollectionName(text);
}

/** What the record ids of a kind begin with. */
export function recordIdPrefix(kind: RecordKind): string {
  return prefixes[kind];
}

/** True for `<prefix>` followed by 26 characters of [a-z2-7]. */
export function isRecordId(text: string): boolean {
  return recordIdPattern.test(text);
}

/** What a record id names, according to its prefix; null when the text is not a record id. */
export function recordType(recordId: string): RecordKind | null {
  const match = recordIdPattern.exec(recordId);
  return match ? (kindByPrefix.get(`${match[1]}_`) ?? null) : null;
}

const base32 = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * Builds the record id from the first 130 bits of a keyed hash, in base32 (RFC 4648 §6, lower case). Throws RangeError for a
 * hash of fewer than 17 bytes.
 */
export function recordIdOf(kind: RecordKind, mac: Uint8Array): string {
  if (mac.length < 17) throw new RangeError(`A record id takes 130 bits of a hash of ${mac.length} bytes.`);
  let text: string = prefixes[kind];
  for (let bit = 0; bit < 130; bit += 5) {
    const byte = bit >> 3;
    const pair = ((mac[byte] ?? 0) << 8) | (mac[byte + 1] ?? 0);
    text += base32[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}

/** Number of bytes of {@link recordIdBytes}. */
export const recordIdLength = 17;

/** The 130 bits of which {@link recordIdOf} makes this record id, before six that are zero. */
export function recordIdBytes(recordId: string): Uint8Array {
  const bytes = new Uint8Array(recordIdLength);
  const start = recordId.length - 26;
  for (let at = 0; at < 26; at += 1) {
    const bit = at * 5;
    const value = base32.indexOf(recordId.charAt(start + at)) << (11 - (bit & 7));
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (value >> 8);
    if (value & 255) bytes[(bit >> 3) + 1] = (bytes[(bit >> 3) + 1] ?? 0) | (value & 255);
  }
  return bytes;
}

/**
 * `bat_` and 24 lower-case hex digits, derived from the business and the exact batch-seal payload, so that resending the
 * batch names the same push.
 */
export function pushIdOf(
  businessUuid: string,
  batchSealPayload: Uint8Array,
  sha256: Sha256 = portableSha256,
): string {
  const bytes = concatBytes(utf8(`${businessUuid}\n`), batchSealPayload);
  return `bat_${toHex(sha256(bytes).subarray(0, 12))}`;
}

/** True for `bat_` and 24 lower-case hex digits. */
export function isPushId(text: string): boolean {
  return /^bat_[0-9a-f]{24}$/.test(text);
}

/** True for `bup_` and 24 lower-case hex digits. */
export function isUploadId(text: string): boolean {
  return /^bup_[0-9a-f]{24}$/.test(text);
}

/** True for a lower-case UUID version 4 (RFC 9562 §5.4). */
export function isUuidV4(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);
}

/** True for `sha256:` and 64 lower-case hex digits. */
export function isHash(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

/** True for an RFC 7638 SHA-256 thumbprint: 43 base64url characters. */
export function isKeyId(text: string): boolean {
  return /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(text);
}

/** True for a text in ISO 3166-1 alpha-2 form. */
export function isCountry(text: string): boolean {
  return /^[A-Z]{2}$/.test(text);
}

/** True for an amount of money: at most 15 digits before and 6 after the point, no sign, no leading zero. */
export function isDecimal(text: string): boolean {
  return /^(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?$/.test(text);
}

const timestampPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Unix milliseconds of `YYYY-MM-DDTHH:MM:SS.sssZ`; null for any other text or an instant that does not exist. */
export function parseTimestamp(text: string): number | null {
  if (!timestampPattern.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || new Date(ms).toISOString() !== text ? null : ms;
}

/** Whether a text is a timestamp that {@link parseTimestamp} can read. */
export function isTimestamp(text: string): boolean {
  return parseTimestamp(text) !== null;
}

const dateTimePattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Unix milliseconds of a date-time (RFC 3339 §5.6) with any offset and fraction; null for any other text, or for an instant
 * that {@link formatTimestamp} cannot write.
 */
export function parseDateTime(text: string): number | null {
  const day = dateTimePattern.exec(text)?.[1];
  // Date.parse would read 30 February as 2 March.
  if (day === undefined || parseTimestamp(`${day}T00:00:00.000Z`) === null) return null;
  const ms = Date.parse(text);
  return ms >= yearZeroMs && ms < yearTenThousandMs ? ms : null;
}

const yearZeroMs = -62_167_219_200_000;
const yearTenThousandMs = 253_402_300_800_000;

/** Cache of the last result: the same instant is often formatted many times in a row. */
let formatted = { ms: 0, text: "1970-01-01T00:00:00.000Z" };

/** ISO 8601 UTC with milliseconds and `Z`. Throws RangeError outside the years 0 to 9999. */
export function formatTimestamp(ms: number): string {
  if (ms === formatted.ms) return formatted.text;
  const text = new Date(ms).toISOString();
  if (text.length !== 24) throw new RangeError(`${text} is not in the years 0 to 9999.`);
  formatted = { ms, text };
  return text;
}
