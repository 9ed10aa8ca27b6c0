// An index of company and brand names, for finding them in texts. The time to search a text depends on its length, not on
// the number of names: a word either starts a name or it does not, and only if it does is the next word examined.
//   X1. Every match is correct: marks of one and two words belong to names that are currently in the index, and longer names
//       are looked up in their own set.
//   X2. Marks of longer names only say where to look. They outlive their names, so that a name can be removed without a
//       search.

import { madeOnce } from "../../std/bounded-map.ts";
import { atOnce } from "../../std/work.ts";
import { foldedWords } from "./fold-text.ts";
import type { BlockedUrls } from "./url-rule.ts";

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

// A Bloom filter: shows for most texts, in one pass over their characters, that they contain none of a set of words, so that
// nothing has to be folded, split into words or looked up. It may answer «perhaps» for any text, but «none» only when there
// is none.
//   Y1. The words of a text are those of `foldedWords`. A text with letters outside ASCII always gives «perhaps».
//   Y2. A word with one s more than a word of the set counts as that word, because names are matched that way.
//   Y3. Words are never removed: a filter that outlives some only answers «perhaps» more often.
//   Y4. A text without such words is reported as broken if a mark is between two letters, or if three letters stand alone in a row:
//       it may have to be read again without those marks and spaces.

export interface WordFilter {
  add(word: string): void;
  /** Whether a word of the set may have this hash, as computed by {@link hashOf}. */
  may(hash: number): boolean;
}

/** Bits per word, of which two are set: about one word in a thousand outside the set is a false positive. */
const bitsOfWord = 64;
const bitsMin = 4_096;

/** Creates a filter of these words. */
export function createWordFilter(words: Iterable<string> = []): WordFilter {
  const hashes = new Set<number>();
  let bits = new Uint32Array(bitsMin / 32);
  let mask = bitsMin - 1;
  const set = (hash: number): void => {
    for (const each of [hash, again(hash)]) {
      const at = each & mask;
      bits[at >>> 5] = (bits[at >>> 5] as number) | (1 << (at & 31));
    }
  };
  const isSet = (hash: number): boolean => {
    const at = hash & mask;
    return ((bits[at >>> 5] as number) & (1 << (at & 31))) !== 0;
  };
  const grow = (): void => {
    mask = mask * 2 + 1;
    bits = new Uint32Array((mask + 1) / 32);
    for (const hash of hashes) set(hash);
  };
  const filter: WordFilter = {
    add: (word) => {
      const hash = hashOf(word);
      hashes.add(hash);
      if (hashes.size * bitsOfWord > mask + 1) grow();
      set(hash);
    },
    may: (hash) => isSet(hash) && isSet(again(hash)),
  };
  for (const word of words) filter.add(word);
  return filter;
}

/** What each ASCII character folds to within a word; 0 for a character that separates words. */
const folded = new Uint8Array(128);
for (const letter of "abcdefghijklmnopqrstuvwxyz0123456789") {
  folded[letter.charCodeAt(0)] = letter.charCodeAt(0);
  folded[letter.toUpperCase().charCodeAt(0)] = letter.charCodeAt(0);
}
/** ASCII marks that break a word when they follow one of its letters. */
const breaks = new Uint8Array(128);
for (const mark of "-_*.|~^") breaks[mark.charCodeAt(0)] = 1;
const apostrophe = 39;
const digit9 = 57;

function isLetter(code: number): boolean {
  return code < 128 ? (folded[code] as number) > digit9 : code > 127;
}
const letterS = 115;
const seed = 0x811c9dc5;

/** One step of FNV-1a; filters use its low bits. */
function next(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193);
}

/** Mixes the high bits into the low ones, which the steps alone never do. */
function end(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The second hash, for the second bit. */
function again(hash: number): number {
  const mixed = Math.imul(hash, 0x9e3779b1);
  return mixed ^ (mixed >>> 16);
}

function hashOf(word: string): number {
  let hash = seed;
  for (let at = 0; at < word.length; at += 1) hash = next(hash, word.charCodeAt(at));
  return end(hash);
}

/** Whether a text can contain a word of the sets: `broken` means only if words that marks break are read as whole (Y4). */
export type WordsFound = "none" | "perhaps" | "broken";

/** Returns `perhaps` unless no word of the text is in any of the sets (Y1, Y2). */
export function scanWords(text: string, filters: readonly WordFilter[]): WordsFound {
  let [hash, before, last] = [seed, seed, 0];
  let [start, single, isBroken] = [0, 0, false];
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (code > 127) return "perhaps";
    const letter = folded[code] as number;
    if (letter !== 0) {
      before = hash;
      hash = next(hash, letter);
      last = letter;
    } else {
      if (last !== 0 && code !== apostrophe) {
        for (const filter of filters)
          if (filter.may(end(hash)) || (last === letterS && filter.may(end(before)))) return "perhaps";
        single = at - start === 1 ? single + 1 : 0;
        isBroken ||= single > 2 || (breaks[code] === 1 && last > digit9 && isLetter(text.charCodeAt(at + 1)));
        hash = seed;
        last = 0;
      }
      start = at + 1;
    }
  }
  return isBroken ? "broken" : "none";
}

