// Names that an actor gives away once, each until an instant: a registered key's nonces. All of them that still count are in memory, so that
// a decision reads no row, and a commit writes those that it claims as one row.
//   N1. A name that was claimed is never missed. Two names count as the same one if the first 16 bytes of their SHA-256 are the same: equal
//       names always are. That two others are takes some 2^64 names, and only names that their maker chose are refused then.
//   N2. In memory is what commits have made true: the rows at the first need after the actor was claimed, and then each applied commit. What
//       a turn claims is seen by the decisions after it in that turn, and by nothing else before its commit.
//   N3. A claim is kept `keptMs` longer than it counts, in memory and in the store, and so is found by a node whose clock is behind.
//   N4. Rows are replaced, not piled up. Time is cut into windows, and the row of a commit belongs to the one in which its last claim ends.
//       Windows take turns on `tableCount` tables, in each of which they number their rows from 0, so a row overwrites one of the window that
//       had the table before. That one ended long ago: no claim lasts longer than `lifeMaxMs`. So an actor's rows are as many as it
//       commits within one round, where a store that keeps what it deletes for a day would have those of the day.
//   N5. Rows of a window expire together, and a load ends at the first row of an earlier window: it reads what counts, whatever was there.
//   N6. Where a mark is in memory follows from a secret of the activation as well. Who chooses names knows their marks, and could
//       otherwise have all of them in one place, where each claim would look at every other one.
//   N7. A load names the rows that it reads, which are numbered without gaps: where a store keeps what expired for a day, a page with an
//       open end would pass over all of a window that ended.

