// What relevance needs to know of the text of a collection, in memory: where each term of recent queries occurs, and how
// long each row's texts are. FTS5 holds the same, but its own ranking reads all occurrences of all terms for each query.
//   P1. Loaded from the tables when first asked for, and kept to {@link postingsMax} postings: least recent terms go first.
//   P2. Changes are noted after their commit, and noting one twice changes nothing: what is loaded in between may
//       already have it.
//   P3. It only proposes rows. Whoever searches checks them against the tables.

import type { SQLOutputValue, StatementSync } from "node:sqlite";
import { numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";
import type { CollectionLayout } from "./row-layout.ts";

/** Postings kept for one collection; each takes four bytes and one a text field. */
const postingsMax = 4_000_000;
/** What a term costs beside its postings, so that absent terms are bounded too. */
const termCost = 16;
const frequencyMax = 255;

/** Rows in which a term occurs, in the order of their numbers. */
export interface TermList {
  readonly rids: Int32Array;
  /** Occurrences by posting and text field: `frequencies[posting * fields + field]`; all zero for a row that lost the term. */
  readonly frequencies: Uint8Array;
  readonly length: number;
  /** Rows with the term, by text field. */
  readonly rows: readonly number[];
}

/** A committed change of a row's analysed texts; null for a text, or all of them, that is not there. */
export interface TextChange {
  readonly collection: string;
  readonly rid: number;
  readonly record_id: string;
  readonly before: readonly (string | null)[] | null;
  readonly after: readonly (string | null)[] | null;
}

interface GrowingList {
  rids: Int32Array<ArrayBuffer>;
  frequencies: Uint8Array<ArrayBuffer>;
  length: number;
  rows: number[];
}

export class CollectionTerms {
  readonly #fields: number;
  readonly #readTerm: StatementSync;
  readonly #lists = new Map<string, GrowingList>();
  #postings = 0;
  /** By row number and text field. */
  #lengths: Uint16Array<ArrayBuffer>;
  /** By row number: orders rows as their record ids do, as far as a number can. */
  #idKeys: Float64Array<ArrayBuffer>;
  readonly #rowsWith: number[];
  readonly #lengthSums: number[];

  constructor(database: SqliteDatabase, layout: CollectionLayout) {
    const { row, words, vocabulary, textFields } = layout;
    this.#fields = textFields.length;
    this.#rowsWith = Array(this.#fields).fill(0);
    this.#lengthSums = Array(this.#fields).fill(0);
    this.#readTerm = database.db.prepare(`SELECT doc, col FROM ${vocabulary} WHERE term = ?`);
    const last = numberOf(database.prepare(`SELECT ifnull(max(rid), 0) AS n FROM ${row}`).get()?.["n"]);
    this.#lengths = new Uint16Array((last + 1) * this.#fields);
    this.#idKeys = new Float64Array(last + 1);
    // Terms stand between spaces: one space more than terms.
    const lengths = textFields.map(
      (_, index) => `ifnull(length(t${index}) - length(replace(t${index}, ' ', '')) - 1, 0)`,
    );
    const rows = database.db.prepare(
      `SELECT rid, record_id, ${lengths.join(", ")} FROM ${row} JOIN ${words} USING (rid)`,
    );
    for (const [rid, recordId, ...counts] of linesOf(rows))
      this.#setRow(numberOf(rid), textOf(recordId), counts.map(numberOf));
  }

  /** Rows that have a text of the field. */
  rowsWith(field: number): number {
    return this.#rowsWith[field] ?? 0;
  }

  /** Terms in all texts of the field. */
  lengthSum(field: number): number {
    return this.#lengthSums[field] ?? 0;
  }

  lengthOf(rid: number, field: number): number {
    return this.#lengths[rid * this.#fields + field] ?? 0;
  }

  idKey(rid: number): number {
    return this.#idKeys[rid] ?? 0;
  }

  list(term: string): TermList {
    const known = this.#lists.get(term);
    if (known !== undefined) {
      this.#lists.delete(term);
      this.#lists.set(term, known);
      return known;
    }
    const loaded = this.#load(term);
    this.#lists.set(term, loaded);
    this.#postings += loaded.length + termCost;
    for (const [oldest, list] of this.#lists) {
      if (this.#postings <= postingsMax || oldest === term) break;
      this.#forget(oldest, list);
    }
    return loaded;
  }

  /** P2. */
  note(change: TextChange): void {
    const { rid, after } = change;
    this.#setRow(
      rid,
      change.record_id,
      Array.from({ length: this.#fields }, (_, field) => termsOf(after?.[field]).length),
    );
    for (const term of new Set((change.before ?? []).flatMap(termsOf))) {
      this.#setPosting(term, rid, Array(this.#fields).fill(0));
    }
    for (const [term, counts] of countTerms(after ?? [], this.#fields)) this.#setPosting(term, rid, counts);
  }

  #setRow(rid: number, recordId: string, lengths: readonly number[]): void {
    if (rid >= this.#idKeys.length) {
      const capacity = Math.max(rid + 1, this.#idKeys.length * 2, 1024);
      this.#idKeys = grown(new Float64Array(capacity), this.#idKeys);
      this.#lengths = grown(new Uint16Array(capacity * this.#fields), this.#lengths);
    }
    this.#idKeys[rid] = idKeyOf(recordId);
    for (const [field, length] of lengths.entries()) {
      const at = rid * this.#fields + field;
      const old = this.#lengths[at] ?? 0;
      const now = Math.min(length, 0xffff);
      this.#lengths[at] = now;
      this.#lengthSums[field] = (this.#lengthSums[field] ?? 0) + now - old;
      this.#rowsWith[field] = (this.#rowsWith[field] ?? 0) + Number(now > 0) - Number(old > 0);
    }
  }

  #setPosting(term: string, rid: number, counts: readonly number[]): void {
    const list = this.#lists.get(term);
    if (list === undefined) return;
    let at = lowerBound(list.rids, 0, list.length, rid);
    if (at === list.length) {
      if (counts.every((count) => count === 0)) return;
      this.#append(list, rid);
    } else if (list.rids[at] !== rid) {
      // A new posting in the middle: read the term again when it is next asked for.
      if (counts.some((count) => count > 0)) this.#forget(term, list);
      return;
    }
    at *= this.#fields;
    for (const [field, count] of counts.entries()) {
      const old = list.frequencies[at + field] ?? 0;
      list.frequencies[at + field] = Math.min(count, frequencyMax);
      list.rows[field] = (list.rows[field] ?? 0) + Number(count > 0) - Number(old > 0);
    }
  }

  #append(list: GrowingList, rid: number): void {
    if (list.length === list.rids.length) {
      const capacity = Math.max(16, list.length * 2);
      list.rids = grown(new Int32Array(capacity), list.rids);
      list.frequencies = grown(new Uint8Array(capacity * this.#fields), list.frequencies);
    }
    list.rids[list.length] = rid;
    list.length += 1;
    this.#postings += 1;
  }

  #forget(term: string, list: GrowingList): void {
    this.#lists.delete(term);
    this.#postings -= list.length + termCost;
  }

  #load(term: string): GrowingList {
    const list: GrowingList = {
      rids: new Int32Array(16),
      frequencies: new Uint8Array(16 * this.#fields),
      length: 0,
      rows: Array(this.#fields).fill(0),
    };
    const before = this.#postings;
    // One line an occurrence, in the order of the row numbers.
    for (const [doc, column] of linesOf(this.#readTerm, term)) {
      const rid = numberOf(doc);
      const field = fieldOfColumn(textOf(column));
      if (list.length === 0 || list.rids[list.length - 1] !== rid) this.#append(list, rid);
      const at = (list.length - 1) * this.#fields + field;
      const old = list.frequencies[at] ?? 0;
      if (old === 0) list.rows[field] = (list.rows[field] ?? 0) + 1;
      list.frequencies[at] = Math.min(old + 1, frequencyMax);
    }
    this.#postings = before;
    return list;
  }
}

/** The rows of a statement as arrays: half the time of objects, and there are many. */
function linesOf(
  statement: StatementSync,
  ...params: readonly string[]
): Iterable<readonly SQLOutputValue[]> {
  statement.setReturnArrays(true);
  return statement.iterate(...params) as unknown as Iterable<readonly SQLOutputValue[]>;
}

/** Columns of the text table are `t0`, `t1` … */
function fieldOfColumn(column: string): number {
  return column.charCodeAt(1) - 48;
}

/** First place in `[from, to)` of ascending numbers that is not below `wanted`. */
export function lowerBound(numbers: Int32Array, from: number, to: number, wanted: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Characters of a record id after its prefix that its key stands for: what a double can hold. */
const idKeyLength = 8;

/** Orders ids of one prefix as text does; ids that begin alike have the same key. */
function idKeyOf(recordId: string): number {
  const from = recordId.indexOf("_") + 1;
  let key = 0;
  for (let index = from; index < from + idKeyLength; index += 1) {
    const code = recordId.charCodeAt(index) - 49;
    key = key * 74 + (code >= 0 && code < 74 ? code : 0);
  }
  return key;
}

function termsOf(text: string | null | undefined): readonly string[] {
  return text === null || text === undefined ? [] : text.split(" ").filter((term) => term !== "");
}

function countTerms(
  texts: readonly (string | null)[],
  fields: number,
): ReadonlyMap<string, readonly number[]> {
  const counts = new Map<string, number[]>();
  for (const [field, text] of texts.entries()) {
    for (const term of termsOf(text)) {
      const known = counts.get(term) ?? Array<number>(fields).fill(0);
      known[field] = (known[field] ?? 0) + 1;
      counts.set(term, known);
    }
  }
  return counts;
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
