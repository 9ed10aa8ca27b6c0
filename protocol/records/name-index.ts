// An index of company and brand names, for finding them in texts. The time to search a text depends on its length, not on
// the number of names: a word either starts a name or it does not, and only if it does is the next word examined.
//   X1. Every match is correct: marks of one and two words belong to names that are currently in the index, and longer names
//       are looked up in their own set.
//   X2. Marks of longer names only say where to look. They outlive their names, so that a name can be removed without a
//       search.

import { createWordFilter, type WordFilter } from "./word-filter.ts";

export interface NameIndex {
  /** Number of distinct names currently in the index. */
  readonly size: number;
  /** First words of all names that were ever in the index: a text with none of them contains no name. */
  readonly firstWords: WordFilter;
  /** Adds a name as folded words; a name already present is counted once more. Words after the 24th are cut off. */
  add(name: readonly string[]): void;
  /** Removes one occurrence of a name. */
  remove(name: readonly string[]): void;
  /**
   * Calls back with the position of every name in the folded words until the callback returns true; returns whether it did.
   */
  some(words: readonly string[], found: Found): boolean;
}

export interface NameMatch {
  readonly start: number;
  readonly end: number;
  /** The last word has one s more than in the name: a plural or a possessive. */
  readonly isInflected: boolean;
}

type Found = (match: NameMatch) => boolean;

const nameWordsMax = 24;
/** Marks of a first word: it is a whole name, or it starts a longer one. */
const [isName, beginsMore] = [1, 2];
/**
 * Marks of the first two words of a name: bit n is set when a name starting with them has n words, so this bit means that
 * they are the whole name.
 */
const isPair = 1 << 2;

interface Tables {
  readonly firsts: Map<string, number>;
  readonly pairs: Map<string, number>;
  /** Names of three or more words. */
  readonly longer: Set<string>;
  /** How many additional times a name was added. */
  readonly repeated: Map<string, number>;
}

/** Creates an index of these names, each given as its folded words. */
export function createNameIndex(names: Iterable<readonly string[]> = []): NameIndex {
  const tables: Tables = { firsts: new Map(), pairs: new Map(), longer: new Set(), repeated: new Map() };
  const { repeated } = tables;
  const firstWords = createWordFilter();
  let size = 0;
  const index: NameIndex = {
    firstWords,
    get size() {
      return size;
    },
    add: (name) => {
      const words = name.slice(0, nameWordsMax);
      if (words.length === 0) return;
      const key = words.join(" ");
      if (holds(tables, words, key)) {
        repeated.set(key, (repeated.get(key) ?? 0) + 1);
        return;
      }
      size += 1;
      firstWords.add(words[0] as string);
      put(tables, words, key);
    },
    remove: (name) => {
      const words = name.slice(0, nameWordsMax);
      const key = words.join(" ");
      if (!holds(tables, words, key)) return;
      const more = repeated.get(key) ?? 0;
      if (more > 1) repeated.set(key, more - 1);
      else if (more === 1) repeated.delete(key);
      else {
        size -= 1;
        take(tables, words, key);
      }
    },
    some: (words, found) => {
      if (size === 0) return false;
      for (let start = 0; start < words.length; start += 1)
        if (someAt(tables, words, start, found)) return true;
      return false;
    },
  };
  for (const name of names) index.add(name);
  return index;
}

function holds({ firsts, pairs, longer }: Tables, words: readonly string[], key: string): boolean {
  if (words.length === 1) return ((firsts.get(key) ?? 0) & isName) !== 0;
  return words.length === 2 ? ((pairs.get(key) ?? 0) & isPair) !== 0 : longer.has(key);
}

function put({ firsts, pairs, longer }: Tables, words: readonly string[], key: string): void {
  const [first = "", second = ""] = words;
  firsts.set(first, (firsts.get(first) ?? 0) | (words.length === 1 ? isName : beginsMore));
  if (words.length === 1) return;
  const pair = `${first} ${second}`;
  pairs.set(pair, (pairs.get(pair) ?? 0) | (1 << words.length));
  if (words.length > 2) longer.add(key);
}

function take({ firsts, pairs, longer }: Tables, words: readonly string[], key: string): void {
  const clear = (marks: Map<string, number>, mark: number): void => {
    const left = (marks.get(key) ?? 0) & ~mark;
    if (left === 0) marks.delete(key);
    else marks.set(key, left);
  };
  if (words.length === 1) clear(firsts, isName);
  else if (words.length === 2) clear(pairs, isPair);
  else longer.delete(key);
}

/** Looks for the names that start at one word. */
function someAt(tables: Tables, words: readonly string[], start: number, found: Found): boolean {
  const { firsts } = tables;
  const first = words[start] as string;
  const marks = firsts.get(first) ?? 0;
  if ((marks & isName) !== 0) {
    if (found({ start, end: start + 1, isInflected: false })) return true;
  } else if (first.endsWith("s")) {
    const isInflected = ((firsts.get(first.slice(0, -1)) ?? 0) & isName) !== 0;
    if (isInflected && found({ start, end: start + 1, isInflected })) return true;
  }
  return (marks & beginsMore) !== 0 && start + 1 < words.length && someLonger(tables, words, start, found);
}

function someLonger(
  { pairs, longer }: Tables,
  words: readonly string[],
  start: number,
  found: Found,
): boolean {
  const pair = `${words[start]} ${words[start + 1]}`;
  const lengths = pairs.get(pair) ?? 0;
  if ((lengths & isPair) !== 0) {
    if (found({ start, end: start + 2, isInflected: false })) return true;
  } else if (pair.endsWith("s")) {
    const isInflected = ((pairs.get(pair.slice(0, -1)) ?? 0) & isPair) !== 0;
    if (isInflected && found({ start, end: start + 2, isInflected })) return true;
  }
  for (let length = 3; length <= nameWordsMax && lengths >> length !== 0; length += 1) {
    const end = start + length;
    if (((lengths >> length) & 1) === 0 || end > words.length) continue;
    const key = words.slice(start, end).join(" ");
    const isExact = longer.has(key);
    const isInflected = !isExact && key.endsWith("s") && longer.has(key.slice(0, -1));
    if ((isExact || isInflected) && found({ start, end, isInflected })) return true;
  }
  return false;
}
