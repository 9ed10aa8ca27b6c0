// What a text query needs to know about a collection, in memory: where each term of recent queries occurs, how long each
// row's texts are, and where rows are published. FTS5 holds the texts; querying it would read all occurrences of all terms
// again for each query, whereas here two common terms are two bitmaps.
//   P1. Terms are loaded from the tables when first needed, up to a number of postings (`postingsMax`); the least recently
//       used are evicted first. SQLite packs what is loaded into a few texts: one line each would cost as much as ten
//       numbers in such a text.
//   P2. Changes are noted after their commit and in commit order, which may be later than a load in between sees them. A
//       note gives the state of its row from then on, whatever was known about it: once all are noted, memory agrees with
//       the tables. Until then memory may be behind or, in part, ahead.
//   P3. It only proposes rows. Every search checks them against the tables.
//   P4. A row that is loaded with a term but is not known yet, because its first note is still to come, is left out until
//       then: without its length and its position among the ids it could not be ranked.

import type { StatementSync } from "node:sqlite";
import { numberOf, numbersIn, textOf } from "./columns.ts";
import type { Reads } from "./database.ts";
import type { CollectionLayout } from "./row-layout.ts";

/**
 * Maximum postings cached for one collection; each takes four bytes and one byte per text field. A word of a bitmap counts
 * as one posting. All terms that most rows contain must fit, or each of them would be reloaded for every search.
 */
const postingsMin = 4_000_000;
const postingsOfRow = 16;
/** Rows read at a time when the index is loaded. */
const pageRows = 65_536;
/** A posting is packed as the row number times this, plus its text field. */
const fieldsMax = 16;
/** Factor by which a list grows when it needs more room. */
const growthFactor = 1.25;
/** Cost of a term in addition to its postings, so that absent terms are bounded too. */
const termCost = 16;
const frequencyMax = 255;
const lengthMax = 0xffff;

/** Rows in which a term occurs, in the order of their numbers. */
export interface TermList {
  readonly rids: Int32Array;
  readonly fields: number;
  /**
   * Occurrences by posting and text field: `frequencies[posting * fields + field]`; all zero for a row that no longer has
   * the term.
   */
  readonly frequencies: Uint8Array;
  readonly length: number;
}

/** A committed change to what is in memory about a row; null for a row that does not exist. */
export interface RowNote {
  readonly collection: string;
  readonly rid: number;
  readonly record_id: string;
  readonly before: RememberedRow | null;
  readonly after: RememberedRow | null;
}

export interface RememberedRow {
  readonly texts: readonly (string | null)[];
  readonly countries: readonly string[];
}

interface GrowingList {
  readonly fields: number;
  rids: Int32Array<ArrayBuffer>;
  frequencies: Uint8Array<ArrayBuffer>;
  length: number;
  /** Rows that have the term in at least one of some text fields, by the mask of those fields. */
  readonly bits: Map<number, Bits>;
  /** Counted in postings. */
  cost: number;
}

export class CollectionTerms {
  readonly #postingsMin: number;
  readonly #fields: number;
  readonly #readTerm: StatementSync;
  readonly #readCountry: StatementSync;
  readonly #lists = new Map<string, GrowingList>();
  readonly #countries = new Map<string, Bits>();
  #postings = 0;
  /** Text lengths by row number and text field. */
  #lengths: Uint16Array<ArrayBuffer>;
  /** By row number: sorts rows in the order of their record ids, as far as a number can; 0 for an unknown row. */
  #idKeys: Float64Array<ArrayBuffer>;