import { parseBase64Url, sha256, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { noteWork } from "../../std/work.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";

/** How the actors of a kind claim names. */
export interface NameClaims {
  /** The first of the tables of its rows, which are {@link tableCount}. */
  readonly rt: number;
  /** The commands whose decisions look at claims and make them. */
  readonly commands: readonly string[];
  /** How long a name is claimed at most, from the time of the decision. */
  readonly lifeMaxMs: number;
  /** How much longer a claim is kept: more than clocks differ (N3). */
  readonly keptMs: number;
}

/** Claims a name until an instant, in Unix milliseconds, at which it is free again. */
export interface NameClaim {
  readonly name: string;
  readonly untilMs: number;
}

/** The claim of a turn, by what is kept of its name (N1). */
export interface MarkedClaim {
  readonly mark: Mark;
  readonly untilMs: number;
}

/** The first 16 bytes of the SHA-256 of a name, as numbers, four bytes each. */
type Mark = Uint32Array<ArrayBuffer>;

/** Number of tables that the windows of an actor take turns on (N4). */
export const tableCount = 4;
const markBytes = 16;
/** Rows in one read of a load. A row has the claims of a commit, which are at most as many as the commands of a turn. */
const rowsPerRead = 100;
/** Digits of a row's number, in base 36: 60 million commits in one window. */
const numberDigits = 5;

/** The text of a row: its window, then each end with the marks that end then, joined, in base64url. */
type Written = readonly [window: number, ...ends: readonly (readonly [untilMs: number, marks: string])[]];

export class ClaimedNames {
  readonly #claims: NameClaims;
  readonly #windowMs: number;
  readonly #secret: Mark;
  readonly #windows = new Map<number, Window>();
  /** A decision looks a name up and then claims it. */
  #last: { readonly name: string; readonly mark: Mark } | null = null;

  /** `secret` is a text that nobody who chooses names can guess (N6). */
  constructor(claims: NameClaims, secret: string) {
    this.#claims = claims;
    this.#windowMs = windowMsOf(claims);
    this.#secret = markOf(secret);
  }

  /** Whether the decision on a command may look at claims. */
  static needs(claims: NameClaims | undefined, type: string): boolean {
    return claims?.commands.includes(type) === true;
  }

  markOf(name: string): Mark {
    if (this.#last?.name !== name) this.#last = { name, mark: markOf(name) };
    return this.#last.mark;
  }

  /** When the claim of a name ends or ended, the latest of several; undefined if none is known. */
  until(mark: Mark): number | undefined {
    let latest: number | undefined;
    for (const window of this.#windows.values()) {
      const untilMs = window.marks.get(mark);
      if (untilMs !== undefined && (latest === undefined || untilMs > latest)) latest = untilMs;
    }
    return latest;
  }

  /** The row that makes the claims of a commit durable. Throws for a claim that lasts too long, which is a bug of the kind (N4). */
  row(claims: readonly MarkedClaim[], nowMs: number): PartitionRow {
    const { rt, lifeMaxMs, keptMs } = this.#claims;
    const byEnd = new Map<number, Mark[]>();
    for (const { mark, untilMs } of claims) {
      if (untilMs > nowMs + lifeMaxMs) throw new Error(`a name was claimed for ${untilMs - nowMs} ms`);
      const known = byEnd.get(untilMs);
      if (known === undefined) byEnd.set(untilMs, [mark]);
      else known.push(mark);
    }
    const window = this.#windowOf(claims);
    const number = this.#windows.get(window)?.rows ?? 0;
    const written: Written = [
      window,
      ...[...byEnd].map(([untilMs, marks]) => [untilMs, join(marks)] as const),
    ];
    return {
      rt: rt + (window % tableCount),
      k: 0,
      k2: nameOf(number),
      body: JSON.stringify(written),
      expiresAtMs: this.#endOf(window) + keptMs,
    };
  }

  /** Takes in the claims of a commit that was applied with their row (N2). */
  add(claims: readonly MarkedClaim[], nowMs: number): void {
    this.#forget(nowMs);
    const window = this.#open(this.#windowOf(claims));
    for (const { mark, untilMs } of claims) window.marks.setAll(mark, untilMs);
    window.rows += 1;
  }

  /** The reads that a load begins with. */
  firstPages(): readonly RowSelection[] {
    return Array.from({ length: tableCount }, (_, table) => pageFrom(this.#claims.rt + table, 0));
  }

  /** Takes in the rows that were read, and returns the reads that follow them; none once everything that counts is in memory (N5). */
  load(
    pages: readonly RowSelection[],
    rows: readonly PartitionRow[],
    nowMs: number,
  ): readonly RowSelection[] {
    const next: RowSelection[] = [];
    for (const { rt } of pages) {
      const page = rows.filter((row) => row.rt === rt);
      const last = page.at(-1);
      const isLoaded = page.every((row) => this.#loadRow(row, nowMs));
      if (!isLoaded || last === undefined || page.length < rowsPerRead) continue;
      next.push(pageFrom(rt, Number.parseInt(last.k2, 36) + 1));
    }
    return next;
  }

  /** Returns whether the row is of a window that still counts. */
  #loadRow(row: PartitionRow, nowMs: number): boolean {
    const [number, ...ends] = JSON.parse(row.body) as Written;
    if (this.#isOver(number, nowMs)) return false;
    const window = this.#open(number);
    for (const [untilMs, text] of ends) {
      const marks = parseBase64Url(text);
      if (marks === null) throw new Error(`the claims of row ${row.rt}/${row.k2} cannot be read`);
      window.marks.setAll(wordsOf(marks), untilMs);
    }
    window.rows = Math.max(window.rows, Number.parseInt(row.k2, 36) + 1);
    return true;
  }

  #open(number: number): Window {
    const known = this.#windows.get(number);
    if (known !== undefined) return known;
    const window = { marks: new MarkTimes(this.#endOf(number), this.#secret), rows: 0 };
    this.#windows.set(number, window);
    return window;
  }

  #forget(nowMs: number): void {
    for (const number of this.#windows.keys()) if (this.#isOver(number, nowMs)) this.#windows.delete(number);
  }

  #windowOf(claims: readonly MarkedClaim[]): number {
    return Math.floor(claims.reduce((last, { untilMs }) => Math.max(last, untilMs), 0) / this.#windowMs);
  }

  #endOf(window: number): number {
    return (window + 1) * this.#windowMs;
  }

  #isOver(window: number, nowMs: number): boolean {
    return this.#endOf(window) + this.#claims.keptMs <= nowMs;
  }
}

interface Window {
  readonly marks: MarkTimes;
  /** Number of its rows, and of the next one. */
  rows: number;
}

/** Long enough for N4, by whichever of two clocks that differ by less than `keptMs`. */
function windowMsOf({ lifeMaxMs, keptMs }: NameClaims): number {
  return Math.ceil((lifeMaxMs + 2 * keptMs) / (tableCount - 1));
}

/** Names its rows: a page without an end would pass over all rows of a window that ended, where a store keeps what expired (N7). */
function pageFrom(rt: number, first: number): RowSelection {
  return { rt, keys: Array.from({ length: rowsPerRead }, (_, at) => nameOf(first + at)) };
}

function nameOf(row: number): string {
  return row.toString(36).padStart(numberDigits, "0");
}

function markOf(text: string): Mark {
  return wordsOf(sha256(utf8(text)).subarray(0, markBytes));
}

function join(marks: readonly Mark[]): string {
  const bytes = new Uint8Array(marks.length * markBytes);
  for (const [index, mark] of marks.entries()) bytes.set(new Uint8Array(mark.buffer), index * markBytes);
  return toBase64Url(bytes);
}

/** Copied, so that the numbers begin where the platform wants them to. */
function wordsOf(bytes: Uint8Array): Mark {
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

const markWords = markBytes / Uint32Array.BYTES_PER_ELEMENT;
const entryWords = markWords + 1;
/** The marks of a window are spread over two to the power of this many parts: each grows by itself, so that none of it takes long. */
const partBits = 6;
/** A part begins with two to the power of this many places. */
const placeBitsFirst = 3;

/**
 * Marks with an instant each, as 20 bytes in arrays of numbers that are at most two thirds full: the 860,000 nonces of a key that sends
 * 2,400 requests a second take some 40 MB, and no collector of garbage walks through them. Instants are kept to the millisecond, up to 49
 * days before `endMs`.
 */
class MarkTimes {
  readonly #endMs: number;
  readonly #secret: Mark;
  readonly #parts: MarkPart[] = [];

  constructor(endMs: number, secret: Mark) {
    this.#endMs = endMs;
    this.#secret = secret;
  }

  get(mark: Mark): number | undefined {
    const before = this.#parts[partOf(spread(mark, 0, this.#secret))]?.get(mark) ?? 0;
    return before === 0 ? undefined : this.#endMs - (before - 1);
  }

  /** Of each mark in `marks`; the later of two instants stays. */
  setAll(marks: Mark, untilMs: number): void {
    const before = this.#endMs - untilMs + 1;
    for (let from = 0; from < marks.length; from += markWords) {
      const number = partOf(spread(marks, from, this.#secret));
      const part = this.#parts[number] ?? new MarkPart(this.#secret);
      this.#parts[number] = part;
      part.set(marks, from, before);
    }
  }
}

/** 32 bits, of which the first ones say where the mark at `from` is: the sum of its numbers, each times an odd one of the secret. */
function spread(marks: Uint32Array, from: number, secret: Mark): number {
  let sum = 0;
  for (let word = 0; word < markWords; word += 1)
    sum += Math.imul(marks[from + word] ?? 0, (secret[word] ?? 0) | 1);
  return sum >>> 0;
}

function partOf(bits: number): number {
  return bits >>> (32 - partBits);
}

class MarkPart {
  /** Each entry: the mark, then how long before the window's end it ends, plus one; zero for none. */
  #words = new Uint32Array(2 ** placeBitsFirst * entryWords);
  #placeBits = placeBitsFirst;
  #size = 0;
  readonly #secret: Mark;

  constructor(secret: Mark) {
    this.#secret = secret;
  }

  get(mark: Mark): number | undefined {
    return this.#words[this.#find(mark, 0) + markWords];
  }

  set(marks: Uint32Array, from: number, before: number): void {
    const at = this.#find(marks, from);
    const words = this.#words;
    const known = words[at + markWords] ?? 0;
    words[at + markWords] = known === 0 ? before : Math.min(known, before);
    if (known !== 0) return;
    for (let word = 0; word < markWords; word += 1) words[at + word] = marks[from + word] ?? 0;
    this.#size += 1;
    if (this.#size * 3 > 2 ** this.#placeBits * 2) this.#grow();
  }

  /** Where the entry of a mark is or belongs: the first place, from the one that follows its part in the bits, that is its own or free. */
  #find(marks: Uint32Array, from: number): number {
    const words = this.#words;
    const places = 2 ** this.#placeBits;
    const first = (spread(marks, from, this.#secret) << partBits) >>> (32 - this.#placeBits);
    for (let place = first; ; place = (place + 1) % places) {
      const at = place * entryWords;
      if (words[at + markWords] === 0) return at;
      let same = 0;
      while (same < markWords && words[at + same] === marks[from + same]) same += 1;
      if (same === markWords) return at;
      noteWork("comparison", 1);
    }
  }

  #grow(): void {
    const old = this.#words;
    this.#placeBits += 1;
    this.#size = 0;
    this.#words = new Uint32Array(2 ** this.#placeBits * entryWords);
    for (let at = 0; at < old.length; at += entryWords) {
      const before = old[at + markWords] ?? 0;
      if (before !== 0) this.set(old, at, before);
    }
  }
}