/** Returns false when no word of the text is in any of the sets (Y1, Y2). */
export function mayHaveWords(text: string, filters: readonly WordFilter[]): boolean {
  return scanWords(text, filters) === "perhaps";
}

// What the content rules use besides the record itself: the operator's lists, and the names of certified companies.

/** The operator's own lists. */
export interface OperatorLists {
  /** Names of companies and brands that only their owners' records may use. */
  readonly protectedNames: readonly ProtectedName[];
  /** Words that are never judged, even if a company has that name. */
  readonly exemptNames: readonly string[];
  /** Hosts and addresses of malware and phishing, as `parseBlocked` in url-rule.ts returns them. */
  readonly blockedHosts: readonly string[];
  /** A further list of such hosts and addresses that is already prepared, because it is long. */
  readonly blockedUrls?: BlockedUrls | undefined;
}

/** The lists in force. They may be replaced, all at once, between two records. */
export interface ContentLists extends OperatorLists {
  /** Changes whenever the lists are replaced; left out of lists that never are. */
  readonly version?: number;
  /** Companies that the service has certified; the set changes while the lists are in use. */
  readonly certified: CertifiedNames;
}

/** Names what records are judged by at this moment: another text is another judgement. */
export function listsInForce({ version = 0, certified }: ContentLists): string {
  return `${version}.${certified.changes()}`;
}

export type ProtectedName =
  | string
  | {
      readonly name: string;
      /** Uuids of the businesses that may use the name. */
      readonly owners: readonly string[];
    };

export interface CertifiedNames {
  /** The names without their legal form, as folded words: those of companies, and of brands that were confirmed as theirs. */
  readonly index: NameIndex;
  /** The name on the certificate in force; null for a company without an active certificate. */
  legalNameOf(uuid: string): string | null;
  /** How often any of this changed. */
  changes(): number;
  /** Always the same object for the same brands. */
  brandsOf(uuid: string): BusinessBrands;
}

/** The brands of one business. */
export interface BusinessBrands {
  /** Those that an operator confirmed as its own. */
  readonly confirmed: readonly string[];
  /** Those that its served business files name in `brands_sold`. */
  readonly sold: readonly string[];
}

export const noBrands: BusinessBrands = { confirmed: [], sold: [] };

/** @internal for tests: a register without any names. */
export const noCertifiedNames: CertifiedNames = {
  index: createNameIndex(),
  legalNameOf: () => null,
  changes: () => 0,
  brandsOf: () => noBrands,
};

/** Names with fewer letters are never looked for. */
export const nameLettersMin = 3;

/** Whether a name on the operator's lists is long enough to be looked for. */
export function isFindable(name: string): boolean {
  return foldedWords(name).join("").length >= nameLettersMin;
}

const preparedNames = new WeakMap<readonly ProtectedName[], NameIndex>();
/** Number of names that are prepared in one step. */
const namesPerStep = 500;

/**
 * Prepares a list of names for the content rules. It takes seconds for a long list, so it is divided into steps, between which
 * the caller may do something else. What was prepared is found again by the list itself.
 */
export function* prepareNames(names: readonly ProtectedName[]): Generator<void, NameIndex> {
  const index = createNameIndex();
  for (const [at, each] of names.entries()) {
    if (at % namesPerStep === namesPerStep - 1) yield;
    const words = foldedWords(typeof each === "string" ? each : each.name);
    if (words.join("").length >= nameLettersMin) index.add(words);
  }
  preparedNames.set(names, index);
  return index;
}

/** The index of a list of names; prepared now if it was not before. */
export function nameIndexOf(names: readonly ProtectedName[]): NameIndex {
  const known = preparedNames.get(names);
  return known ?? atOnce(prepareNames(names));
}

/** The protected names that the lists assign to a business. */
export function assignedNames({ protectedNames }: OperatorLists, businessUuid: string): readonly string[] {
  return namesByOwner(protectedNames).get(businessUuid) ?? [];
}

const namesByOwner = madeOnce(ownersOf);

function ownersOf(names: OperatorLists["protectedNames"]): ReadonlyMap<string, readonly string[]> {
  const byOwner = new Map<string, string[]>();
  for (const each of names) {
    if (typeof each === "string") continue;
    for (const owner of each.owners) {
      const known = byOwner.get(owner);
      if (known === undefined) byOwner.set(owner, [each.name]);
      else known.push(each.name);
    }
  }
  return byOwner;
}