  constructor(database: Reads, layout: CollectionLayout, least = postingsMin) {
    this.#postingsMin = least;
    const { row, text, listing, vocabulary, textFields } = layout;
    this.#fields = textFields.length;
    this.#readTerm = database.db.prepare(
      `SELECT json_group_array(doc * ${fieldsMax} + substr(col, 2)) AS packed FROM ${vocabulary} WHERE term = ?`,
    );
    this.#readCountry = database.db.prepare(
      `SELECT json_group_array(rid) AS rids FROM ${listing} WHERE country = ?`,
    );
    const last = numberOf(database.prepare(`SELECT ifnull(max(rid), 0) AS n FROM ${row}`).get()?.["n"]);
    this.#lengths = new Uint16Array((last + 1) * this.#fields);
    this.#idKeys = new Float64Array(last + 1);
    this.#loadIds(database, row, last);
    this.#loadLengths(database, text, last);
  }

  #loadIds(database: Reads, row: string, last: number): void {
    const read = database.db.prepare(
      `SELECT json_group_array(rid) AS rids, group_concat(${idKeyText}, '') AS ids FROM ${row} WHERE rid > ? AND rid <= ?`,
    );
    for (let from = 0; from < last; from += pageRows) {
      const page = read.get(from, from + pageRows);
      const ids = textOf(page?.["ids"] ?? "");
      for (const [at, rid] of numbersIn(page?.["rids"]).entries())
        this.#idKeys[rid] = idKeyAt(ids, at * idKeyLength);
    }
  }

  /**
   * FTS5 stores how many tokens each row has in each column, as varints (sqlite.org/fts5.html, «The Tables for storing
   * Column Sizes»).
   */
  #loadLengths(database: Reads, text: string, last: number): void {
    const read = database.db.prepare(
      `SELECT json_group_array(id) AS rids, group_concat(hex(sz), ' ') AS sizes FROM ${text}_docsize WHERE id > ? AND id <= ?`,
    );
    for (let from = 0; from < last; from += pageRows) {
      const page = read.get(from, from + pageRows);
      const sizes = Buffer.from(textOf(page?.["sizes"] ?? ""), "latin1");
      let at = 0;
      for (const rid of numbersIn(page?.["rids"])) {
        for (let field = 0; field < this.#fields; field += 1) {
          let length = 0;
          let byte: number;
          do {
            byte = (hexDigit(sizes[at]) << 4) | hexDigit(sizes[at + 1]);
            length = length * 128 + (byte & 127);
            at += 2;
          } while (byte > 127);
          this.#lengths[rid * this.#fields + field] = Math.min(length, lengthMax);
        }
        at += 1;
      }
    }
  }

  lengthOf(rid: number, field: number): number {
    return this.#lengths[rid * this.#fields + field] ?? 0;
  }

  idKey(rid: number): number {
    return this.#idKeys[rid] ?? 0;
  }

  /** See P4. */
  #isKnown(rid: number): boolean {
    return this.idKey(rid) > 0;
  }

  published(country: string): Bits {
    const known = this.#countries.get(country);
    if (known !== undefined) return known;
    let bits: Bits = new Uint32Array(this.#idKeys.length >>> 5);
    for (const rid of numbersIn(this.#readCountry.get(country)?.["rids"]))
      if (this.#isKnown(rid)) bits = withBit(bits, rid, true);
    this.#countries.set(country, bits);
    return bits;
  }

  /** Rows that have the term in one of the text fields. */
  rowsWithTerm(term: string, fields: readonly number[]): Bits {
    const list = this.#listOf(term);
    const mask = fields.reduce((sum, field) => sum | (1 << field), 0);
    const known = list.bits.get(mask);
    if (known !== undefined) return known;
    const last = list.rids[list.length - 1] ?? 0;
    let bits: Bits = new Uint32Array((last >>> 5) + 1);
    for (let posting = 0; posting < list.length; posting += 1) {
      const isIn = fields.some((field) => (list.frequencies[posting * this.#fields + field] ?? 0) > 0);
      if (isIn) bits = withBit(bits, list.rids[posting] ?? 0, true);
    }
    list.bits.set(mask, bits);
    list.cost += bits.length;
    this.#postings += bits.length;
    this.#forgetOldest(term);
    return bits;
  }

  list(term: string): TermList {
    return this.#listOf(term);
  }

  #listOf(term: string): GrowingList {
    const known = this.#lists.get(term);
    if (known !== undefined) {
      this.#lists.delete(term);
      this.#lists.set(term, known);
      return known;
    }
    const loaded = this.#load(term);
    this.#lists.set(term, loaded);
    this.#postings += loaded.cost;
    this.#forgetOldest(term);
    return loaded;
  }

  #forgetOldest(kept: string): void {
    const postingsMax = Math.max(this.#postingsMin, postingsOfRow * this.#idKeys.length);
    for (const [oldest, list] of this.#lists) {
      if (this.#postings <= postingsMax || oldest === kept) return;
      this.#forget(oldest, list);
    }
  }

  /** See P2. */
  note({ rid, record_id: recordId, before, after }: RowNote): void {
    const lengths = Array<number>(this.#fields).fill(0);
    // Only for cached terms: most terms are not cached, and a stream of new rows leaves no time to count them.
    const counts = new Map<string, number[]>();
    const countsOf = (term: string): number[] | undefined => {
      if (!this.#lists.has(term)) return undefined;
      const known = counts.get(term);
      if (known !== undefined) return known;
      const none = Array<number>(this.#fields).fill(0);
      counts.set(term, none);
      return none;
    };
    for (const text of before?.texts ?? []) for (const term of termsOf(text)) countsOf(term);
    for (const [field, text] of (after?.texts ?? []).entries()) {
      const terms = termsOf(text);
      lengths[field] = terms.length;
      for (const term of terms) {
        const known = countsOf(term);
        if (known !== undefined) known[field] = (known[field] ?? 0) + 1;
      }
    }
    this.#setRow(rid, recordId, lengths);
    for (const [term, ofFields] of counts) this.#setPosting(term, rid, ofFields);
    for (const country of before?.countries ?? []) this.#setCountry(country, rid, false);
    for (const country of after?.countries ?? []) this.#setCountry(country, rid, true);
  }

  #setCountry(country: string, rid: number, isPublished: boolean): void {
    const bits = this.#countries.get(country);
    if (bits !== undefined) this.#countries.set(country, withBit(bits, rid, isPublished));
  }

  #setRow(rid: number, recordId: string, lengths: readonly number[]): void {
    if (rid >= this.#idKeys.length) {
      const capacity = Math.max(rid + 1, this.#idKeys.length * 2, 1024);
      this.#idKeys = grown(new Float64Array(capacity), this.#idKeys);
      this.#lengths = grown(new Uint16Array(capacity * this.#fields), this.#lengths);
    }
    this.#idKeys[rid] = idKeyAt(recordId, recordId.indexOf("_") + 1);
    for (const [field, length] of lengths.entries()) {
      this.#lengths[rid * this.#fields + field] = Math.min(length, lengthMax);
    }
  }

  #setPosting(term: string, rid: number, counts: readonly number[]): void {
    const list = this.#lists.get(term);
    if (list === undefined) return;
    let at = lowerBound(list.rids, 0, list.length, rid);
    if (at === list.length) {
      if (counts.every((count) => count === 0)) return;
      this.#append(list, rid);
      list.cost += 1;
      this.#postings += 1;
    } else if (list.rids[at] !== rid) {
      // A new posting in the middle of the list: the term is reloaded when it is next requested.
      if (counts.some((count) => count > 0)) this.#forget(term, list);
      return;
    }
    at *= this.#fields;
    for (const [field, count] of counts.entries()) {
      list.frequencies[at + field] = Math.min(count, frequencyMax);
    }
    for (const [mask, bits] of list.bits) {
      const isIn = counts.some((count, field) => count > 0 && (mask & (1 << field)) !== 0);
      list.bits.set(mask, withBit(bits, rid, isIn));
    }
  }

  #append(list: GrowingList, rid: number): void {
    if (list.length === list.rids.length) {
      const capacity = Math.max(16, Math.ceil(list.length * growthFactor));
      list.rids = grown(new Int32Array(capacity), list.rids);
      list.frequencies = grown(new Uint8Array(capacity * this.#fields), list.frequencies);
    }
    list.rids[list.length] = rid;
    list.length += 1;
  }

  #forget(term: string, list: GrowingList): void {
    this.#lists.delete(term);
    this.#postings -= list.cost;
  }

  #load(term: string): GrowingList {
    // One number per occurrence, in the order of the row numbers.
    const packed = numbersIn(this.#readTerm.get(term)?.["packed"]);
    const list: GrowingList = {
      fields: this.#fields,
      rids: new Int32Array(rowsIn(packed)),
      frequencies: new Uint8Array(0),
      length: 0,
      bits: new Map(),
      cost: termCost,
    };
    list.frequencies = new Uint8Array(list.rids.length * this.#fields);
    for (const posting of packed) {
      const rid = Math.floor(posting / fieldsMax);
      if (!this.#isKnown(rid)) continue;
      if (list.length === 0 || list.rids[list.length - 1] !== rid) this.#append(list, rid);
      const at = (list.length - 1) * this.#fields + (posting % fieldsMax);
      const old = list.frequencies[at] ?? 0;
      list.frequencies[at] = Math.min(old + 1, frequencyMax);
    }
    list.cost += list.length;
    return list;
  }
}

/** Number of rows that packed postings belong to. */
function rowsIn(packed: readonly number[]): number {
  let rows = 0;
  let last = -1;
  for (const posting of packed) {
    const rid = Math.floor(posting / fieldsMax);
    if (rid !== last) rows += 1;
    last = rid;
  }
  return rows;
}

/** The value of a hexadecimal digit, given by its ASCII code, as SQLite's `hex` writes it. */
function hexDigit(code: number | undefined): number {
  return code === undefined ? 0 : code <= 57 ? code - 48 : code - 55;
}

/** First place in `[from, to)` of ascending numbers whose value is not below `wanted`. */
export function lowerBound(numbers: Int32Array, from: number, to: number, wanted: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Number of record id characters after the prefix that the id's key represents: as many as a double can hold. */
const idKeyLength = 8;

/** SQL for that part of `record_id`, padded with spaces. */
const idKeyText = `substr(substr(record_id, instr(record_id, '_') + 1) || '${" ".repeat(idKeyLength)}', 1, ${idKeyLength})`;

/**
 * The key of the characters from `from` on: it orders ids of one prefix as text does; ids that share these characters have
 * the same key. Always above 0.
 */
function idKeyAt(text: string, from: number): number {
  let key = 0;
  for (let index = from; index < from + idKeyLength; index += 1) {
    const code = text.charCodeAt(index) - 49;
    key = key * 74 + (code >= 0 && code < 74 ? code : 0);
  }
  return key + 1;
}

function termsOf(text: string | null | undefined): readonly string[] {
  return text === null || text === undefined ? [] : text.split(" ").filter((term) => term !== "");
}

function grown<
  T extends
    | Int32Array<ArrayBuffer>
    | Uint8Array<ArrayBuffer>
    | Uint16Array<ArrayBuffer>
    | Float64Array<ArrayBuffer>,
>(into: T, from: T): T {
  into.set(from);
  return into;
}

// Sets of row numbers as bitmaps: number n is bit n % 32 of word floor(n / 32). Missing words are zero.

export type Bits = Uint32Array<ArrayBuffer>;

export function hasBit(bits: Bits, number: number): boolean {
  return (((bits[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1;
}

/** The set with or without a number; a different array if it had to grow. */
export function withBit(bits: Bits, number: number, isIn: boolean): Bits {
  const word = number >>> 5;
  let changed = bits;
  if (word >= bits.length) {
    if (!isIn) return bits;
    changed = new Uint32Array(Math.max(word + 1, bits.length * 2, 32));
    changed.set(bits);
  }
  const mask = 1 << (number & 31);
  changed[word] = isIn ? (changed[word] ?? 0) | mask : (changed[word] ?? 0) & ~mask;
  return changed;
}

/** Numbers that are in every one of the sets, of which there is at least one. */
export function intersect(sets: readonly Bits[]): Bits {
  const words = Math.min(...sets.map((bits) => bits.length));
  const [first, ...others] = sets;
  const common = new Uint32Array(words);
  if (first === undefined) return common;
  common.set(first.subarray(0, words));
  for (const bits of others)
    for (let word = 0; word < words; word += 1) common[word] = (common[word] ?? 0) & (bits[word] ?? 0);
  return common;
}

/** Numbers that are in one of two sets or in both. */
export function unite(a: Bits, b: Bits): Bits {
  const [longer, shorter] = a.length < b.length ? [b, a] : [a, b];
  const all = longer.slice();
  for (let word = 0; word < shorter.length; word += 1) all[word] = (all[word] ?? 0) | (shorter[word] ?? 0);
  return all;
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word += 1) {
    // The sums of two, four and eight neighbouring bits at once, and of all four of these by one multiplication.
    let sums = bits[word] ?? 0;
    sums -= (sums >>> 1) & 0x55555555;
    sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333);
    count += Math.imul((sums + (sums >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}

/** The numbers in ascending order; `count` is how many there are. */
export function numbersOf(bits: Bits, count: number): Int32Array {
  const numbers = new Int32Array(count);
  let length = 0;
  for (let word = 0; word < bits.length; word += 1) {
    for (let rest = bits[word] ?? 0; rest !== 0; rest &= rest - 1) {
      numbers[length] = word * 32 + (31 - Math.clz32(rest & -rest));
      length += 1;
    }
  }
  return numbers;
}
