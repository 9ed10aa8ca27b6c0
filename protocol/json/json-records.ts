// Extracts one large array of strings from a JSON object without parsing the whole object: a batch's records are 32 MiB of
// text, and the thread that reads them also does everything else.
//   J1. Work is linear in the bytes and is divided into steps; between two steps the caller may do something else.
//   J2. The result is what `JSON.parse` would read. Anything unusual is left in `rest` for the strict parser, which also
//       sees duplicate members, because only the one array is taken out.
//   J3. Nothing is allocated for an item except its place, and no more than `itemsMax` places.

import { noteWork } from "../../std/work.ts";

/**
 * Where an item's text lies between its quotes; null for an item that is not a string. With `values`, where the whole item
 * lies, whatever it is.
 */
export type ItemPlace = { readonly start: number; readonly end: number } | null;

export type SplitOutcome =
  | {
      readonly kind: "split";
      /** Null when the object has no such member holding an array; the whole text is then in `rest`. */
      readonly items: readonly ItemPlace[] | null;
      /** The object, with `[]` in place of the array. */
      readonly rest: Uint8Array;
    }
  | { readonly kind: "too_many" }
  /**
   * A string has more than `stringBytesMax` bytes; `item` is its index in the array, or null when it is not in the array.
   */
  | { readonly kind: "too_long"; readonly item: number | null }
  /** The text is not JSON; `at` is the offset of the first invalid byte. */
  | { readonly kind: "malformed"; readonly at: number };

export interface SplitOptions {
  /** Name of the member that holds the array; letters only. */
  readonly member: string;
  readonly itemsMax: number;
  /** Maximum number of bytes between the quotes of any string. */
  readonly stringBytesMax: number;
  /** Number of bytes processed per step. */
  readonly stepBytes: number;
  /** See {@link ItemPlace}. What lies there may not even be JSON. */
  readonly values?: boolean;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Takes the array `member` out of the JSON object in `bytes`. Yields after each step and returns the outcome. */
export function* splitArray(bytes: Uint8Array, options: SplitOptions): Generator<void, SplitOutcome> {
  const reader = new Reader(bytes, options);
  const whole: SplitOutcome = { kind: "split", items: null, rest: bytes };
  yield* reader.skipSpace();
  if (!reader.take(openObject)) return whole;
  for (;;) {
    yield* reader.skipSpace();
    const name = reader.next() === quote ? yield* reader.string() : null;
    if (reader.isTooLong) return { kind: "too_long", item: null };
    yield* reader.skipSpace();
    if (name === null || !reader.take(colon)) return whole;
    yield* reader.skipSpace();
    if (reader.next() === openArray && reader.isText(name, options.member)) {
      const from = reader.at;
      const items = yield* readItems(reader, options);
      if ("kind" in items) return items;
      const rest = yield* without(bytes, { from, to: reader.at }, options.stepBytes);
      return { kind: "split", items, rest };
    }
    if (!(yield* reader.skipValue())) return reader.isTooLong ? { kind: "too_long", item: null } : whole;
    yield* reader.skipSpace();
    if (!reader.take(comma)) return whole;
  }
}

/** The object without the array's items, and without the surrounding white space. */
function* without(
  bytes: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
  stepBytes: number,
): Generator<void, Uint8Array> {
  let [start, end] = [0, bytes.length];
  while (isSpace(bytes[start])) {
    start += 1;
    if (start % stepBytes === 0) yield;
  }
  while (end > to && isSpace(bytes[end - 1])) {
    end -= 1;
    if (end % stepBytes === 0) yield;
  }
  const rest = new Uint8Array(from - start + 2 + end - to);
  rest.set(bytes.subarray(start, from));
  rest.set([openArray, closeArray], from - start);
  rest.set(bytes.subarray(to, end), from - start + 2);
  return rest;
}

/** Whether a byte is JSON white space (RFC 8259 §2). */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

type Items = readonly ItemPlace[] | Exclude<SplitOutcome, { readonly kind: "split" }>;

function* readItems(reader: Reader, { itemsMax, values = false }: SplitOptions): Generator<void, Items> {
  const items: ItemPlace[] = [];
  reader.take(openArray);
  yield* reader.skipSpace();
  if (reader.take(closeArray)) return items;
  for (;;) {
    if (items.length === itemsMax) return { kind: "too_many" };
    const start = reader.at;
    if (reader.next() === quote) {
      const place = yield* reader.string();
      if (place === null) return itemFault(reader, items.length);
      items.push(values ? { start, end: reader.at } : place);
    } else {
      if (!(yield* reader.skipValue())) return itemFault(reader, items.length);
      items.push(values ? { start, end: reader.at } : null);
    }
    yield* reader.skipSpace();
    if (reader.take(closeArray)) return items;
    if (!reader.take(comma)) return { kind: "malformed", at: reader.at };
    yield* reader.skipSpace();
  }
}

function itemFault({ isTooLong, at }: Reader, item: number): Exclude<Items, readonly ItemPlace[]> {
  return isTooLong ? { kind: "too_long", item } : { kind: "malformed", at };
}

/** A position in the bytes, and the point at which the reader next yields to the caller. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #options: SplitOptions;
  #pauseAt: number;
  at = 0;
  /** Whether the last string exceeded the length limit. */
  isTooLong = false;

