// The records of a push, in order, wherever their bytes are: in memory, or in a file that is read piece by piece.

import { parseBase64, toBase64, utf8 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { leafHash } from "../protocol/merkle.ts";
import type { Result } from "../protocol/result.ts";
import { isObject } from "../std/json-pointer.ts";

export interface RecordSet {
  /** The RFC 6962 leaf hash of every record. */
  readonly leaves: readonly Uint8Array[];
  /** The length in bytes of every record. */
  readonly lengths: readonly number[];
  /** The exact bytes of some of the records. */
  read(first: number, count: number): Promise<readonly Uint8Array[]>;
  /** The same records as a bulk file: for each a line with the base64 of its bytes. */
  bulkFile(first: number, count: number): Promise<Blob>;
}

/** Records that are in memory, by their exact bytes. */
export function recordSet(records: readonly Uint8Array[]): RecordSet {
  const part = (first: number, count: number): readonly Uint8Array[] => records.slice(first, first + count);
  return {
    leaves: records.map((record) => leafHash(record)),
    lengths: records.map((record) => record.length),
    read: async (first, count) => part(first, count),
    bulkFile: async (first, count) => new Blob(part(first, count).map(bulkLine)),
  };
}

/** Some of the records, by their indexes from 0 in ascending order. */
export function selectRecords(records: RecordSet, indexes: readonly number[]): RecordSet {
  const pick = <T>(all: readonly T[]): readonly T[] =>
    indexes.flatMap((index) => all.slice(index, index + 1));
  const runs = (first: number, count: number) => runsOf(indexes.slice(first, first + count));
  return {
    leaves: pick(records.leaves),
    lengths: pick(records.lengths),
    read: async (first, count) => {
      const read: Uint8Array[] = [];
      for (const run of runs(first, count)) read.push(...(await records.read(run.first, run.count)));
      return read;
    },
    bulkFile: async (first, count) => {
      const parts: Blob[] = [];
      for (const run of runs(first, count)) parts.push(await records.bulkFile(run.first, run.count));
      return new Blob(parts);
    },
  };
}

/** Ascending indexes as ranges without gaps. */
export function runsOf(
  indexes: readonly number[],
): readonly { readonly first: number; readonly count: number }[] {
  const runs: { first: number; count: number }[] = [];
  for (const index of indexes) {
    const open = runs.at(-1);
    if (open !== undefined && open.first + open.count === index) open.count += 1;
    else runs.push({ first: index, count: 1 });
  }
  return runs;
}

/** The bytes of a line of a bulk file, without its end; null if it is not one. */
export function recordOfLine(line: string): Uint8Array | null {
  return parseBase64(line);
}

/** The leaf hash of a record (RFC 6962 §2.1). */
export function leafOf(record: Uint8Array): Uint8Array {
  return leafHash(record);
}

/** A record's line in a bulk file. */
export function bulkLine(record: Uint8Array): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${toBase64(record)}\n`);
}

// The exact bytes of a record written by a program: its RFC 8785 form, so that the same content always has the same bytes
// and a rerun push seals and sends identical ones.

export type { JsonValue } from "../protocol/json/canonical-json.ts";

/**
 * The canonical bytes of a record (RFC 8785), which are what is sealed. Throws for values that are not JSON (§3.1: a lone
 * surrogate, a non-finite number).
 */
export function recordBytes(record: JsonValue): Uint8Array {
  return canonicalBytes(record);
}

/** Parses strict JSON (RFC 8259): refuses duplicate members and lone surrogates, which JSON.parse would let through. */
export function parseJsonText(text: string): Result<JsonValue> {
  return parseStrictJson(utf8(text));
}

/** The business's own id of a product; null where it has none that is a text. */
export function ownIdOf(record: unknown): string | null {
  const id = isObject(record) ? record["business_product_id"] : null;
  return typeof id === "string" ? id : null;
}
