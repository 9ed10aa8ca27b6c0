// Names of companies and brands, for finding them in texts. A look at a text takes as long as the text is, however many
// names there are: a word begins a name or it does not, and only where it does is the word after it looked at.
//   X1. What is found is right: marks of one and of two words are those of the names that are in it, longer names are looked
//       up among themselves.
//   X2. Marks of longer names only say where to look. They outlive their names, so that a name is taken out without a search.

import { createWordFilter, type WordFilter } from "./word-filter.ts";

export interface NameIndex {
  /** Different names that are in it now. */
  readonly size: number;
  /** First words of all names that ever were in it: a text that has none of them has no name. */
  readonly firstWords: WordFilter;
  /** Puts folded words in, once more if they are there. Words behind the 24th are cut off. */
  add(name: readonly string[]): void;
  /** Takes them out once. */
  remove(name: readonly string[]): void;
  /** Calls back with every name that stands in folded words, by its place, until it is answered true; answers whether it was. */
  some(words: readonly string[], found: Found): boolean;
}

export interface NameMatch {
  readonly start: number;
  readonly end: number;
  /** The last word has an s more than the name's: a plural or a possessive. */
  readonly isInflected: boolean;
}

type Found = (match: NameMatch) => boolean;

const nameWordsMax = 24;
/** Marks of a first word: it is a name; it begins a longer one. */
const [isName, beginsMore] = [1, 2];
/** Mark of the first two words of a name: bit n is set where a name has n words, so this one where they are all of it. */
const isPair = 1 << 2;

interface Tables {
  readonly firsts: Map<string, number>;
  readonly pairs: Map<string, number>;
  /** Names of three words and more. */
  readonly longer: Set<string>;
  /** How often more than once a name is in it. */
  readonly repeated: Map<string, number>;
}

/** An index of these names, each as its folded words. */
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

/** Looks for the names that begin at one word. */
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