  constructor(bytes: Uint8Array, options: SplitOptions) {
    this.#bytes = bytes;
    this.#options = options;
    this.#pauseAt = options.stepBytes;
  }

  next(): number | undefined {
    return this.#bytes[this.at];
  }

  take(byte: number): boolean {
    if (this.#bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  *skipSpace(): Generator<void, void> {
    while (isSpace(this.#bytes[this.at])) {
      this.at += 1;
      if (this.at >= this.#pauseAt) yield* this.#pause();
    }
  }

  isText({ start, end }: { readonly start: number; readonly end: number }, text: string): boolean {
    if (end - start !== text.length) return false;
    for (let index = 0; index < text.length; index += 1) {
      if (this.#bytes[start + index] !== text.charCodeAt(index)) return false;
    }
    return true;
  }

  /** Reads the string that starts here, without its quotes; returns null when it is not terminated or is too long. */
  *string(): Generator<void, { readonly start: number; readonly end: number } | null> {
    const start = this.at + 1;
    const within = this.#bytes.subarray(start, start + this.#options.stringBytesMax + 1);
    for (let length = within.indexOf(quote); length !== -1; length = within.indexOf(quote, length + 1)) {
      const end = start + length;
      this.at = end + 1;
      if (this.at >= this.#pauseAt) yield* this.#pause();
      if (!this.#isEscaped(end, start)) return { start, end };
    }
    this.at = start + within.length;
    this.isTooLong = within.length > this.#options.stringBytesMax;
    return null;
  }

  /** Whether an odd number of backslashes precedes `at`. */
  #isEscaped(at: number, from: number): boolean {
    let slashes = 0;
    while (at - slashes > from && this.#bytes[at - slashes - 1] === backslash) slashes += 1;
    return slashes % 2 === 1;
  }

  /** Skips the value that starts here, looking only at brackets and strings; returns false when its end is not found. */
  *skipValue(): Generator<void, boolean> {
    const bytes = this.#bytes;
    let depth = 0;
    for (;;) {
      if (this.at >= this.#pauseAt) yield* this.#pause();
      const byte = bytes[this.at];
      if (byte === undefined) return false;
      if (byte === quote) {
        if ((yield* this.string()) === null) return false;
        if (depth === 0) return true;
        continue;
      }
      if (depth === 0 && (byte === comma || byte === closeArray || byte === closeObject)) return true;
      if (byte === openArray || byte === openObject) depth += 1;
      this.at += 1;
      if (byte === closeArray || byte === closeObject) {
        depth -= 1;
        if (depth === 0) return true;
      }
    }
  }

  *#pause(): Generator<void, void> {
    noteWork("byte", this.#options.stepBytes);
    this.#pauseAt = this.at + this.#options.stepBytes;
    yield;
  }
}
